import CLinux
import Glibc

/// The reading of a timer descriptor.
package enum TimerReading: Hashable, Sendable {
    /// How often it elapsed since it was last read or set.
    case elapsed(UInt64)
    /// The wall clock was set (ECANCELED of a timer that was set with `cancelsWhenClockIsSet`). The timer stays armed.
    case clockSet
    /// Nothing yet.
    case pending
}

extension Linux {
    /// `timerfd_create(2)`, non-blocking.
    package static func timerCreate(_ clock: Clock) throws(SystemError) -> FileDescriptor {
        try descriptor("timerfd_create") {
            timerfd_create(clock.id, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        }
    }

    /// `timerfd_settime(2)`: elapse once, at an instant of the timer's clock in µs (at once if it is past), or not at
    /// all (`nil`).
    ///
    /// - Parameter cancelsWhenClockIsSet: only for the realtime clock and an armed timer (TFD_TIMER_CANCEL_ON_SET).
    /// - Returns: whether the clock was set since the timer was last asked, which the kernel tells here, and only once,
    ///   when it happens before this call. The timer is armed all the same.
    @discardableResult
    package static func timerSet(
        _ timer: Int32, at instant: Int64?, cancelsWhenClockIsSet: Bool = false
    ) throws(SystemError) -> Bool {
        // Zero would disarm.
        let microseconds = instant.map { max(1, $0) } ?? 0
        var value = itimerspec()
        value.it_value.tv_sec = Int(microseconds / 1_000_000)
        value.it_value.tv_nsec = Int(microseconds % 1_000_000) * 1000
        var flags = Int32(TFD_TIMER_ABSTIME)
        if cancelsWhenClockIsSet { flags |= Int32(CLINUX_TIMER_CANCEL_ON_SET) }
        do throws(SystemError) {
            try call("timerfd_settime") { timerfd_settime(timer, flags, &value, nil) }
            return false
        } catch let error where error.errno == .canceled {
            return true
        }
    }

    /// `read(2)` of a timer.
    package static func timerRead(_ timer: Int32) throws(SystemError) -> TimerReading {
        var count: UInt64 = 0
        do throws(SystemError) {
            _ = try withUnsafeMutableBytes(of: &count) { buffer throws(SystemError) in try read(timer, into: buffer) }
            return .elapsed(count)
        } catch let error where error.errno == .canceled {
            return .clockSet
        } catch let error where error.errno == .wouldBlock {
            return .pending
        }
    }
}
