import Schedule
import WatchFile

/// When a timer source fires next. Times are microseconds of the clock named; `never` for none.
///
/// An elapse has its nominal time, which is what a handler is told, and is due later by `RandomizedDelaySec=`. Delays
/// never let an elapse overtake the one before.
struct TimerState: Sendable {
    static let never = Int64.max

    /// Elapses that have come.
    struct Elapses: Equatable {
        /// On time: how many, and the wall-clock microsecond of the newest.
        var count = 0
        var scheduled = Int64.min
        /// Slept or jumped over, no longer ago than `CatchUpMaxSec=`: wall clock.
        var missed: [MissedElapses] = []
        /// How many were missed longer ago than that.
        var tooOld = 0
        /// `OnBootSec=` is among them.
        var hasBooted = false

        mutating func add(_ count: Int, _ scheduled: Int64) {
            guard count > 0 else { return }
            self.count += count
            self.scheduled = max(self.scheduled, scheduled)
        }
    }

    /// All but `EverySec=` and `OnCalendar=`, of which there may be many.
    private struct Others: HasInitialValue {
        static let initial = Others()

        /// On the boot clock.
        var onStartup = never
        var onBoot = never
        /// `AfterSec=`, on the monotonic clock; `never`: its operations have not ended.
        var after = never
        /// When the store is told how much of it is left, on the same clock.
        var afterStored = never
        /// `CatchUp=`, put off: when what was missed is caught up, on the boot clock, and since when it was missed.
        var catchUp = never
        var missedSince: Clocks.Since?
    }

    /// `EverySec=`, on the boot clock: the next slot of a grid anchored at boot, so that neither restart nor reload
    /// moves it, and when it is due.
    private(set) var slot = Self.never
    private var slotDue = Self.never
    /// `OnCalendar=`, `OnCron=`, on the wall clock: the nominal time of the next one, and when it is due.
    private(set) var calendar = Self.never
    private var calendarDue = Self.never
    /// The newest nominal time that is done with.
    private(set) var fired = Int64.min
    private var others = Rare<Others>()
    /// Wall clock: what was due before has fired or was left out for a reason.
    private(set) var seen = Int64.min
    /// When the store was told last; `atStop`: by the watchd before, when it stopped.
    var stamped = Int64.min
    static let atStop = Int64.max

    /// Elapses before `now` count as missed and fire only by `CatchUp=`; those of `OnBootSec=` fire at once.
    ///
    /// - Parameter hasBooted: `OnBootSec=` has elapsed in this boot.
    mutating func open(
        _ rule: TimerRule, startedAt: Int64, hasBooted: Bool, now: Moment, random: inout RandomNumbers
    ) {
        seen = now.realtime
        setCalendar(rule, after: now.realtime - 1, &random)
        if let period = rule.period {
            slot = (now.boottime / period + 1) * period
            slotDue = slot + rule.randomDelay(&random)
        }
        if let span = TimerRule.microseconds(rule.trigger.onStartup) {
            let due = startedAt + span + rule.randomDelay(&random)
            others.value.onStartup = due >= now.boottime ? due : Self.never
        }
        if !hasBooted, let span = TimerRule.microseconds(rule.trigger.onBoot) {
            others.value.onBoot = span + rule.randomDelay(&random)
        }
        if let delay = rule.delay { setDelay(rule, left: delay + rule.randomDelay(&random), now) }
    }

    /// The next one on a clock; `never` for none.
    func due(_ clock: Clock) -> Int64 {
        switch clock {
        case .realtime: calendarDue
        case .boottime: others.isInitial ? slotDue : min(slotDue, onStartup, onBoot, others.value.catchUp)
        case .monotonic: after
        }
    }

    /// When it has to be looked at next: it is due, or the store is to be told.
    func deadline(_ clock: Clock) -> Int64 { clock == .monotonic ? min(after, afterStored) : due(clock) }

    private var onStartup: Int64 { others.isInitial ? Self.never : others.value.onStartup }
    private var onBoot: Int64 { others.isInitial ? Self.never : others.value.onBoot }
    var after: Int64 { others.isInitial ? Self.never : others.value.after }
    private var afterStored: Int64 { others.isInitial ? Self.never : others.value.afterStored }
    var hasCalendar: Bool { calendar != Self.never }

