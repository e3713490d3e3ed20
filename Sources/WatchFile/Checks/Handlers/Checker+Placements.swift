/// `Barrier=` and `Priority=` mean something on some queues only, and where a handler runs is decided by its routes.
extension Checker {
    /// A handler on a queue.
    private struct Placement {
        var handler: Int
        var queue: QueueDefinition
        /// The source whose `Queue=` decides.
        var source: String?
        /// The `Queue=` that decides; `nil`: none does.
        var text: SourceText?
    }

    mutating func checkPlacements() {
        let queuesByName = Dictionary(queues.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let areBarriers = handlers.map { $0.entries["Barrier"]?.flag == true }
        let havePriority = handlers.map { ($0.entries["Priority"]?.word ?? "normal") != "normal" }
        let placements = placements(queuesByName)
        checkRequiredIsKept(placements)
        for placement in placements {
            let handler = handlers[placement.handler]
            if areBarriers[placement.handler] { checkBarrier(placement, handler) }
            if havePriority[placement.handler] { checkPriority(placement, handler) }
            if handler.isUnacknowledgedStream { checkDurable(placement, handler) }
        }
    }

    /// A durable operation that requires one that a kill or a stop ends is cancelled with it.
    private mutating func checkRequiredIsKept(_ placements: [Placement]) {
        guard placements.contains(where: { $0.queue.isDurable && !handlers[$0.handler].dependencies.isEmpty }) else {
            return
        }
        let byHandler = Dictionary(grouping: placements, by: \.handler)
        var told: Set<SourceLocation> = []
        for placement in placements where placement.queue.isDurable {
            let handler = handlers[placement.handler]
            for reference in handler.required {
                let others = handlerIndices[reference.name.string].flatMap { byHandler[$0] } ?? []
                // Beside it where the same source starts both, else on its own queue.
                let beside = others.first { $0.source != nil && $0.source == placement.source }
                guard let other = beside ?? others.first(where: { $0.source == nil }), !other.queue.isDurable,
                    told.insert(reference.place).inserted
                else { continue }
                problems.warning(
                    "\(reference.name.string) runs on \(other.queue.name), which is not durable: where watchd ends before it "
                        + "does, \(handler.title) is cancelled, though \(placement.queue.name) is durable",
                    at: reference.name.text)
            }
        }
    }

    /// Lines that stand in a pipe are lost with the worker, and nobody would know.
    private mutating func checkDurable(_ placement: Placement, _ handler: HandlerDraft) {
        guard placement.queue.isDurable, let text = placement.text ?? handler.entries.entry("Stream")?.keyText else {
            return
        }
        problems.error(
            "Stream= on a durable queue needs Ack=yes, by which a worker says what it has done: "
                + sentence(placement, handler), at: text)
    }

    private mutating func checkBarrier(_ placement: Placement, _ handler: HandlerDraft) {
        guard let text = placement.text ?? handler.entries.entry("Barrier")?.text else { return }
        let queue = placement.queue
        switch queue.kind {
        case .serial:
            problems.warning(
                "a barrier on a serial queue changes nothing, as each operation there runs alone: "
                    + sentence(placement, handler), at: text)
        case .concurrent where QueueDefinition.builtInNames.contains(queue.name):
            problems.error(
                "a barrier on a global queue would hold nothing back: \(sentence(placement, handler)); "
                    + "name a [Queue] with Type=concurrent", at: text)
        case .concurrent: break
        }
    }

    private mutating func checkPriority(_ placement: Placement, _ handler: HandlerDraft) {
        guard case .serial = placement.queue.kind, let text = placement.text ?? handler.entries.entry("Priority")?.text
        else { return }
        let isBuiltIn = QueueDefinition.builtInNames.contains(placement.queue.name)
        let place = isBuiltIn ? "a [Queue] of its own" : "[Queue \(placement.queue.name)]"
        problems.error(
            "a serial queue keeps its order and has no priorities: \(sentence(placement, handler)); "
                + "Type=concurrent Width=1 in \(place) runs one at a time by Priority=", at: text)
    }

    private func sentence(_ placement: Placement, _ handler: HandlerDraft) -> String {
        if let source = placement.source { return "\(source) starts \(handler.title) on \(placement.queue.name)" }
        let reason = placement.text == nil ? ", as no Queue= says otherwise" : ""
        return "\(handler.title) runs on \(placement.queue.name)\(reason)"
    }

    /// Each that a `Queue=` of a source decides, and each that the handler decides itself. Where one cannot be told,
    /// the reason has been told.
    private func placements(_ queuesByName: [String: QueueDefinition]) -> [Placement] {
        var placements: [Placement] = []
        var runsElsewhere: Set<Int> = []
        var runsAtHome = handlersStartedByOthers
        for source in sources {
            let entry = source.entries.entry("Queue")
            for (route, handler) in source.routes.compactMap({ route in
                handlerIndices[route.handler].map { (route, $0) }
            }) {
                let isOwn = source.hasOwnHandler && route.handler == source.id.name
                guard let entry, !isOwn else {
                    runsAtHome.insert(handler)
                    continue
                }
                runsElsewhere.insert(handler)
                guard let queue = queue(entry, queuesByName) else { continue }
                placements.append(Placement(handler: handler, queue: queue, source: source.title, text: entry.text))
            }
        }
        for (index, handler) in handlers.enumerated()
        where runsAtHome.contains(index) || !runsElsewhere.contains(index) {
            let entry = handler.entries.entry("Queue")
            guard let queue = entry.map({ queue($0, queuesByName) }) ?? queuesByName["default"] else { continue }
            placements.append(Placement(handler: index, queue: queue, source: nil, text: entry?.text))
        }
        return placements
    }

    private func queue(_ entry: Entry, _ queuesByName: [String: QueueDefinition]) -> QueueDefinition? {
        guard let name = entry.value?.names.first.flatMap({ queueName($0.string) }),
            !queuesOfUnknownType.contains(name)
        else { return nil }
        return queuesByName[name]
    }

    /// Those that run on their own queue because another handler starts them.
    private var handlersStartedByOthers: Set<Int> {
        Set(handlers.flatMap { $0.completions + $0.required }.compactMap { handlerIndices[$0.name.string] })
            .union(sources.flatMap(\.silenceNames).compactMap { handlerIndices[$0.string] })
            .union((settings.onProblem + settings.onSolved).compactMap { handlerIndices[$0] })
    }
}
