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

    /// Entries that wait became more or less.
    mutating func changeEntries(_ change: Int, queue: Int) {
        guard change != 0 else { return }
        queues[queue].entries += change
        entries += change
        if change < 0 { roomMade(in: queue) }
    }

    private mutating func roomMade(in queue: Int) {
        isRoomNew = true
        if !queues[queue].heldSources.isEmpty, queues[queue].hasRoom {
            dirtySources.formUnion(queues[queue].heldSources)
            queues[queue].heldSources = []
        }
        if !heldByTotal.isEmpty, entries * 8 < settings.maxOperations * 7 {
            dirtySources.formUnion(heldByTotal)
            heldByTotal = []
        }
    }

    /// Holds a source back until one of its queues (or, where `MaxOperations=` is reached, the whole) has room again.
    mutating func waitForRoom(_ source: Int) {
        for target in sources[source].targets { queues[target.queue].heldSources.insert(source) }
        if entries >= settings.maxOperations { heldByTotal.insert(source) }
    }
}
