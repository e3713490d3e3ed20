import Schedule
import WatchFile

/// The rule of a timer: its keys, the time zones, and how its delays are drawn.
struct TimerRule {
    let trigger: TimerTrigger
    let zones: ZoneTable
    /// `FixedRandomDelay=`: of this host and timer.
    let fixedNumber: UInt64

    /// At most so many elapses are caught up, the newest.
    static let mostCaughtUp = 1000

    var period: Int64? { Self.microseconds(trigger.every) }
    var delay: Int64? { Self.microseconds(trigger.after) }
    var accuracy: Int64 { Self.microseconds(trigger.accuracy) ?? 1000 }
    /// The longest delay of `RandomizedDelaySec=`.
    var longestDelay: Int64 { Self.microseconds(trigger.randomizedDelay) ?? 0 }
    /// The store knows of it from its beginning: what is missed is caught up, or an elapse may be put off beyond a
    /// restart.
    var isStored: Bool { trigger.catchUp != .none || longestDelay > 0 }
    /// How far back `CatchUp=` reaches.
    var catchUpLimit: Int64 { Self.microseconds(trigger.catchUpLimit) ?? .max / 4 }

    func randomDelay(_ random: inout RandomNumbers) -> Int64 {
        let longest = longestDelay
        guard longest > 0 else { return 0 }
        return RandomNumbers.scale(trigger.hasFixedRandomDelay ? fixedNumber : random.next(), to: longest)
    }

    /// The span in microseconds; `nil` for none at all and one that lies beyond all clocks.
    static func microseconds(_ span: TimeSpan?) -> Int64? {
        guard let span, span > .zero, span.microseconds < UInt64(Int64.max / 4) else { return nil }
        return Int64(span.microseconds)
    }

    // MARK: The calendar

    /// The first elapse by the calendar behind an instant of the wall clock.
    func nextElapse(after base: Int64) -> Int64? {
        let calendars = trigger.calendars.lazy.compactMap { next($0, after: base) }.min()
        let crons = trigger.crons.lazy.compactMap { next($0, after: base) }.min()
        guard let calendars, let crons else { return calendars ?? crons }
        return min(calendars, crons)
    }

    private func next(_ schedule: some CalendarSchedule, after base: Int64) -> Int64? {
        schedule.nextElapse(after: base, in: zones.rules(for: schedule), daylightSaving: trigger.daylightSaving)
    }

    /// The elapses behind `base` up to `end`, those of several expressions at one instant once where they are listed.
    func newestElapses(after base: Int64, through end: Int64, limit: Int) -> MissedElapses {
        guard base < end else { return MissedElapses() }
        let parts =
            trigger.calendars.map { newest($0, base, end, limit) } + trigger.crons.map { newest($0, base, end, limit) }
        return Self.joined(parts, limit: limit)
    }

    private func newest(
        _ schedule: some CalendarSchedule, _ base: Int64, _ end: Int64, _ limit: Int
    ) -> MissedElapses {
        MissedElapses(
            schedule.newestElapses(
                after: base, through: end, limit: limit, in: zones.rules(for: schedule),
                daylightSaving: trigger.daylightSaving))
    }

    /// Where all are listed the count is exact; else an instant that several share may count for each.
    static func joined(_ parts: [MissedElapses], limit: Int) -> MissedElapses {
        let listed = parts.count == 1 ? parts[0].instants : Set(parts.flatMap(\.instants)).sorted()
        let count = parts.reduce(0) { $0 + $1.count }
        let isWhole = parts.allSatisfy { $0.count == $0.instants.count }
        return MissedElapses(instants: Array(listed.suffix(limit)), count: isWhole ? listed.count : count)
    }

    // MARK: The grid

    /// The slots behind `base` up to `end`, in microseconds since boot (before it, less than 0).
    func newestSlots(after base: Int64, through end: Int64, limit: Int) -> MissedElapses {
        guard let period, base < end else { return MissedElapses() }
        let (first, last) = (Self.floor(base, period) + period, Self.floor(end, period))
        guard first <= last else { return MissedElapses() }
        let count = Int((last - first) / period) + 1
        let listed = min(count, limit)
        return MissedElapses(instants: (0..<listed).map { last - Int64(listed - 1 - $0) * period }, count: count)
    }

    /// The slot at a time or the last one before it.
    static func floor(_ time: Int64, _ period: Int64) -> Int64 {
        let remainder = time % period
        return time - (remainder < 0 ? remainder + period : remainder)
    }
}
