import Schedule

/// `[Process]`: which of the three it is, and what goes with it.
extension Checker {
    /// It starts a process of its own, whose ends need no handler.
    func isSupervised(_ section: Section, _ entries: Entries) -> Bool {
        section.kind == .process && entries.has("Command")
    }

    mutating func process(_ section: Section, _ entries: Entries) -> Trigger? {
        let given = ["PIDFile", "Command", "Match"].compactMap { entries.entry($0) }
        guard let first = given.first else { return missing("PIDFile=, Command= or Match=", section) }
        for extra in given.dropFirst() where !extra.isUnreadable {
            problems.error(
                "a process is known in one way: \(extra.key.name)= besides \(first.key.name)=", at: extra.keyText)
        }
        checkCompanions(of: first.key.name, entries)
        switch first.key.name {
        case "Command": return command(section, entries).map { .process(.command($0)) }
        case "Match": return first.value?.path.map { .process(.match(match($0, entries))) }
        default: return first.value?.path.map { .process(.pidFile($0)) }
        }
    }

    /// Of a command that the source itself starts: without what belongs to an action that may stand in the same section.
    func launchDraft(_ section: Section, _ names: Set<String>, _ action: HandlerAction) -> HandlerDraft {
        let own = (defaultEntries(section.kind) + section.entries).filter { names.contains($0.key.name) }
        var draft = HandlerDraft(
            name: section.name, header: section.header, title: section.title, entries: Entries(own))
        draft.action = action
        return draft
    }

    /// Keys that mean something beside one of the three only.
    private mutating func checkCompanions(of kind: String, _ entries: Entries) {
        for name in ["Workers", "Restart", "RestartSec", "RestartMaxDelaySec"] + Self.readyKeys where kind != "Command"
        {
            guard let entry = entries.entry(name), !entry.isUnreadable, !entry.isDefault else { continue }
            problems.error(
                "\(name)= is for a process that watchd starts itself, with Command=, and this one has \(kind)=",
                at: entry.keyText)
        }
        for entry in entries.list("Events") where kind != "Match" && !entry.isDefault {
            guard let word = entry.value?.words.first(where: { $0 != "exit" }) else { continue }
            problems.error("Events=\(word) needs Match=: with \(kind)= only exit is known", at: entry.text)
        }
    }

    private static let readyKeys = ["ReadyLine", "ReadyPath", "NotifyReady"]

    private mutating func readiness(_ entries: Entries, _ process: HandlerDefinition) -> SupervisedCommand.Readiness {
        let given = Self.readyKeys.compactMap { entries.entry($0) }.filter { $0.value?.flag != false }
        for extra in given.dropFirst() where !extra.isUnreadable && !extra.isDefault {
            problems.error(
                "a process is ready in one way: \(extra.key.name)= besides \(given[0].key.name)=", at: extra.keyText)
        }
        guard let first = given.first else { return .running }
        switch first.key.name {
        case "ReadyLine":
            if process.standardOutput != .journal, process.standardError != .journal {
                problems.error(
                    "ReadyLine= needs StandardOutput=journal or StandardError=journal: watchd reads no other output",
                    at: first.keyText)
            }
            return first.value?.pattern.map { .line($0) } ?? .running
        case "ReadyPath": return first.value?.path.map { .path($0) } ?? .running
        default: return .notification
        }
    }

    private func match(_ pattern: [UInt8], _ entries: Entries) -> ProcessMatch {
        let words = entries.list("Events").flatMap { $0.value?.words ?? [] }
        let events = Set(words.compactMap(ProcessEvent.init))
        return ProcessMatch(pattern: pattern, events: events.isEmpty ? [.exit] : events)
    }

    private mutating func command(_ section: Section, _ entries: Entries) -> SupervisedCommand? {
        guard let text = entries["Command"]?.command else { return nil }
        for item in text.items {
            guard let specifier = item.firstSpecifier else { continue }
            problems.error(
                "\(specifier.shown) means nothing in Command=: no event starts it",
                at: specifier)
            return nil
        }
        let draft = launchDraft(section, KeyTable.processNames, .exec([text.command]))
        checkContract(draft.entries)
        guard var process = draft.definition else { return nil }
        process.standardInput = .null
        var command = SupervisedCommand(
            process: process, workers: entries["Workers"]?.number ?? 1,
            restart: entries["Restart"]?.word.flatMap(SupervisedCommand.Restart.init) ?? .no,
            restartDelay: entries["RestartSec"]?.span ?? .milliseconds(100))
        command.readiness = readiness(entries, process)
        command.after = process.constraints.afterProcesses
        if let longest = entries["RestartMaxDelaySec"]?.span { command.restartMaxDelay = longest }
        guard command.restartMaxDelay >= command.restartDelay else {
            if let entry = entries.entry("RestartMaxDelaySec") {
                problems.error(
                    "RestartMaxDelaySec=\(command.restartMaxDelay) is shorter than RestartSec=\(command.restartDelay)"
                        + (entries.has("RestartSec") ? "" : ", its default"), at: entry.text)
            }
            return nil
        }
        return command
    }
}
