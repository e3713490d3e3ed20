import Schedule

/// `Process=` of a handler, and what means nothing beside it.
extension Checker {
    mutating func readProcessAction(of draft: inout HandlerDraft) {
        guard let name = draft.entries["Process"]?.names.first else { return }
        let number = draft.entries["ProcessSignal"]?.signals.first?.number
        let verb: ProcessAction.Verb
        switch draft.entries["ProcessAction"]?.word {
        case "reload": verb = .reload(number ?? Self.hangUp)
        case "signal":
            guard let number else {
                if !draft.entries.has("ProcessSignal"), let entry = draft.entries.entry("ProcessAction") {
                    problems.error("ProcessAction=signal needs ProcessSignal=, the signal to send", at: entry.text)
                }
                return
            }
            verb = .signal(number)
        default:
            verb = .restart
            if let entry = draft.entries.entry("ProcessSignal"), !entry.isDefault, !entry.isUnreadable {
                problems.error(
                    "ProcessSignal= means nothing with ProcessAction=restart: KillSignal= of the [Process] ends it",
                    at: entry.keyText)
            }
        }
        draft.action = .process(ProcessAction(process: name.string, verb: verb))
    }

    /// The usual signal of a reload.
    private static let hangUp: Int32 = 1

    mutating func checkProcessKeys(of draft: HandlerDraft) {
        guard draft.entries.has("Process") else {
            for key in ["ProcessAction", "ProcessSignal"] {
                guard let entry = draft.entries.entry(key), !entry.isDefault, !entry.isUnreadable else { continue }
                problems.error("\(key)= needs Process=", at: entry.keyText)
            }
            return
        }
        for (key, word) in [("Overlap", Overlap.restart.rawValue), ("OnStop", StopPolicy.leave.rawValue)] {
            guard let entry = draft.entries.entry(key), entry.value?.word == word, !entry.isDefault else { continue }
            problems.error(
                "\(key)=\(word) is about a process of the run, and Process= has none of its own", at: entry.text)
        }
        if draft.entries.has("ExecCondition"), let entry = draft.entries.entry("StandardInput"), !entry.isDefault,
            !entry.isUnreadable
        {
            problems.error("StandardInput= means nothing beside Process=", at: entry.keyText)
        }
    }

    /// `Process=` and `After=process/NAME` name processes that watchd starts itself.
    mutating func checkProcessActions() {
        let sections = sections.filter { $0.kind == .process && !$0.name.isEmpty }
        let supervised = Set(
            sections.filter { isSupervised($0, Entries(defaultEntries(.process), $0.entries)) }.map(\.name))
        for handler in handlers {
            if let name = handler.entries["Process"]?.names.first {
                checkProcess(name.string, "Process=", name.text, sections, supervised)
            }
            for reference in handler.processes {
                let name = String(reference.name.string.dropFirst(HandlerDraft.processPrefix.count))
                checkProcess(name, "After=process/", reference.name.text, sections, supervised)
            }
        }
        checkOrder(sections.filter { supervised.contains($0.name) }, sections, supervised)
    }

    /// `After=` of processes that watchd starts itself.
    private mutating func checkOrder(_ commands: [Section], _ sections: [Section], _ supervised: Set<String>) {
        let indices = Dictionary(commands.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        var graph = ReferenceGraph(nodes: commands.count)
        for (index, section) in commands.enumerated() {
            let entries = Entries(defaultEntries(.process), section.entries)
            let hasAction = entries.first(of: KeyTable.actionNames(in: .process)) != nil
            for (name, entry) in entries.names("After") {
                guard name.string.hasPrefix(HandlerDraft.processPrefix) else {
                    // One that nobody has is told of as of any handler.
                    if hasAction || handlerIndices[name.string] == nil { continue }
                    problems.error(
                        "After= of a process that watchd starts names others: process/NAME", at: name.text,
                        suggestion: HandlerDraft.processPrefix + name.string)
                    continue
                }
                let own = String(name.string.dropFirst(HandlerDraft.processPrefix.count))
                // Of the action in the same section it has been told.
                if !hasAction { checkProcess(own, "After=process/", name.text, sections, supervised) }
                guard let target = indices[own] else { continue }
                graph.edges[index].append(.init(target: target, text: name.text, isDefault: entry.isDefault))
            }
        }
        graph.forEachCycle(from: Array(commands.indices)) { cycle in
            guard let last = cycle.last else { return }
            let chain = ReferenceGraph.chain(cycle: cycle) { commands[$0].name }
            let what = cycle.count == 1 ? "a process cannot wait for itself" : "these wait for each other"
            problems.error("\(what): \(chain)", at: last.edge.text)
        }
    }

    private mutating func checkProcess(
        _ name: String, _ key: String, _ text: SourceText, _ sections: [Section], _ supervised: Set<String>
    ) {
        if supervised.contains(name) { return }
        if let section = sections.first(where: { $0.name == name }) {
            let what = key == "Process=" ? "restarts and signals only" : "knows the readiness only of"
            problems.error(
                "\(key)\(name): \(section.title) has no Command=, and watchd \(what) what it starts itself", at: text)
        } else {
            let nearest = problems.nearest(to: name, among: supervised.sorted())
            problems.error(
                "there is no [Process \(name)]", at: text,
                suggestion: nearest.map { key == "Process=" ? $0 : "process/\($0)" })
        }
    }
}
