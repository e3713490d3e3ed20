import Schedule
import WatchFile

/// Elapses of a span of time: how many, and the newest of them.
struct MissedElapses: Equatable, Sendable {
    /// Microseconds, ascending.
    var instants: [Int64] = []
    var count = 0

    init(instants: [Int64] = [], count: Int = 0) {
        self.instants = instants
        self.count = count
    }

    init(_ elapses: NewestElapses) { self.init(instants: elapses.instants, count: elapses.count) }

    /// The elapses on another clock.
    func moved(by distance: Int64) -> MissedElapses {
        MissedElapses(instants: instants.map { $0 + distance }, count: count)
    }
}

/// `CatchUp=`, `CatchUpMaxSec=`: elapses that were missed while watchd was not running, or while the machine slept.
extension Engine {
    /// `tooOld`: how many more there were, longer ago than `CatchUpMaxSec=`. What is not caught up is told; it counts as
    /// lost unless it is left out on purpose.
    mutating func catchUp(
        _ missed: [MissedElapses], tooOld: Int, _ rule: TimerRule, _ source: Int, _ reason: String
    ) {
        guard !sources[source].isSuspended, case .source(let id) = sources[source].origin else { return }
        let elapses = TimerRule.joined(missed, limit: TimerRule.mostCaughtUp)
        let policy = rule.trigger.catchUp
        let taken = policy == .none ? 0 : policy == .one ? elapses.count : elapses.instants.count
        let lost = elapses.count + tooOld - taken
        if lost > 0 {
            if policy != .none { sources[source].counters.gap += lost }
            let told = "\(reason)\(Self.bounds(lost, tooOld: tooOld, rule)) (CatchUp=\(policy.rawValue))"
            actions.append(.report(.missed(id, count: lost, told)))
        }
        guard let newest = elapses.instants.last else { return }
        switch policy {
        case .none: break
        case .one: accept(.timer(scheduled: newest), count: elapses.count, from: source)
        case .all: for instant in elapses.instants { accept(.timer(scheduled: instant), from: source) }
        }
    }

    /// Why elapses are not caught up that could be.
    private static func bounds(_ lost: Int, tooOld: Int, _ rule: TimerRule) -> String {
        guard rule.trigger.catchUp != .none else { return "" }
        let age = tooOld > 0 ? ["longer ago than CatchUpMaxSec=\(rule.trigger.catchUpLimit)"] : []
        let number = lost > tooOld ? ["not of the newest \(TimerRule.mostCaughtUp)"] : []
        return ", " + (age + number).joined(separator: " or ")
    }

    /// Elapses that were missed while watchd was not running, at once or after a delay.
    mutating func catchUp(_ source: Int, since: Clocks.Since) {
        guard let rule = timerRule(source), !sources[source].isSuspended,
            let missed = clocks.missed(rule, sources[source].timer, since: since)
        else { return }
        let old = sources[source].timer
        if rule.trigger.catchUp != .none, !missed.elapses.isEmpty,
            clocks.putOffCatchUp(&sources[source].timer, rule, since: since)
        {
            return addTimerDeadlines(source, rule, after: old)
        }
        catchUp(missed, rule, source)
    }

    /// Elapses that were missed while watchd was not running, whose delay is over.
    mutating func catchUpNow(_ source: Int, _ rule: TimerRule, since: Clocks.Since) {
        if let missed = clocks.missed(rule, sources[source].timer, since: since) { catchUp(missed, rule, source) }
        saveStamp(source)
    }

    private mutating func catchUp(_ missed: Clocks.Missed, _ rule: TimerRule, _ source: Int) {
        guard !missed.isEmpty else { return }
        catchUp(missed.elapses, tooOld: missed.tooOld, rule, source, "watchd was not running")
        // It is told once.
        saveStamp(source)
    }

