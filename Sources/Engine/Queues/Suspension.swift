import Schedule
import WatchFile

/// Suspension of sources and queues.
extension Engine {
    // MARK: Suspension

    mutating func suspend(source: Int, _ suspension: Suspension) {
        sources[source].suspensions.append(suspension)
        saveSuspensions(ofSource: source)
        if let time = suspension.resumesAt { deadlines.add(.resumeSource(source), .boottime, at: time) }
        stopSilence(source)
        // A caller of `Emit` who waits for a queue may be kept now.
        door.roomMoved()
        holdSuspended(source)
    }

    /// A suspended source is not even read, where that loses nothing.
    mutating func holdSuspended(_ source: Int) {
        guard case .source(let id) = sources[source].origin, id.kind == .descriptor, !sources[source].isHeldInRim else {
            return
        }
        sources[source].isHeldInRim = true
        actions.append(.hold(id))
    }

    mutating func suspend(queue: Int, _ suspension: Suspension) {
        queues[queue].suspensions.append(suspension)
        saveSuspensions(ofQueue: queue)
        scheduler.setSuspended(queue: queue, true)
        if let time = suspension.resumesAt { deadlines.add(.resumeQueue(queue), .boottime, at: time) }
    }

    /// False: it was not suspended.
    mutating func resume(source: Int) -> Bool {
        guard sources[source].suspensions.popLast() != nil else { return false }
        saveSuspensions(ofSource: source)
        if !sources[source].isSuspended { noLongerSuspended(source) }
        return true
    }

    mutating func resume(queue: Int) -> Bool {
        guard queues[queue].suspensions.popLast() != nil else { return false }
        saveSuspensions(ofQueue: queue)
        scheduler.setSuspended(queue: queue, queues[queue].isSuspended)
        return true
    }

    /// Takes back this one, wherever it stands among others.
    mutating func resume(queue: Int, from suspension: Suspension) {
        guard queues.isInUse(queue), let index = queues[queue].suspensions.lastIndex(of: suspension) else { return }
        queues[queue].suspensions.remove(at: index)
        saveSuspensions(ofQueue: queue)
        scheduler.setSuspended(queue: queue, queues[queue].isSuspended)
    }

    mutating func endSuspensions(ofSource source: Int) {
        guard sources.isInUse(source) else { return }
        let time = now.boottime
        sources[source].suspensions.removeAll { $0.isOver(at: time) }
        saveSuspensions(ofSource: source)
        if !sources[source].isSuspended { noLongerSuspended(source) }
    }

    private mutating func noLongerSuspended(_ source: Int) {
        door.resume(source)
        startSilence(source)
    }

    mutating func endSuspensions(ofQueue queue: Int) {
        guard queues.isInUse(queue) else { return }
        let time = now.boottime
        queues[queue].suspensions.removeAll { $0.isOver(at: time) }
        saveSuspensions(ofQueue: queue)
        scheduler.setSuspended(queue: queue, queues[queue].isSuspended)
    }

    private mutating func saveSuspensions(ofSource source: Int) {
        saveSuspensions(sources[source].origin.description, sources[source].suspensions)
    }

    mutating func saveSuspensions(ofQueue queue: Int) {
        saveSuspensions("queue/\(queues[queue].definition.name)", queues[queue].suspensions)
    }

    /// The full name of the source or queue that `name` means, and how often it is suspended.
    package func suspensions(of name: String) -> (name: String, count: Int)? {
        switch try? resolveSuspendable(name) {
        case .source(let index): (sources[index].origin.description, sources[index].suspensions.count)
        case .queue(let index): ("queue/\(queues[index].definition.name)", queues[index].suspensions.count)
        case .handler, .semaphore: nil
        case nil: (try? orphan(name)).flatMap { $0 }.map { ($0, journal.orphans.suspensions[$0]?.count ?? 0) }
        }
    }
}

extension Suspension {
    func isOver(at boottime: Int64) -> Bool { resumesAt.map { $0 <= boottime } ?? false }
}