    /// Takes the elapses that have come to their time.
    mutating func elapse(
        _ rule: TimerRule, now: Moment, lapse: ClockWatch.Lapse, random: inout RandomNumbers
    ) -> Elapses? {
        guard calendarDue <= now.realtime || due(.boottime) <= now.boottime || after <= now.monotonic else {
            return nil
        }
        var elapses = Elapses()
        while calendarDue <= now.realtime { elapseCalendar(rule, now, lapse, &random, &elapses) }
        while slotDue <= now.boottime { elapseSlot(rule, now, lapse, &random, &elapses) }
        elapseStartup(rule, now, lapse, &elapses)
        if onBoot <= now.boottime {
            elapses.add(1, onBoot + lapse.toWall)
            elapses.hasBooted = true
            others.value.onBoot = Self.never
        }
        if after <= now.monotonic {
            elapses.add(1, now.realtime - (now.monotonic - after))
            stopDelay()
        }
        seen = now.realtime
        return elapses
    }

    // MARK: Elapses that are put off

    /// The next elapse of the calendar, on the wall clock, if it has a delay.
    var delayedCalendar: DelayedElapse? {
        calendarDue > calendar ? DelayedElapse(scheduled: calendar, due: calendarDue) : nil
    }

    /// The next slot of the grid, on the boot clock, if it has a delay.
    var delayedSlot: DelayedElapse? { slotDue > slot ? DelayedElapse(scheduled: slot, due: slotDue) : nil }

    /// Keeps to the delay that an elapse was given before a restart or a reload: it comes when it was announced. One
    /// that was due meanwhile was missed.
    mutating func keep(calendar elapse: DelayedElapse?, slot: DelayedElapse?, _ rule: TimerRule, now: Moment) {
        if let elapse, elapse.due > now.realtime, elapse.scheduled <= now.realtime || elapse.scheduled == calendar,
            rule.nextElapse(after: elapse.scheduled - 1) == elapse.scheduled
        {
            calendar = elapse.scheduled
            calendarDue = max(now.realtime, min(elapse.due, elapse.scheduled + rule.longestDelay))
        }
        if let elapse = slot, elapse.due > now.boottime, let period = rule.period {
            // The wall clock runs a little faster or slower than the boot clock.
            let nearest = TimerRule.floor(elapse.scheduled + period / 2, period)
            guard nearest >= 0, nearest <= self.slot, abs(nearest - elapse.scheduled) <= Self.clockDrift else { return }
            self.slot = nearest
            slotDue = max(now.boottime, min(elapse.due, nearest + rule.longestDelay))
        }
    }

    private static let clockDrift: Int64 = 100_000

    /// It is the slot that comes next.
    func isNext(slot elapse: DelayedElapse) -> Bool { abs(elapse.scheduled - slot) <= Self.clockDrift }

    /// Missed elapses are caught up at a time of the boot clock.
    mutating func putOffCatchUp(since: Clocks.Since, until due: Int64) {
        (others.value.catchUp, others.value.missedSince) = (due, since)
    }

    /// Since when elapses were missed that are still to be caught up.
    var missedSince: Clocks.Since? { others.isInitial ? nil : others.value.missedSince }

    /// It is time to catch up, or an elapse comes, which stays behind what was missed before.
    mutating func takeMissed(now: Moment) -> Clocks.Since? {
        guard let since = missedSince,
            Clock.allCases.contains(where: { due($0) <= now[$0] })
        else { return nil }
        (others.value.catchUp, others.value.missedSince) = (Self.never, nil)
        return since
    }

    /// Another definition of the same timer, which `old` was: what has come and waits for its delay still does, and
    /// what was to be caught up still is.
    mutating func keep(_ old: TimerState, _ rule: TimerRule, startedAt: Int64, now: Moment) {
        keep(calendar: old.delayedCalendar, slot: old.delayedSlot, rule, now: now)
        if let since = old.missedSince { putOffCatchUp(since: since, until: old.others.value.catchUp) }
        if old.after != Self.never { resume(rule, left: old.after - now.monotonic, now: now) }
        for (path, span, base) in [
            (\Others.onStartup, rule.trigger.onStartup, startedAt), (\.onBoot, rule.trigger.onBoot, 0),
        ] {
            let due = old.others.value[keyPath: path]
            guard let span = TimerRule.microseconds(span), base + span <= now.boottime,
                (base + span...base + span + rule.longestDelay).contains(due)
            else { continue }
            others.value[keyPath: path] = due
        }
    }

