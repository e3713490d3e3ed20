import WatchFile

/// A deadlock in words: one sentence for each operation that is a part of it, from what is waited for to the caller.
extension DeadlockSearch {
    /// Operations told of in one chain; more of them are counted.
    private static let limit = 32
    /// Operations named in one sentence.
    private static let named = 8

    /// `nil`: what the caller waits for can come.
    func chain() -> [String]? {
        guard isVain(wait) else { return nil }
        var sentences = opening.map { [$0] } ?? []
        var toTell = causes(of: .wait(wait))
        var known: Set<OperationRef> = [caller]
        var told = 0
        while !toTell.isEmpty, told < Self.limit {
            let ref = toTell.removeFirst()
            guard known.insert(ref).inserted, let obstacle = obstacles[ref.id] else { continue }
            let causes = causes(of: obstacle)
            sentences.append("operation \(ref.id) \(words(obstacle)) \(names(causes))")
            toTell += causes.prefix(Self.named)
            told += 1
        }
        let untold = Set(toTell).subtracting(known).count
        if untold > 0 { sentences.append("and so do \(untold) more") }
        return sentences + ["operation \(caller.id) is the one that waits"]
    }

    /// The sentence of a wait for more than an operation.
    private var opening: String? {
        let names = names(causes(of: .wait(wait)))
        switch wait {
        case .operations: return nil
        case .queue(_, let name): return "\(full("queue", name)) is not empty before \(names) ends"
        case .group(_, let name): return "\(full("group", name)) is not empty before \(names) ends"
        case .reload: return "a reload waits for \(names), which runs on main"
        case .room: return "there is no room before \(names) starts"
        }
    }

    /// A client may have named it with its kind.
    private func full(_ kind: String, _ name: String) -> String { name.contains("/") ? name : "\(kind) \(name)" }

    private func names(_ refs: [OperationRef]) -> String {
        let ids = refs.prefix(Self.named).map { "\($0.id)" }.joined(separator: ", ")
        let more = refs.count > Self.named ? " and \(refs.count - Self.named) more" : ""
        return "operation\(refs.count == 1 ? "" : "s") \(ids)\(more)"
    }

    private func words(_ obstacle: Obstacle) -> String {
        switch obstacle {
        case .wait(.operations): "waits for"
        case .wait(.queue(_, let name)), .wait(.group(_, let name)): "waits for \(name), where there is"
        case .wait(.reload): "waits for a reload, and so for"
        case .wait(.room): "waits for room, which is taken by"
        case .dependency: "depends on"
        case .key: "has the same key as"
        case .serial(let other): "waits on serial queue \(queue(of: other)) behind"
        case .barrier: "waits behind barrier"
        case .barrierBehind: "is a barrier behind"
        case .width(let queue): "finds all of queue \(engine.queues[queue].definition.name) taken by"
        case .slots: "finds all of MaxProcesses=\(engine.settings.maxProcesses) that it may use taken by"
        case .semaphore(let semaphore) where engine.semaphores[semaphore].isRoom:
            "needs a worker, all of which hold lines of"
        case .line(_, let semaphore) where engine.semaphores[semaphore].isRoom: "waits for a worker behind"
        case .semaphore(let semaphore): "needs semaphore \(engine.semaphores[semaphore].definition.name), held by"
        case .line(_, let semaphore):
            "stands in the line of semaphore \(engine.semaphores[semaphore].definition.name) behind"
        }
    }

    private func queue(of ref: OperationRef) -> String {
        engine.queues[engine.operations[ref].queue].definition.name
    }

    // MARK: The operations to blame

    private func causes(of obstacle: Obstacle) -> [OperationRef] {
        switch obstacle {
        case .wait(let wait): causes(of: wait)
        case .dependency(let ref), .key(let ref), .serial(let ref), .barrier(let ref), .barrierBehind(let ref),
            .line(let ref, _):
            [ref]
        case .width(let queue): runners { $0.queues.contains(queue) }
        case .slots: runners { $0.definition.value.needsProcess }
        case .semaphore(let semaphore): runners { $0.held.contains { $0.semaphore == semaphore } }
        }
    }

    private func causes(of wait: Wait) -> [OperationRef] {
        switch wait {
        case .operations(let refs): refs.filter { isStuck($0) }
        case .queue(let queue, _): first { engine.scheduler[engine.operations[$0].queue].chain.contains(queue) }
        case .group(let group, _): first { engine.handlers[engine.operations[$0].handler].groups.contains(group) }
        case .reload: runners { engine.queues.index(of: "main").map($0.queues.contains) ?? false }
        case .room(let needs):
            first { needs[engine.operations[$0].queue] != nil && !engine.operations[$0].progress.isRunning }
        }
    }

    private func first(where isMeant: (OperationRef) -> Bool) -> [OperationRef] {
        left.first(where: isMeant).map { [$0] } ?? []
    }

    private func runners(_ isMeant: (Run) -> Bool) -> [OperationRef] {
        left.filter { engine.operations[$0].runs.contains(where: isMeant) }
    }
}
