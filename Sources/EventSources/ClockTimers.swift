package import LinuxSystem

/// Three timerfds: the wall clock with cancel-on-set, boot time, monotonic. Dispatch's own timers have neither of the
/// first two. Confined to its context.
package final class ClockTimers {
    /// The wall clock's timer is never idle: an armed one tells when the clock is set.
    private static let farFuture: Int64 = 253_402_300_799_000_000

    private var timers: [Clock: ReadSource] = [:]

    /// Calls `handler` when a clock has come to the time it was armed for, and when the wall clock was set.
    package init(on context: Context, handler: @escaping () -> Void) throws(SystemError) {
        for clock in Clock.allCases {
            let timer = try Linux.timerCreate(clock)
            let descriptor = timer.rawValue
            timers[clock] = ReadSource(timer, on: context) { [unowned self] in
                elapsed(clock, descriptor)
                handler()
            }
        }
        try arm(.realtime, at: Self.farFuture)
    }

    /// Elapse once at this microsecond of the clock, and no more at the one before.
    package func arm(_ clock: Clock, at time: Int64) throws(SystemError) {
        guard let timer = timers[clock] else { return }
        try Linux.timerSet(timer.descriptor, at: time, cancelsWhenClockIsSet: clock == .realtime)
    }

    package func cancel() {
        for timer in timers.values { timer.cancel() }
        timers = [:]
    }

    private func elapsed(_ clock: Clock, _ descriptor: Int32) {
        _ = try? Linux.timerRead(descriptor)
        if clock == .realtime { try? arm(.realtime, at: Self.farFuture) }
    }
}
