import WatchFile

/// Every delivery's way through the counts of its source, queue and handler.
extension Engine {
    mutating func enter(_ count: Int, at place: Place, source: Int, _ target: SourceState.Target) {
        sources[source].counters.enter(count, at: place)
        queues[target.queue].counters.enter(count, at: place)
        handlers[target.handler].counters.enter(count, at: place)
    }

    mutating func move(_ count: Int, from: Place, to: Place, source: Int, _ target: SourceState.Target) {
        guard count > 0 else { return }
        sources[source].counters.move(count, from: from, to: to)
        queues[target.queue].counters.move(count, from: from, to: to)
        handlers[target.handler].counters.move(count, from: from, to: to)
    }

    mutating func countCoalesced(_ count: Int, source: Int, _ target: SourceState.Target) {
        sources[source].counters.coalesced += count
        queues[target.queue].counters.coalesced += count
        handlers[target.handler].counters.coalesced += count
    }

    /// The load of a queue has changed.
    mutating func changeLoad(_ change: Load, queue: Int) {
        guard change != Load() else { return }
        queues[queue].load += change
        door.add(change)
        if change.entries < 0 || change.bytes < 0 { roomMade(in: queue) }
    }

    /// Wakes who waits for room.
    mutating func roomMade(in queue: Int) {
        door.roomMade(within: settings.bound)
        if !queues[queue].heldSources.isEmpty, queues[queue].hasRoom { door.roomMade(in: queue) }
    }

    /// An operation that did not run has started or ended.
    mutating func waitsNoMore(_ queue: Int) {
        queues[queue].waiting -= 1
        let (waiting, running) = (queues[queue].waiting, queues[queue].running)
        queues[queue].arrivals.trim(waiting: waiting, in: operations)
        scheduler.trimLine(queue, waiting: waiting, running: running)
    }
}
