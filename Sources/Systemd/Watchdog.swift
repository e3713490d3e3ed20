import CSystemd
package import LinuxSystem

package enum Watchdog {
    /// `sd_watchdog_enabled(3)`: the µs within which the manager wants to hear `Notification.watchdog`, time after
    /// time; `nil` when it does not watch this process. It counts the monotonic clock, from READY on.
    ///
    /// - Throws: EINVAL or ERANGE for a `$WATCHDOG_USEC` or `$WATCHDOG_PID` that makes no sense.
    package static func interval() throws(SystemError) -> Int64? {
        var microseconds: UInt64 = 0
        let result = sd_watchdog_enabled(0, &microseconds)
        if result < 0 { throw SystemError(call: "sd_watchdog_enabled", errno: Errno(-result)) }
        return result == 0 ? nil : Int64(clamping: microseconds)
    }
}
