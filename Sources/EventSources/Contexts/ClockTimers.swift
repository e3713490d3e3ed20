package import LinuxSystem

/// Three timerfds: the wall clock with cancel-on-set, boot time, monotonic. Dispatch's own timers have neither of the
/// first two. Confined to its context.
package final class ClockTimers {
    /// The wall clock's timer is never idle: an armed one tells when the clock is set.
    private static let farFuture: Int64 = 253_402_300_799_000_000

    /// Sets a timer, and returns whether the clock was set before that, as `Linux.timerSet` does.
    typealias Setting = (_ timer: Int32, _ time: Int64, _ cancelsWhenClockIsSet: Bool) throws(SystemError) -> Bool

    private let context: Context
    private let set: Setting
    private let handler: () -> Void
    private var timers: [Clock: ReadSource] = [:]
    private var bound: QueueBound<ClockTimers> { QueueBound(self, to: context) }

    /// Calls `handler` when a clock has come to the time it was armed for, and when the wall clock was set.
    package convenience init(on context: Context, handler: @escaping () -> Void) throws(SystemError) {
        try self.init(
            on: context,
            set: { timer, time, cancels throws(SystemError) in
                try Linux.timerSet(timer, at: time, cancelsWhenClockIsSet: cancels)
            }, handler: handler)
    }

    init(on context: Context, set: @escaping Setting, handler: @escaping () -> Void) throws(SystemError) {
        self.context = context
        self.set = set
        self.handler = handler
        for clock in Clock.allCases {
            let timer = try Linux.timerCreate(clock)
            let descriptor = timer.rawValue
            timers[clock] = ReadSource(timer, on: context) { [weak self] in
                self?.elapsed(clock, descriptor)
                handler()
            }
        }
        try arm(.realtime, at: Self.farFuture)
    }

    /// Elapse once at this microsecond of the clock, and no more at the one before.
    package func arm(_ clock: Clock, at time: Int64) throws(SystemError) {
        guard let timer = timers[clock] else { return }
        // The caller that set the timer's time may have looked at the clock before, and this is told only once.
        if try set(timer.descriptor, time, clock == .realtime) { context.async { [bound] in bound.value.tell() } }
    }

    private func tell() { if !timers.isEmpty { handler() } }

    package func cancel() {
        for timer in timers.values { timer.cancel() }
        timers = [:]
    }

    private func elapsed(_ clock: Clock, _ descriptor: Int32) {
        _ = try? Linux.timerRead(descriptor)
        if clock == .realtime { try? arm(.realtime, at: Self.farFuture) }
    }
}
