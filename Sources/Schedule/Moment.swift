/// The three clocks read together: what "now" means to the engine.
///
/// All in microseconds. Spans are measured on one clock only; the three drift apart when the wall clock is set or the
/// machine sleeps (`clock_gettime(2)`).
package struct Moment: Hashable, Sendable {
    /// CLOCK_REALTIME: since the epoch.
    package var realtime: Int64
    /// CLOCK_BOOTTIME: since boot, sleep included.
    package var boottime: Int64
    /// CLOCK_MONOTONIC: since boot, sleep not included.
    package var monotonic: Int64

    package init(realtime: Int64, boottime: Int64, monotonic: Int64) {
        self.realtime = realtime
        self.boottime = boottime
        self.monotonic = monotonic
    }
}
