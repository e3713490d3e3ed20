/// `Unit=` of a handler, and what means nothing beside it.
extension Checker {
    mutating func readUnit(of draft: inout HandlerDraft) {
        let lines = draft.entries.list("Unit")
        draft.templates = lines.flatMap { $0.value?.templates ?? [] }
        guard !draft.templates.isEmpty, lines.allSatisfy({ $0.value != nil }) else { return }
        let verb = draft.entries["UnitAction"]?.word.flatMap(UnitAction.Verb.init) ?? .start
        draft.action = .unit(
            UnitAction(
                units: draft.templates.map(\.template).withoutRepeats, verb: verb,
                waits: draft.entries["UnitWait"]?.flag ?? false))
        if draft.templates.count > WatchFile.maximumNames, let line = lines.last {
            problems.error("Unit= has more than \(WatchFile.maximumNames) names", at: line.text)
        }
    }

    mutating func checkUnit(of draft: HandlerDraft) {
        guard case .unit(let action)? = draft.action else {
            for key in ["UnitAction", "UnitWait"] {
                guard let entry = draft.entries.entry(key), !entry.isDefault, !entry.isUnreadable,
                    !draft.entries.has("Unit")
                else { continue }
                problems.error("\(key)= needs Unit=", at: entry.keyText)
            }
            return
        }
        if action.waits, !action.verb.mayStart, let entry = draft.entries.entry("UnitWait"), !entry.isDefault {
            problems.error("UnitWait=yes means nothing with UnitAction=\(action.verb.rawValue)", at: entry.text)
        }
        for (key, word) in [("Overlap", Overlap.restart.rawValue), ("OnStop", StopPolicy.leave.rawValue)] {
            guard let entry = draft.entries.entry(key), entry.value?.word == word, !entry.isDefault else { continue }
            problems.error("\(key)=\(word) is about a process, and Unit= has none of its own", at: entry.text)
        }
        if draft.entries.has("ExecCondition"), let entry = draft.entries.entry("StandardInput"), !entry.isDefault,
            !entry.isUnreadable
        {
            problems.error("StandardInput= means nothing beside Unit=", at: entry.keyText)
        }
    }
}
