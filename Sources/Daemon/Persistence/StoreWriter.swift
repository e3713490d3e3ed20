import EventSources
import LinuxSystem
import Schedule
import Store
import Synchronization
import WatchFile

/// Writes to the store on a context of its own, in the order it is told, as much in one transaction as has come
/// together while the one before was on its way (group commit). What fails is kept and tried again.
///
/// What nobody waits for (`isUrgent` false) is written at most a second later, with whatever else there is.
final class StoreWriter: Sendable {
    /// The changes of one transaction, or a part of it.
    struct Batch: Sendable {
        var sequence: UInt64
        /// Made here, off the core.
        var changes: @Sendable () -> [StoreChange]
    }

    /// What became of a transaction.
    enum Outcome: Sendable {
        /// Everything up to this sequence is safe.
        case committed(UInt64)
        case failed(StoreError)
        /// It was opened, perhaps anew: what stands in it.
        case opened(StoreContents)
    }

    /// Transactions of more parts are split.
    private static let batchesPerCommit = 4096
    /// Parts that nobody waits for which are kept while nothing can be written.
    static let lazyLimit = 10_000
    private static let laziness = 1_000_000
    private static let firstRetry = 1_000_000
    private static let longestRetry = 60_000_000

    private struct State {
        var waiting: [Batch] = []
        var isRunning = false
        var isPlanned = false
        var isClosed = false
    }

    let context = Context("watchd.store")
    private let folder: [UInt8]
    private let state = Mutex(State())
    private let tell: @Sendable (Outcome) -> Void
    private let confined: QueueBound<Confined>

    /// What only the context touches.
    private final class Confined {
        var store: Store?
        var durability: Store.Durability
        var limits: HistoryLimits
        var retry = firstRetry
        var commits = 0

        init(_ store: Store?, _ durability: Store.Durability, _ limits: HistoryLimits) {
            self.store = store
            self.durability = durability
            self.limits = limits
        }
    }

    /// - Parameters:
    ///   - store: `nil`: it could not be opened, and is tried again.
    ///   - tell: called on the writer's context.
    init(
        _ store: consuming sending Store?, folder: [UInt8], settings: DaemonSettings,
        tell: @escaping @Sendable (Outcome) -> Void
    ) {
        self.folder = folder
        self.tell = tell
        let (durability, limits) = Self.terms(settings)
        confined = QueueBound(Confined(store, durability, limits), to: context)
    }

    private static func terms(_ settings: DaemonSettings) -> (Store.Durability, HistoryLimits) {
        let age = Int64(clamping: settings.keepHistorySpan.microseconds)
        return (settings.sync == .full ? .power : .crash, HistoryLimits(records: settings.keepHistory, age: age))
    }

    /// After a reload.
    func apply(_ settings: DaemonSettings) {
        let (durability, limits) = Self.terms(settings)
        context.async { [confined] in
            (confined.value.durability, confined.value.limits) = (durability, limits)
            confined.value.store?.set(durability)
        }
    }

    /// Returns how many parts wait.
    @discardableResult
    func write(_ batch: Batch, isUrgent: Bool) -> Int {
        let (mustStart, mustPlan, count) = state.withLock { state in
            state.waiting.append(batch)
            let isDue = isUrgent || state.waiting.count >= Self.lazyLimit
            let mustStart = isDue && !state.isRunning
            if mustStart { state.isRunning = true }
            let mustPlan = !isDue && !state.isRunning && !state.isPlanned
            if mustPlan { state.isPlanned = true }
            return (mustStart, mustPlan, state.waiting.count)
        }
        if mustStart { context.async { [self] in run() } }
        if mustPlan { context.after(Self.laziness) { [self] in startPlanned() } }
        return count
    }

    private func startPlanned() {
        let mustStart = state.withLock { state in
            state.isPlanned = false
            guard !state.isRunning, !state.waiting.isEmpty else { return false }
            state.isRunning = true
            return true
        }
        if mustStart { run() }
    }

    /// Writes until nothing waits or something fails.
    private func run() {
        while true {
            let batches = state.withLock { state in
                let taken = Array(state.waiting.prefix(Self.batchesPerCommit))
                if taken.isEmpty { state.isRunning = false }
                return taken
            }
            guard let last = batches.last else { return }
            do throws(StoreError) {
                let store = try openStore()
                try store.commit(batches.flatMap { $0.changes() })
            } catch {
                return failed(error)
            }
            confined.value.retry = Self.firstRetry
            state.withLock { $0.waiting.removeFirst(batches.count) }
            tell(.committed(last.sequence))
            trim()
        }
    }

    private func openStore() throws(StoreError) -> Store {
        if let store = confined.value.store { return store }
        let store = try Store(folder: folder, durability: confined.value.durability)
        confined.value.store = store
        tell(.opened(store.takeContents()))
        return store
    }

    private func failed(_ error: StoreError) {
        // What was removed or damaged is opened anew.
        switch error {
        case .gone, .damaged: confined.value.store = nil
        default: break
        }
        tell(.failed(error))
        let delay = confined.value.retry
        confined.value.retry = min(2 * delay, Self.longestRetry)
        context.after(delay) { [self] in run() }
    }

    private func trim() {
        confined.value.commits += 1
        guard confined.value.commits % 16 == 0, let store = confined.value.store else { return }
        _ = try? store.trim(confined.value.limits)
    }

    /// Writes what waits, if it can, and closes; then `done`, on the context.
    func close(_ done: @escaping @Sendable () -> Void) {
        state.withLock { $0.isRunning = true }
        context.async { [self] in
            run()
            confined.value.store?.close()
            confined.value.store = nil
            done()
        }
    }
}
