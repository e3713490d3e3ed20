import Schedule
import WatchFile

/// The time, the time zones, and all that is known of both: whether the machine slept or its clock was set, which
/// windows of the calendar are open, which timers have elapsed in this boot, and how their delays are drawn.
///
/// Each source keeps its own timer (`TimerState`); here it is moved.
struct Clocks: Sendable {
    /// When this engine was made: the daemon's start.
    let started: Moment
    /// Of the last input, or of the last look.
    var now: Moment
    /// The change of the clocks since the input before.
    private(set) var lapse = ClockWatch.Lapse()
    private var watch: ClockWatch
    /// The zones of calendar expressions.
    private(set) var zones: ZoneTable
    /// The machine's name: `FixedRandomDelay=`.
    private let host: [UInt8]
    /// `RandomizedDelaySec=`.
    private var random: RandomNumbers
    /// Timers whose missed elapses cannot be known before the wall clock is set, and since when they would be missed.
    var unset: [SourceID: Since] = [:]
    /// Timers whose `OnBootSec=` has elapsed in this boot.
    private(set) var booted: Set<SourceID> = []
    /// Operations that wait for `HoldDuring=` to be over: when that is, on the wall clock.
    private(set) var windowEnds: [UInt64: Int64] = [:]

    /// The elapses that were due before a microsecond of the wall clock are done with: those of the calendar, and those
    /// of the grid.
    struct Since {
        var calendar: Int64
        var slot: Int64
        /// One that waits for its delay, while the clock is not set.
        var delayed: DelayedElapse?
        /// Everything later was missed. Else it may have elapsed before a crash, where the timer elapses often.
        var isExact: Bool
    }

    init(_ now: Moment, zones: ZoneTable, host: [UInt8], seed: UInt64) {
        (started, self.now, self.zones, self.host) = (now, now, zones, host)
        random = RandomNumbers(seed: seed)
        watch = ClockWatch(now)
        lapse.toWall = watch.toWall
    }

    /// The time of another input.
    mutating func pass(_ now: Moment) {
        self.now = now
        lapse = watch.look(now)
    }

    /// False: they are the same.
    mutating func change(_ zones: ZoneTable) -> Bool {
        guard self.zones != zones else { return false }
        self.zones = zones
        return true
    }

    // MARK: Timers

    /// `name`: of the source; few need it.
    func rule(_ trigger: TimerTrigger, name: @autoclosure () -> String) -> TimerRule {
        let number = trigger.hasFixedRandomDelay ? RandomNumbers.hash(host + [0] + Array(name().utf8)) : 0
        return TimerRule(trigger: trigger, zones: zones, fixedNumber: number)
    }

    mutating func open(_ timer: inout TimerState, _ rule: TimerRule, _ id: SourceID) {
        timer.open(rule, startedAt: started.boottime, hasBooted: booted.contains(id), now: now, random: &random)
    }

    /// Takes the elapses of a timer that have come to their time. `isDelayStored`: the store is to be told how much of
    /// its delay is left.
    mutating func elapse(
        _ timer: inout TimerState, _ rule: TimerRule
    ) -> (elapses: TimerState.Elapses?, isDelayStored: Bool) {
        let elapses = timer.elapse(rule, now: now, lapse: lapse, random: &random)
        return (elapses, timer.passStored(rule, now: now))
    }

    /// Begins `AfterSec=` anew. False: it has none, or goes on.
    mutating func restart(_ timer: inout TimerState, _ rule: TimerRule) -> Bool {
        timer.restart(rule, now: now, random: &random)
    }

    /// Goes on with a timer as the store has it.
    mutating func resume(_ timer: inout TimerState, _ rule: TimerRule, _ stamp: TimerStamp) {
        if let time = stamp.lastElapse { timer.resume(rule, fired: time, now: now, random: &random) }
        if let left = stamp.after { timer.resume(rule, left: left, now: now) }
        // Where the store was opened late, this watchd has had those after its start itself.
        let slot = stamp.delayedSlot?.moved(by: -lapse.toWall)
        let isOpen = slot.map { $0.scheduled < started.boottime || timer.isNext(slot: $0) } ?? false
        keep(&timer, rule, calendar: stamp.delayedCalendar, slot: isOpen ? slot : nil)
    }

    /// Keeps an elapse of the calendar that came before this watchd, or comes next.
    func keep(_ timer: inout TimerState, _ rule: TimerRule, calendar: DelayedElapse?, slot: DelayedElapse? = nil) {
        let start = started.boottime + lapse.toWall
        let isOpen = calendar.map { $0.scheduled < start || $0.scheduled == timer.calendar } ?? false
        timer.keep(calendar: isOpen ? calendar : nil, slot: slot, rule, now: now)
    }

    /// Goes on with a timer whose definition has changed.
    func keep(_ timer: inout TimerState, _ rule: TimerRule, of old: TimerState) {
        timer.keep(old, rule, startedAt: started.boottime, now: now)
    }

    /// Puts off what a timer has to catch up by a delay of `RandomizedDelaySec=`. False: it has none.
    mutating func putOffCatchUp(_ timer: inout TimerState, _ rule: TimerRule, since: Since) -> Bool {
        let delay = rule.randomDelay(&random)
        guard delay > 0 else { return false }
        timer.putOffCatchUp(since: since, until: now.boottime + delay)
        return true
    }

    /// The wall clock was set, or the zones have changed.
    mutating func recompute(_ timer: inout TimerState, _ rule: TimerRule) {
        timer.recompute(rule, now: now, random: &random)
    }

    /// The wall clock was set for the first time since boot.
    mutating func beginCalendar(_ timer: inout TimerState, _ rule: TimerRule) {
        timer.beginCalendar(rule, now: now, random: &random)
    }

    /// False: that is known.
    mutating func noteBooted(_ id: SourceID) -> Bool { booted.insert(id).inserted }

    // MARK: Missed elapses

    /// The wall clock has been set since boot.
    var isSet: Bool { now.realtime >= ClockWatch.earliest }

    // MARK: Windows

    /// An operation waits until a window is over. Returns when to look again; `nil`: it waits for that already.
    mutating func hold(_ id: UInt64, until end: Int64) -> Int64? {
        windowEnds.updateValue(end, forKey: id) == end ? nil : end
    }

    /// An operation waits for no window, or has ended.
    mutating func holdNoMore(_ id: UInt64) { if !windowEnds.isEmpty { windowEnds[id] = nil } }
}
