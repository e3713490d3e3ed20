import Schedule
import WatchFile

/// `Overflow=`: what becomes of a delivery that a queue has no room for. What `Overflow=block` holds back waits at its
/// source (`HeldSources`).
extension Engine {
    /// Drops what the queue's policy says to drop. Returns why the delivery itself must be dropped, if it must.
    mutating func makeRoom(
        for event: Event, source: Int, _ target: SourceState.Target, behind: UInt64?
    ) -> String? {
        let queue = target.queue
        guard !queues[queue].holdsBack, excess(event.load, queue: queue) != nil,
            isNewEntry(event, source: source, target, behind: behind)
        else { return nil }
        let definition = queues[queue].definition
        while let measure = excess(event.load, queue: queue) {
            if definition.overflow == .dropOldest, dropOldestEntry(of: queue) { continue }
            let load = queues[queue].load
            let waiting = measure == .entries ? "\(load.entries) entries wait" : "\(ByteCount.rounded(load.bytes)) wait"
            return "Overflow=\(definition.overflow.rawValue): \(waiting) on queue \(definition.name)"
        }
        return nil
    }

    private mutating func dropOldestEntry(of queue: Int) -> Bool {
        queues[queue].arrivals.trim(waiting: queues[queue].waiting, in: operations)
        // The mark of a drain is no event.
        let oldest = queues[queue].arrivals.elements.first {
            operations.isWaiting($0) && !isOfClient(operations[$0].handler)
        }
        guard let ref = oldest, let event = operations[ref].entries.removeOldest() else { return false }
        let source = operations[ref].source
        let target = SourceState.Target(handler: operations[ref].handler, queue: queue)
        changeLoad(-event.load, queue: queue)
        saveAsWhole(ref)
        move(event.count, from: .pending, to: .dropped, source: source, target)
        let reason = "Overflow=drop-oldest"
        let isLast = operations[ref].entries.isEmpty
        reportRefusal(event, .dropped, reason, source: source, target, endsOperation: isLast)
        if isLast { finish(ref, .dropped, reason: reason) }
        return true
    }

    /// Of which bound there is not enough left for `more` to wait on a queue too; `nil`: there is room.
    func excess(_ more: Load, queue: Int) -> Load.Measure? {
        queues[queue].load.excess(adding: more, within: queues[queue].definition.bound)
            ?? door.load.excess(adding: more, within: settings.bound)
    }

    /// Whether a delivery would be an entry more, and not merge into one that waits.
    func isNewEntry(_ event: Event, source: Int, _ target: SourceState.Target, behind: UInt64? = nil) -> Bool {
        // A replacement by no event adds no entry.
        if event.isNothing, behind == nil { return false }
        guard let merge = merge(source: source, handler: target.handler) else { return true }
        return !mergeCandidates(event, source: source, target, behind: behind).contains {
            operations[$0].entries.wouldMerge(event, merge: merge)
        }
    }
}
