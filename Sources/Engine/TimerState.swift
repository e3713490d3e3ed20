import Schedule
import WatchFile

/// When a timer source fires next. Times are microseconds of the clock named.
struct TimerState: Sendable {
    /// An elapse that has come: how many slots, and the boot-time microsecond of the last one.
    struct Elapse: Equatable {
        var count: Int
        var scheduled: Int64
    }

    /// `EverySec=`: the next slot of a grid anchored at boot, so that neither restart nor reload moves it.
    private var every: Int64?
    private var period: Int64 = 0
    private var onStartup: Int64?
    private var onBoot: Int64?
    /// `AfterSec=`, on the monotonic clock; `nil`: its operations have not ended.
    private(set) var after: Int64?
    private var delay: Int64?

    /// What is past at `now` is missed (`CatchUp=none`), and fires no more.
    mutating func open(_ trigger: TimerTrigger, startedAt: Int64, now: Moment) {
        if let span = Self.microseconds(trigger.every) {
            period = span
            every = (now.boottime / span + 1) * span
        }
        onStartup = Self.microseconds(trigger.onStartup).map { startedAt + $0 }.flatMap {
            $0 >= now.boottime ? $0 : nil
        }
        onBoot = Self.microseconds(trigger.onBoot).flatMap { $0 >= now.boottime ? $0 : nil }
        delay = Self.microseconds(trigger.after)
        after = delay.map { now.monotonic + $0 }
    }

    /// The next one on the boot clock.
    var next: Int64? { [every, onStartup, onBoot].compactMap { $0 }.min() }

    mutating func elapse(now: Moment) -> Elapse? {
        var elapse: Elapse?
        func add(_ count: Int64, _ scheduled: Int64) {
            elapse = Elapse(
                count: (elapse?.count ?? 0) + Int(count), scheduled: max(elapse?.scheduled ?? scheduled, scheduled))
        }
        if let slot = every, slot <= now.boottime {
            let count = (now.boottime - slot) / period + 1
            every = slot + count * period
            add(count, slot + (count - 1) * period)
        }
        if let time = onStartup, time <= now.boottime {
            onStartup = nil
            add(1, time)
        }
        if let time = onBoot, time <= now.boottime {
            onBoot = nil
            add(1, time)
        }
        if let time = after, time <= now.monotonic {
            after = nil
            add(1, now.boottime - (now.monotonic - time))
        }
        return elapse
    }

    /// The store is told of its elapses: below ten seconds there would be no end of it.
    var isStamped: Bool { (delay ?? period) >= 10_000_000 || (delay == nil && period == 0) }

    /// Goes on with `AfterSec=` where it was: with that many microseconds left. Returns the new time, if there is one.
    mutating func resume(left: Int64, now: Moment) -> Int64? {
        guard after != nil, let delay else { return nil }
        after = now.monotonic + min(max(0, left), delay)
        return after
    }

    /// `AfterSec=` waits for operations to end.
    mutating func stopDelay() { after = nil }

    /// Its operations have ended: the fixed delay begins anew. Returns the new time, if there is one.
    mutating func restart(now: Moment) -> Int64? {
        guard after == nil, let delay else { return nil }
        after = now.monotonic + delay
        return after
    }

    /// The span in microseconds; `nil` for none at all and one that lies beyond all clocks.
    private static func microseconds(_ span: TimeSpan?) -> Int64? {
        guard let span, span > .zero, span.microseconds < UInt64(Int64.max / 4) else { return nil }
        return Int64(span.microseconds)
    }
}