    /// `OnBootSec=` has come and waits for its delay.
    func waitsForBoot(_ rule: TimerRule) -> Bool {
        guard let span = TimerRule.microseconds(rule.trigger.onBoot) else { return false }
        return (span...span + rule.longestDelay).contains(onBoot)
    }

    // MARK: The calendar

    private mutating func setCalendar(_ rule: TimerRule, after base: Int64, _ random: inout RandomNumbers) {
        guard let next = rule.nextElapse(after: base) else {
            (calendar, calendarDue) = (Self.never, Self.never)
            return
        }
        calendar = next
        calendarDue = next + rule.randomDelay(&random)
    }

    private mutating func elapseCalendar(
        _ rule: TimerRule, _ now: Moment, _ lapse: ClockWatch.Lapse, _ random: inout RandomNumbers,
        _ elapses: inout Elapses
    ) {
        // Elapses up to here are due, however long their delays are.
        let end = max(calendar, now.realtime - rule.longestDelay)
        let isMissed = calendarDue < lapse.realtime
        let missedEnd = isMissed ? max(calendar, min(end, lapse.realtime - 1)) : calendar - 1
        if isMissed {
            let base = max(calendar - 1, min(now.realtime - rule.catchUpLimit - 1, missedEnd))
            elapses.tooOld += rule.newestElapses(after: calendar - 1, through: base, limit: 1).count
            elapses.missed.append(
                rule.newestElapses(after: base, through: missedEnd, limit: TimerRule.mostCaughtUp))
        }
        if !isMissed, end == calendar {
            elapses.add(1, calendar)
        } else {
            let onTime = rule.newestElapses(after: missedEnd, through: end, limit: 1)
            elapses.add(isMissed ? onTime.count : max(1, onTime.count), onTime.instants.last ?? calendar)
        }
        let last = calendarDue
        fired = end
        setCalendar(rule, after: end, &random)
        calendarDue = max(calendarDue, last)
    }

    /// The wall clock was set, or the time zones have changed.
    mutating func recompute(_ rule: TimerRule, now: Moment, random: inout RandomNumbers) {
        if fired != .min, fired - now.realtime >= ClockWatch.longestStepBack { fired = .min }
        if seen > now.realtime { seen = now.realtime }
        // One that has come and waits for its delay stays.
        guard calendar > now.realtime else { return }
        let base = max(now.realtime - 1, fired)
        if rule.nextElapse(after: base) != calendar { setCalendar(rule, after: base, &random) }
    }

    /// The wall clock shows the time for the first time: what was thought of the calendar before is void.
    mutating func beginCalendar(_ rule: TimerRule, now: Moment, random: inout RandomNumbers) {
        fired = .min
        seen = now.realtime
        setCalendar(rule, after: now.realtime - 1, &random)
    }

    // MARK: The boot clock

    private mutating func elapseSlot(
        _ rule: TimerRule, _ now: Moment, _ lapse: ClockWatch.Lapse, _ random: inout RandomNumbers,
        _ elapses: inout Elapses
    ) {
        guard let period = rule.period else {
            slotDue = Self.never
            return
        }
        let end = max(slot, TimerRule.floor(now.boottime - rule.longestDelay, period))
        var onTime = slot
        if slotDue < lapse.boottime {
            let missedEnd = max(slot, min(end, TimerRule.floor(lapse.boottime - 1, period)))
            let base = max(slot - 1, min(now.boottime - rule.catchUpLimit - 1, missedEnd))
            elapses.tooOld += rule.newestSlots(after: slot - 1, through: base, limit: 1).count
            let slots = rule.newestSlots(after: base, through: missedEnd, limit: TimerRule.mostCaughtUp)
            elapses.missed.append(slots.moved(by: lapse.toWall))
            onTime = missedEnd + period
        }
        if onTime <= end { elapses.add(Int((end - onTime) / period) + 1, end + lapse.toWall) }
        let last = slotDue
        slot = end + period
        slotDue = max(slot + rule.randomDelay(&random), last)
    }

