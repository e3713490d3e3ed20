import EventSources
import LinuxSystem

/// Gives memory back to the kernel when the start is over, and whenever nothing has gone on for ten seconds: the
/// allocator keeps what it once had, some KiB for each operation that waited, and code that ran once stays mapped.
/// Confined to the core.
final class MemoryRelease {
    /// For how long nothing goes on before (microseconds).
    private static let patience: Int64 = 10_000_000
    /// After the start.
    private static let patienceAfterStart: Int64 = 2_000_000

    private let core: Context
    private let slow: Lanes
    /// When something last went on (µs of the monotonic clock).
    private var lastUse: Int64 = 0
    private var isPlanned = false

    init(core: Context, slow: Lanes) {
        self.core = core
        self.slow = slow
    }

    /// An operation has ended, or a client is answered.
    func isUsed() {
        lastUse = Linux.now(.monotonic)
        plan(after: Self.patience)
    }

    /// The texts of the watch files and all that was made of them on the way are no longer needed.
    func startEnded() { plan(after: Self.patienceAfterStart) }

    private func plan(after delay: Int64) {
        guard !isPlanned else { return }
        isPlanned = true
        let bound = QueueBound(self, to: core)
        core.after(Int(delay)) { bound.value.release() }
    }

    private func release() {
        isPlanned = false
        let rest = lastUse + Self.patience - Linux.now(.monotonic)
        guard lastUse == 0 || rest <= 0 else { return plan(after: rest) }
        slow.submit("giving memory back") {
            Linux.trimMemory()
            Linux.unmapCode()
        }
    }
}
