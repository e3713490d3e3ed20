import WatchFile

/// `watchctl retry`: a failed operation's events once more, as a new operation.
extension Engine {
    mutating func retry(_ failed: [StoredOperation], _ token: Token) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        var drafts: [(stored: StoredOperation, target: SourceState.Target)] = []
        for var stored in failed {
            // It stands elsewhere than it is shown.
            if case .command(let fact) = stored.events.last?.fact, fact.call != nil { stored.queue = Self.clientQueue }
            if stored.handler == CommandFact.handlerName {
                _ = needCommandHandler()
                if stored.queue == Self.clientQueue { _ = needClientQueue() }
                // Nowhere else, where other limits may hold.
                if let obstacle = retryObstacle(handler: stored.handler, queue: stored.queue) {
                    throw .refused("operation \(stored.id) cannot run again: \(obstacle)")
                }
            }
            guard var target = target(handler: stored.handler) else { throw .noSuchName(stored.handler, nearest: nil) }
            if let queue = queues.index(of: stored.queue), !queues[queue].isRemoved { target.queue = queue }
            guard !handlers[target.handler].isOnceDone else {
                throw .refused(
                    "handler \(stored.handler) has run, and Once= lets no event start it again; "
                        + "“watchctl run \(stored.handler)” does, “watchctl forget \(stored.id)” drops the failure")
            }
            drafts.append((stored, target))
        }
        try checkDescriptors(drafts.map(\.target.handler))
        try checkRoom(for: drafts)
        var ids: [UInt64] = []
        for (stored, target) in drafts {
            ids.append(again(stored, target))
            actions.append(.store(.retried(stored.id, by: ids[ids.count - 1])))
        }
        reply(token, .operations(ids), isSafe: false)
    }

    /// Why a failed operation could not be tried again, as far as the watch file and its handler say; `nil`: it could.
    package func retryObstacle(handler name: String, queue: String) -> String? {
        if name == CommandFact.handlerName {
            let isThere = queue == Self.clientQueue || queues.index(of: queue).map { !queues[$0].isRemoved } ?? false
            return isThere ? nil : "queue \(queue) is in no watch file any more"
        }
        guard let target = target(handler: name) else { return "handler \(name) is in no watch file any more" }
        if handlers[target.handler].definition.value.needsDescriptor { return "the descriptor that it read is gone" }
        return handlers[target.handler].isOnceDone ? "Once=: \(name) has run" : nil
    }

    /// Of the operation that an event reports on.
    func retryObstacle(_ event: Event?, origin: Origin) -> String? {
        guard case .completion(let handler) = origin, case .completion? = event?.fact else { return nil }
        // The queue of a command is not told here.
        return retryObstacle(handler: handler, queue: Self.clientQueue)
    }

    private mutating func checkRoom(
        for drafts: [(stored: StoredOperation, target: SourceState.Target)]
    ) throws(CommandError) {
        var needs: [Int: Load] = [:]
        for (stored, target) in drafts { needs[target.queue, default: Load()] += EntryList(stored.events).load }
        for (queue, needed) in needs.sorted(by: { $0.key < $1.key }) {
            if let reason = journal.failure, queues[queue].definition.isDurable {
                throw .storeFailing(reason)
            }
            // One alone that is larger than the backlog would never be tried again.
            if let measure = excess(needed, queue: queue), drafts.count > 1 || queues[queue].entries > 0 {
                throw full(queue, measure)
            }
        }
    }

    private mutating func again(_ stored: StoredOperation, _ target: SourceState.Target) -> UInt64 {
        let source =
            if case .source = stored.origin, sources.index(of: stored.origin) == nil {
                internalSource(.run(handler: stored.handler))
            } else {
                internalSource(stored.origin)
            }
        var draft = Operation()
        (draft.handler, draft.queue, draft.source) = (target.handler, target.queue, source)
        draft.entries = EntryList(stored.events)
        draft.lineage = Operation.Lineage(stored.events.first)
        (draft.isClosed, draft.descent.isOwn) = (true, true)
        enter(draft.entries.deliveries, at: .pending, source: source, target)
        let names = stored.events.last.map { keyNames($0, source: source, target) } ?? []
        let ref = insert(draft, names)
        note(.submitted, ref, event: stored.events.last?.id ?? 0)
        begin(ref)
        return ref.id
    }
}
