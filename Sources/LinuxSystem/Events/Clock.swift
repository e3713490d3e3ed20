import Glibc

/// The three clocks of the design.
package enum Clock: CaseIterable, Sendable {
    /// CLOCK_REALTIME: µs since the epoch; can be set.
    case realtime
    /// CLOCK_BOOTTIME: µs since boot, suspend included.
    case boottime
    /// CLOCK_MONOTONIC: µs since boot, suspend not included.
    case monotonic

    var id: clockid_t {
        switch self {
        case .realtime: CLOCK_REALTIME
        case .boottime: CLOCK_BOOTTIME
        case .monotonic: CLOCK_MONOTONIC
        }
    }
}

extension Linux {
    /// `clock_gettime(2)`, in µs. These clocks always exist.
    package static func now(_ clock: Clock) -> Int64 {
        var time = timespec()
        clock_gettime(clock.id, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// CLOCK_THREAD_CPUTIME_ID: for how long the calling thread has been on a processor, in ns.
    package static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Linux {
    /// Seconds east of UTC at an instant (seconds since the epoch), in the zone of `TZ`, else of `/etc/localtime`
    /// (`localtime_r(3)`).
    package static func utcOffset(at seconds: Int64) -> Int {
        var time = time_t(seconds)
        var parts = tm()
        return localtime_r(&time, &parts) == nil ? 0 : parts.tm_gmtoff
    }

    /// From now on `utcOffset` goes by what `/etc/localtime` is by now, which it else reads once only (`tzset(3)`).
    package static func readLocalZone() { tzset() }
}
