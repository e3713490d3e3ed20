/// `RunIn=unit`, `Unit.KEY=`, and what a unit cannot have.
extension Checker {
    mutating func checkPlacement(of draft: HandlerDraft) {
        guard draft.runsInUnit, let entry = draft.entries.entry("RunIn") else {
            for entry in draft.entries.unitKeys where !entry.isDefault && !entry.isUnreadable {
                problems.error("\(entry.key.name)= needs RunIn=unit", at: entry.keyText)
            }
            return
        }
        guard draft.entries.has("Exec") else {
            guard !entry.isDefault, let kind = draft.entries.first(of: KeyTable.actionNames) else { return }
            return problems.error(
                "RunIn=unit is about the commands of Exec=, and means nothing beside \(kind.key.name)=", at: entry.text)
        }
        checkOutput(of: draft)
        if let other = draft.entries.entry("Progress"), other.value?.flag == true {
            problems.error(
                "Progress=yes and RunIn=unit exclude each other: only children of watchd have its NOTIFY_SOCKET",
                at: (other.isDefault ? entry : other).text)
        }
    }

    private mutating func checkOutput(of draft: HandlerDraft) {
        for key in ["StandardOutput", "StandardError"] {
            guard let entry = draft.entries.entry(key), case .inherit? = entry.value?.output else { continue }
            problems.error("\(key)=inherit: a unit has nothing of watchd's to inherit (RunIn=unit)", at: entry.text)
        }
    }

    /// The manager keeps one descriptor for the commands of a unit, and the first of them reads it to its end.
    mutating func checkUnitInput() {
        for draft in handlers where draft.runsInUnit && !draft.commands.isEmpty {
            let input = draft.entries.entry("StandardInput")
            let place = input?.text ?? draft.entries.entry("Exec")?.keyText ?? draft.header
            if draft.isHandedOver || input?.value?.word == "socket" {
                problems.error(
                    "\(draft.title) is handed a descriptor that is gone with watchd: RunIn=unit cannot be", at: place)
            } else if draft.commands.count > 1, input?.value?.word != "null" {
                problems.error(
                    "several Exec= in a unit cannot each read the event: write StandardInput=null, or one Exec=",
                    at: place)
            }
        }
    }
}