    /// Once everything else has been restored.
    mutating func catchUp(_ state: StoredState) {
        for (id, stamp) in state.timers.sorted(by: { $0.key.description < $1.key.description }) {
            guard let source = sources.index(of: .source(id)), !sources[source].isRemoved, sources[source].isTimer
            else { continue }
            // A suspension that has ended meanwhile: what came before its end was not missed.
            let until = state.suspensions[id.description]?.compactMap(\.until).filter { $0 <= now.realtime }.max()
            let times = [stamp.seen, stamp.lastElapse, until].compactMap(\.self).filter { $0 >= ClockWatch.earliest }
            guard let time = stamp.isCatchingUp ? stamp.seen : times.max() else { continue }
            // The one that waited for its delay is not done with, however late the one before it was.
            let ends = [stamp.delayedCalendar, stamp.delayedSlot].map { min(time, ($0?.scheduled ?? .max) - 1) }
            let since = Clocks.Since(
                calendar: max(ends[0], until ?? ends[0]), slot: max(ends[1], until ?? ends[1]),
                delayed: stamp.delayedCalendar, isExact: stamp.isLast)
            if clocks.isSet { catchUp(source, since: since) } else { clocks.waitForClock(id, since: since) }
        }
    }
}

extension Clocks {
    /// Elapses that were missed while watchd was not there.
    struct Missed {
        var elapses: [MissedElapses]
        /// How many more there were, longer ago than `CatchUpMaxSec=`.
        var tooOld: Int

        var isEmpty: Bool { elapses.isEmpty && tooOld == 0 }
    }

    /// `nil`: nobody knows.
    func missed(_ rule: TimerRule, _ timer: TimerState, since: Since) -> Missed? {
        let toWall = lapse.toWall
        // The start of watchd, on the wall clock as it is now.
        let end = started.boottime + toWall
        // One at the very start is not missed: it fires. Nor is one that waits for its delay.
        let calendar = part(from: since.calendar, to: end - 1, before: timer.calendar, rule)
        let slots = part(
            from: since.slot, to: end, before: timer.slot == TimerState.never ? .max : timer.slot + toWall, rule)
        let tooOld =
            rule.newestElapses(after: calendar.oldest, through: calendar.base, limit: 1).count
            + rule.newestSlots(after: slots.oldest - toWall, through: slots.base - toWall, limit: 1).count
        let missed = [
            rule.newestElapses(after: calendar.base, through: calendar.end, limit: TimerRule.mostCaughtUp),
            rule.newestSlots(after: slots.base - toWall, through: slots.end - toWall, limit: TimerRule.mostCaughtUp)
                .moved(by: toWall),
        ]
        // Of timers that elapse more often and catch nothing up, a crash leaves the last elapse unknown.
        let count = missed.reduce(tooOld) { $0 + $1.count }
        let isOften = Int64(count) > (end - min(calendar.oldest, slots.oldest)) / TimerState.stampPeriod + 1
        if rule.trigger.catchUp == .none, isOften, !since.isExact { return nil }
        return Missed(elapses: missed.filter { $0.count > 0 }, tooOld: tooOld)
    }

    /// The stretch of the wall clock in which elapses may have been missed: its beginning, the beginning of the part
    /// that is not too old, and its end.
    private func part(
        from since: Int64, to end: Int64, before next: Int64, _ rule: TimerRule
    ) -> (oldest: Int64, base: Int64, end: Int64) {
        let last = min(end, next - 1)
        let oldest = min(since, last)
        return (oldest, min(last, max(oldest, started.boottime + lapse.toWall - rule.catchUpLimit)), last)
    }

    /// Keeps in mind since when elapses are missed, until the clock is set.
    mutating func waitForClock(_ id: SourceID, since: Since) { unset[id] = since }

    /// The timers that have waited for the clock to be set, in the order of their names.
    mutating func takeUnset() -> [(id: SourceID, since: Since)] {
        defer { unset = [:] }
        return unset.sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value) }
    }
}
