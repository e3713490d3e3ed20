import EventSources
import LinuxSystem

/// Gives memory back to the kernel when the start is over, and whenever nothing has gone on for ten seconds, or always
/// something for a minute: the allocator keeps what it once had, some KiB for each operation that waited, and code that
/// ran once stays mapped. Confined to the core.
final class MemoryRelease {
    /// For how long nothing goes on before (microseconds).
    private static let patience: Int64 = 10_000_000
    /// After the start.
    private static let patienceAfterStart = 2_000_000
    /// The longest that free memory is kept where something always goes on (microseconds).
    private static let longestWait: Int64 = 60_000_000

    private let core: Context
    private let slow: Lanes
    private let store: () -> Persistence?
    /// When something last went on (µs of the monotonic clock).
    private var lastUse: Int64 = 0
    private var isPlanned = false
    /// Since when something has gone on and memory has not been given back (the same clock).
    private var keptSince: Int64?
    private var bound: QueueBound<MemoryRelease> { QueueBound(self, to: core) }

    init(core: Context, slow: Lanes, store: @escaping () -> Persistence?) {
        (self.core, self.slow, self.store) = (core, slow, store)
    }

    /// An operation has ended, or a client is answered.
    func isUsed() {
        lastUse = Linux.now(.monotonic)
        keptSince = keptSince ?? lastUse
        plan(after: Self.patience)
    }

    /// The texts of the watch files and all that was made of them on the way are no longer needed.
    func startEnded() { core.after(Self.patienceAfterStart) { [bound] in bound.value.release(isQuiet: true) } }

    private func plan(after delay: Int64) {
        guard !isPlanned else { return }
        isPlanned = true
        core.after(Int(delay)) { [bound] in bound.value.look() }
    }

    private func look() {
        isPlanned = false
        let now = Linux.now(.monotonic)
        let isQuiet = lastUse + Self.patience <= now
        if isQuiet || keptSince.map({ $0 + Self.longestWait <= now }) == true {
            release(isQuiet: isQuiet)
        } else {
            plan(after: lastUse + Self.patience - now)
        }
    }

    /// - Parameter isQuiet: else the code is about to run again.
    private func release(isQuiet: Bool) {
        keptSince = nil
        guard let store = store() else { return releaseFree(isQuiet) }
        // Not beside a transaction; while the store hangs, nothing is given back.
        store.releaseMemory { [core, bound] in core.async { bound.value.releaseFree(isQuiet) } }
    }

    private func releaseFree(_ isQuiet: Bool) {
        slow.submit("giving memory back") {
            Linux.trimMemory()
            if isQuiet { Linux.unmapCode() }
        }
    }
}
