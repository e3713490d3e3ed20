import Schedule
import WatchFile

/// Timers, suspension, and what a source does when its operations have ended.
extension Engine {
    mutating func openTimer(_ source: Int) {
        guard case .timer(let trigger) = sources[source].definition?.trigger else { return }
        sources[source].timer.open(trigger, startedAt: started.boottime, now: now)
        sources[source].condition = .armed
        // Operations of before a reload are waited for.
        if sources[source].counters.outstanding > 0 { sources[source].timer.stopDelay() }
        addTimerDeadlines(source, after: TimerState())
    }

    /// Adds what has changed since `old`.
    private mutating func addTimerDeadlines(_ source: Int, after old: TimerState) {
        let timer = sources[source].timer
        if let next = timer.next, next != old.next { deadlines.add(.timer(source: source), .boottime, at: next) }
        if let after = timer.after, after != old.after {
            deadlines.add(.timer(source: source), .monotonic, at: after)
        }
    }

    mutating func timerElapsed(_ source: Int) {
        guard sources.isInUse(source) else { return }
        let old = sources[source].timer
        guard let elapse = sources[source].timer.elapse(now: now) else { return }
        addTimerDeadlines(source, after: old)
        saveStamp(source)
        let scheduled = now.realtime - (now.boottime - elapse.scheduled)
        accept(.timer(scheduled: scheduled), count: elapse.count, from: source)
        sourceMayHaveEnded(source)
    }

    /// `AfterSec=` begins anew when all operations of the source have ended, in whatever way.
    mutating func sourceMayHaveEnded(_ source: Int) {
        guard sources[source].isTimer, sources[source].counters.outstanding == 0,
            let after = sources[source].timer.restart(now: now)
        else { return }
        deadlines.add(.timer(source: source), .monotonic, at: after)
        saveStamp(source)
    }

    /// Where a timer stands; not of one that elapses so often that nobody would miss it.
    private mutating func saveStamp(_ source: Int) {
        guard case .source(let id) = sources[source].origin, sources[source].timer.isStamped else { return }
        let after = sources[source].timer.after.map { now.realtime + $0 - now.monotonic }
        actions.append(.store(.timer(id, TimerStamp(lastElapse: now.realtime, after: after))))
    }

    // MARK: Suspension

    mutating func suspend(source: Int, _ suspension: Suspension) {
        sources[source].suspensions.append(suspension)
        saveSuspensions(ofSource: source)
        if let time = suspension.resumesAt { deadlines.add(.resumeSource(source), .boottime, at: time) }
        // A caller of `Emit` who waits for a queue may be kept now.
        isRoomNew = true
        holdSuspended(source)
    }

    /// What is suspended is not even read, where that loses nothing.
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
        suspensionChanged(queue)
        if let time = suspension.resumesAt { deadlines.add(.resumeQueue(queue), .boottime, at: time) }
    }

    /// False: it was not suspended.
    mutating func resume(source: Int) -> Bool {
        guard sources[source].suspensions.popLast() != nil else { return false }
        saveSuspensions(ofSource: source)
        if !sources[source].isSuspended { dirtySources.append(source) }
        return true
    }

    mutating func resume(queue: Int) -> Bool {
        guard queues[queue].suspensions.popLast() != nil else { return false }
        saveSuspensions(ofQueue: queue)
        suspensionChanged(queue)
        return true
    }

    mutating func endSuspensions(ofSource source: Int) {
        guard sources.isInUse(source) else { return }
        let time = now.boottime
        sources[source].suspensions.removeAll { $0.isOver(at: time) }
        saveSuspensions(ofSource: source)
        if !sources[source].isSuspended { dirtySources.append(source) }
    }

    mutating func endSuspensions(ofQueue queue: Int) {
        guard queues.isInUse(queue) else { return }
        let time = now.boottime
        queues[queue].suspensions.removeAll { $0.isOver(at: time) }
        saveSuspensions(ofQueue: queue)
        suspensionChanged(queue)
    }

    private mutating func saveSuspensions(ofSource source: Int) {
        saveSuspensions(sources[source].origin.description, sources[source].suspensions)
    }

    private mutating func saveSuspensions(ofQueue queue: Int) {
        saveSuspensions("queue/\(queues[queue].definition.name)", queues[queue].suspensions)
    }

    /// It may start something, and whatever runs through it; who waits for a semaphore steps in or out of its line.
    private mutating func suspensionChanged(_ queue: Int) {
        if queues[queue].parkedThrough > 0 { areSemaphoresMoved = true }
        areRestartsMoved = true
        guard !queues[queue].isSuspended else { return }
        for other in queues[queue].through { touch(queue: other) }
    }
}

extension Suspension {
    func isOver(at boottime: Int64) -> Bool { resumesAt.map { $0 <= boottime } ?? false }
}
