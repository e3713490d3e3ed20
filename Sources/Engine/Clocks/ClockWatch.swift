import Schedule

/// Notices by comparing the three clocks that the machine has slept or that the wall clock was set.
struct ClockWatch: Sendable {
    /// The jump of each clock since the input before.
    struct Lapse: Equatable, Sendable {
        /// Elapses that were due before this microsecond of the wall clock were missed, if they have not fired.
        var realtime = Int64.min
        /// The same on the boot clock.
        var boottime = Int64.min
        /// The wall clock was set, forward or back.
        var isSet = false
        /// It was set for the first time since boot.
        var isSetFirst = false
        /// Wall clock minus boot clock, in microseconds.
        var toWall: Int64 = 0
    }

    /// An elapse that is late by less was not slept or jumped over: who wakes needs his time.
    static let grace: Int64 = 1_000_000
    /// Set back by less than this, an instant that fired does not fire again.
    static let longestStepBack: Int64 = 3 * 3_600_000_000
    /// 2020-01-01: a wall clock that shows less has not been set since boot, as on a machine without a battery.
    static let earliest: Int64 = 1_577_836_800_000_000

    /// The clocks are read one after the other, so that their distance wavers; only its being set changes it.
    static let readingError: Int64 = 1000

    private var last: Moment
    private(set) var toWall: Int64
    /// Their distance at the last reading.
    private var lastToWall: Int64

    init(_ now: Moment) {
        last = now
        toWall = now.realtime - now.boottime
        lastToWall = toWall
    }

    mutating func look(_ now: Moment) -> Lapse {
        let passed = now.boottime - last.boottime
        let slept = passed - (now.monotonic - last.monotonic)
        let jumped = now.realtime - last.realtime - passed
        // The kernel slews the wall clock by at most 500 ppm (adjtimex(2)), for however long nothing happens.
        let slack = Self.grace + max(0, passed) / 1000
        var lapse = Lapse()
        if slept >= Self.grace {
            lapse.boottime = now.boottime - Self.grace
            lapse.realtime = now.realtime - Self.grace
        }
        if jumped > slack { lapse.realtime = now.realtime - Self.grace }
        lapse.isSet = abs(jumped) > slack
        lapse.isSetFirst = last.realtime < Self.earliest && now.realtime >= Self.earliest
        last = now
        lookAtDistance(now.realtime - now.boottime, isSet: lapse.isSet)
        lapse.toWall = toWall
        return lapse
    }

    /// A thread that loses the processor between two readings sees another distance, but not twice the same.
    private mutating func lookAtDistance(_ distance: Int64, isSet: Bool) {
        if abs(distance - toWall) > Self.readingError, isSet || abs(distance - lastToWall) <= Self.readingError {
            toWall = distance
        }
        lastToWall = distance
    }
}
