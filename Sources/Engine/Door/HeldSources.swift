import Schedule
import WatchFile

/// `Overflow=block` and suspended sources: what is held back, and how it is let go again.
///
/// A source held back stands in one line: that of the queue that is full, or that of `MaxOperations=`. When there is
/// room below 7/8, the line is let go from its front until there is none; until it is empty nobody passes it.
extension Engine {
    /// Where a source has to wait.
    enum SourceObstacle: Equatable {
        case queue(Int)
        case total
        /// `RateLimit=` of the source.
        case rate
        /// A durable queue cannot be kept safe now.
        case store
    }

    /// The obstacle of an event: a queue of the source that holds back when it is full has no room for it. `isFirst`:
    /// the source stands first in line, so that nobody waits before it.
    func obstacle(_ event: Event, source: Int, isFirst: Bool) -> SourceObstacle? {
        if !journal.isWorking, isDurable(source: source) { return .store }
        let more = event.load
        let isTotalFull = door.isFull(for: more, within: settings.bound, isFirst: isFirst)
        for target in sources[source].targets where queues[target.queue].holdsBack {
            let isQueueFull =
                !queues[target.queue].load.hasRoom(for: more, within: queues[target.queue].definition.bound)
                || (!isFirst && !queues[target.queue].heldSources.isEmpty)
            guard isQueueFull || isTotalFull, isNewEntry(event, source: source, target) else { continue }
            return isQueueFull ? .queue(target.queue) : .total
        }
        return nil
    }

    /// Bytes that a source may hold however much the others do: of what is not told again, nothing small is lost.
    static let heldAtLeast = 64 << 10

    /// The most that a source may hold: the smallest backlog of its queues, and of `MaxMemory=` what the other sources leave.
    func holdLimit(_ source: Int) -> Load {
        let others = door.heldLoad.bytes - sources[source].held.load.bytes
        let most = Load(entries: .max / 16, bytes: max(settings.maxMemory - others, Self.heldAtLeast))
        return sources[source].targets.reduce(most) { .min($0, queues[$1.queue].definition.bound) }
    }

    mutating func hold(_ event: Event, source: Int) {
        let targets = sources[source].targets
        let limit = holdLimit(source)
        let (merge, keepsElapses) = (sources[source].merge, sources[source].keepsElapses)
        let before = sources[source].held.load
        let change = sources[source].held.add(
            event, merge: merge, events: sources[source].pathEvents, keepsElapses: keepsElapses, limit: limit)
        let annulled = change?.annulled
        door.addHeld(sources[source].held.load - before)
        // A change that is annulled for `Events=` alone would come back with the events that are stored one by one.
        if let annulled, annulled > 0 { saveHolds(source) } else if annulled != nil { saveHeld(event, source) }
        if sources[source].held.since == nil { sources[source].held.since = now.realtime }
        let kept = sources[source].held.count
        if annulled == nil { sources[source].held.refused += event.count }
        for target in targets {
            if let annulled {
                enter(event.count, at: .held, source: source, target)
                move(annulled, from: .held, to: .annulled, source: source, target)
            } else {
                refuse(event, .dropped, "more than \(kept) events held back", source: source, target)
            }
        }
        if let annulled {
            noteHeld(source)
            if let change { note(unasked: change, source: source, since: now.monotonic, isHeld: true) }
            if annulled > 0 { noteAnnulled(event, source) }
        } else {
            refuseWaits(source, .dropped, "more than \(kept) events held back") { $0 == event.id }
        }
        if !sources[source].holds {
            door.resume(source)
            heldMayHaveEnded(source)
        } else {
            holdInRim(source, limit: limit)
        }
    }

    /// The event has annulled others that were held.
    private mutating func noteAnnulled(_ event: Event, _ source: Int) {
        guard !emitWaits.isEmpty else { return }
        let left = Set(sources[source].held.events.map(\.id))
        refuseWaits(source, .annulled, Self.dataIsNothing) { $0 <= event.id && !left.contains($0) }
    }

    static let dataIsNothing = "its data came to 0, which is no event"

    mutating func wait(_ source: Int, for obstacle: SourceObstacle) {
        switch obstacle {
        case .queue(let queue):
            queues[queue].heldSources.append(source)
            sendDigests(onQueue: queue)
        case .total: door.waitForTotal(source)
        case .store: door.waitForStore(source)
        case .rate:
            guard let limit = sources[source].rateLimit else { return }
            let time = sources[source].rate.next(limit, now: now.monotonic)
            // Another one after a reload.
            guard sources[source].rateDeadline != time else { return }
            sources[source].rateDeadline = time
            deadlines.add(.sourceRate(source), .monotonic, at: time)
        }
    }

