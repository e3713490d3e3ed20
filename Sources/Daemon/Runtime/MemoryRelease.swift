import EventSources
import LinuxSystem

/// Gives memory back to the kernel when the start or a burst is over: the allocator keeps what it once had, some KiB for
/// each operation that waited. Confined to the core.
final class MemoryRelease {
    /// Ended operations from which on it is worth it.
    private static let burst = 1000
    /// How long nothing must be going on (microseconds).
    private static let patience = 10_000_000
    /// After the start.
    private static let patienceAfterStart = 4_000_000

    private let core: Context
    private let slow: Lanes
    private let isQuiet: () -> Bool
    private var ended = 0
    private var isPlanned = false

    /// - Parameter isQuiet: whether nothing waits and nothing runs.
    init(core: Context, slow: Lanes, isQuiet: @escaping () -> Bool) {
        self.core = core
        self.slow = slow
        self.isQuiet = isQuiet
    }

    func operationEnded() {
        ended += 1
        guard ended >= Self.burst, isQuiet() else { return }
        plan(after: Self.patience)
    }

    /// The texts of the watch files and all that was made of them on the way are no longer needed.
    func startEnded() { plan(after: Self.patienceAfterStart) }

    private func plan(after patience: Int) {
        guard !isPlanned else { return }
        isPlanned = true
        let bound = QueueBound(self, to: core)
        core.after(patience) { bound.value.release() }
    }

    private func release() {
        isPlanned = false
        guard isQuiet() else { return }
        ended = 0
        slow.submit("giving memory back") { Linux.trimMemory() }
    }
}