    private mutating func elapseStartup(
        _ rule: TimerRule, _ now: Moment, _ lapse: ClockWatch.Lapse, _ elapses: inout Elapses
    ) {
        let due = onStartup
        guard due <= now.boottime else { return }
        others.value.onStartup = Self.never
        let scheduled = due + lapse.toWall
        if due >= lapse.boottime {
            elapses.add(1, scheduled)
        } else if now.boottime - due <= rule.catchUpLimit {
            elapses.missed.append(MissedElapses(instants: [scheduled], count: 1))
        } else {
            elapses.tooOld += 1
        }
    }

    /// `OnBootSec=` has elapsed in this boot already.
    mutating func hasBooted() { if onBoot != Self.never { others.value.onBoot = Self.never } }

    // MARK: The fixed delay

    /// Of `AfterSec=`: a crash forgets no more than a quarter of it, or a minute.
    private static let shortestStoredStep: Int64 = 60_000_000

    private mutating func setDelay(_ rule: TimerRule, left: Int64, _ now: Moment) {
        others.value.after = now.monotonic + left
        setStored(rule, now)
    }

    private mutating func setStored(_ rule: TimerRule, _ now: Moment) {
        let time = now.monotonic + max((rule.delay ?? 0) / 4, Self.shortestStoredStep)
        others.value.afterStored = time < after ? time : Self.never
    }

    /// Whether the store is to be told how much of the delay is left.
    mutating func passStored(_ rule: TimerRule, now: Moment) -> Bool {
        guard afterStored <= now.monotonic else { return false }
        setStored(rule, now)
        return after > now.monotonic
    }

    /// `AfterSec=` waits for operations to end.
    mutating func stopDelay() {
        if after != Self.never { (others.value.after, others.value.afterStored) = (Self.never, Self.never) }
    }

    /// Its operations have ended: the fixed delay begins anew. False: it has none, or goes on.
    mutating func restart(_ rule: TimerRule, now: Moment, random: inout RandomNumbers) -> Bool {
        guard after == Self.never, let delay = rule.delay else { return false }
        setDelay(rule, left: delay + rule.randomDelay(&random), now)
        return true
    }

    /// Goes on with `AfterSec=` where it was: with that many microseconds left.
    mutating func resume(_ rule: TimerRule, left: Int64, now: Moment) {
        guard after != Self.never, let delay = rule.delay else { return }
        setDelay(rule, left: min(max(0, left), delay + rule.longestDelay), now)
    }

    // MARK: The store

    /// Elapses that come more often than this are not all stored: there would be no end of it.
    static let stampPeriod: Int64 = 10_000_000
    /// The same where what was missed is caught up: a crash repeats what fired since the store was told, of queues that
    /// are not durable.
    private static let catchUpStampPeriod: Int64 = 1_000_000

    /// Whether the store is told of its elapses: all of them where they are rare; else, where what was missed is caught
    /// up, now and then.
    func isStampDue(_ rule: TimerRule, now: Moment) -> Bool {
        // The last word of the stop before is over: after a crash nobody is to count from there.
        if stamped == Self.atStop { return true }
        let next = calendar == Self.never || fired == .min ? Self.never : calendar - fired
        let span = min(rule.delay ?? rule.period ?? Self.never, next)
        if rule.trigger.catchUp == .none { return span >= Self.stampPeriod }
        return span >= Self.catchUpStampPeriod || abs(now.realtime - max(stamped, 0)) >= Self.catchUpStampPeriod
    }

    /// An elapse that fired before a restart does not fire again where the wall clock was set back a little.
    mutating func resume(_ rule: TimerRule, fired last: Int64, now: Moment, random: inout RandomNumbers) {
        guard hasCalendar, last > now.realtime, last - now.realtime < ClockWatch.longestStepBack else { return }
        fired = last
        setCalendar(rule, after: last, &random)
    }
}