    /// A descriptor is not read any more at once; a path source when no more changes can be kept.
    mutating func holdInRim(_ source: Int, limit: Load) {
        guard !sources[source].isHeldInRim, case .source(let id) = sources[source].origin else { return }
        let held = sources[source].held.load
        let isFull = held.entries >= limit.entries || held.bytes >= limit.bytes
        guard id.kind == .descriptor || (id.kind == .path && isFull) else { return }
        sources[source].isHeldInRim = true
        actions.append(.hold(id))
    }

    /// The bound that holds a source back, with its queue.
    func heldBy(_ source: Int) -> String? {
        guard sources[source].holds, !sources[source].isSuspended else { return nil }
        for target in sources[source].targets where queues[target.queue].heldSources.contains(source) {
            let state = queues[target.queue]
            guard let measure = state.fullness else { continue }
            return "\(state.definition.limit(measure)) of queue \(state.definition.name)"
        }
        guard door.heldByTotal.contains(source) else { return nil }
        return door.load.fullness(within: settings.bound, isWaitedFor: true).map(settings.limit)
    }

    // MARK: Let go

    /// Lets go what a source holds, as far as there is room, and returns what keeps the rest back. `isFirst`: it stands
    /// first in its line.
    @discardableResult
    mutating func letGo(_ source: Int, isFirst: Bool) -> SourceObstacle? {
        guard sources.isInUse(source), !sources[source].isSuspended else { return nil }
        while let event = sources[source].held.next() {
            if let obstacle = rateObstacle(event, source) ?? obstacle(event, source: source, isFirst: isFirst) {
                wait(source, for: obstacle)
                return obstacle
            }
            letGoNext(source, mayDrop: true)
        }
        endHold(source)
        if sources[source].hasUnasked { sources[source].unasked.endHold() }
        door.roomMoved()
        if sources[source].isHeldInRim, case .source(let id) = sources[source].origin {
            sources[source].isHeldInRim = false
            actions.append(.release(id))
        }
        sourceMayHaveEnded(source)
        if sources[source].isRemoved { releaseRemoved(source) }
        return nil
    }

    /// The held events of a removed source are gone, and with them the room that was kept for them.
    mutating func releaseRemoved(_ source: Int) {
        let targets = sources[source].targets
        releaseSourceIfUnused(source)
        for target in targets {
            releaseHandlerIfUnused(target.handler)
            releaseQueueIfUnused(target.queue)
        }
    }

    /// Lets go everything, room or not: its routes are about to change.
    mutating func letGoAll(_ source: Int) {
        while sources[source].holds { letGoNext(source, mayDrop: false) }
        endHold(source)
    }

    private mutating func endHold(_ source: Int) {
        if sources[source].held.refused > 0 { sources[source].held.refused = 0 }
        if sources[source].held.since != nil { sources[source].held.since = nil }
    }

    /// Held events go to the new targets when they are released.
    mutating func reroute(_ source: Int, to targets: TargetList) {
        let count = sources[source].held.events.reduce(0) { $0 + $1.count }
        guard count > 0 else { return }
        var added = targets.filter { !sources[source].targets.contains($0) }
        for target in sources[source].targets where !targets.contains(target) {
            guard let heir = added.popLast() else {
                move(count, from: .held, to: .annulled, source: source, target)
                continue
            }
            enter(-count, at: .held, source: source, target)
            enter(count, at: .held, source: source, heir)
        }
        for target in added { enter(count, at: .held, source: source, target) }
    }

    /// Takes out the event that a source lets go next.
    mutating func removeHeld(_ source: Int) -> Event? {
        let before = sources[source].held.load
        defer { door.addHeld(sources[source].held.load - before) }
        return sources[source].held.removeNext()
    }

    private mutating func letGoNext(_ source: Int, mayDrop: Bool) {
        guard let event = removeHeld(source) else { return }
        door.lettingGo = source
        defer { door.lettingGo = nil }
        saveHolds(source)
        for target in sources[source].targets {
            move(event.count, from: .held, to: .pending, source: source, target)
        }
        letGo(event, of: source) { engine in
            engine.passRate(source) { engine in
                engine.admitAll(
                    event, source: source, engine.sources[source].targets, depth: mayDrop ? 0 : 1, isCounted: true)
            }
        }
    }

    mutating func letGo(heldBy queue: Int) {
        guard queues.isInUse(queue) else { return }
        while let source = queues[queue].heldSources.first {
            // It is still there, and first: nobody behind it may pass.
            if letGo(source, isFirst: true) == .queue(queue) { return }
            queues[queue].heldSources.removeFirst()
        }
    }

    mutating func letGoHeldByTotal() {
        while let source = door.heldByTotal.first {
            if letGo(source, isFirst: true) == .total { return }
            door.removeFirstOfTotal()
        }
    }
}
