import Engine
import EventSources
import LinuxSystem
import Schedule
import Store
import Synchronization
import WatchFile

/// Writes to the store on a context of its own, in the order it is told, as much in one transaction as has come
/// together while the one before was on its way (group commit). Failed transactions are kept and tried again.
///
/// Changes that nobody waits for (`isUrgent` false) are written at most a second later, with whatever else there is.
final class StoreWriter: Sendable {
    /// The changes of one transaction, or a part of it.
    struct Batch: Sendable {
        var sequence: UInt64
        /// Only history: it is given up where nothing can be written for long.
        var mayBeDropped = false
        var writes: [StoreWrite] = []

        /// Made off the core.
        var changes: [StoreChange] { writes.flatMap(\.changes) }
        /// About so many does it hold in memory.
        var bytes: Int { writes.reduce(0) { $0 + $1.bytes } }

        /// The changes, made one after the other.
        func makeChanges(_ body: (StoreChange) throws(StoreError) -> Void) throws(StoreError) {
            for write in writes {
                for change in write.changes { try body(change) }
            }
        }
    }

    /// The outcome of a transaction.
    enum Outcome: Sendable {
        /// Everything up to this sequence is safe, but for records of the history that there was no room for meanwhile.
        case committed(UInt64, lost: Int)
        case failed(StoreError)
        /// It was opened, perhaps anew: what stands in it.
        case opened(StoreContents)
    }

    /// Transactions of more parts are split.
    private static let batchesPerCommit = 4096
    /// As are those of more bytes.
    private static let bytesPerCommit = 4 << 20
    /// As many parts, or bytes, are written at once, whether anybody waits for them or not.
    private static let lazyLimit = 10_000
    private static let lazyBytes = 4 << 20
    /// Parts that nobody waits for (records of the history) kept while nothing can be written.
    private static let lazyLimitWhileFailing = 500
    private static let laziness = 1_000_000
    /// Microseconds.
    private static let trimPause = 50_000
    private static let firstRetry = 1_000_000
    private static let longestRetry = 5_000_000

    private struct State {
        var waiting: [Batch] = []
        /// Of those that came since something was written last.
        var waitingBytes = 0
        /// Of the history.
        var historyBytes: Int?
        var isRunning = false
        var isPlanned = false
        var isFailing = false
        /// Nothing is taken in any more.
        var isClosed = false
        /// Parts that nobody waits for and that came while nothing could be written.
        var lazyCount = 0
        /// Of those, parts that were given up.
        var lost = 0

        mutating func append(_ batch: Batch) {
            guard isFailing, batch.mayBeDropped else {
                waitingBytes += batch.bytes
                return waiting.append(batch)
            }
            lazyCount += 1
            guard lazyCount > StoreWriter.lazyLimitWhileFailing else { return waiting.append(batch) }
            lost += 1
            // An effect that waits for this sequence waits for all before it.
            if waiting.isEmpty {
                waiting.append(Batch(sequence: batch.sequence))
            } else {
                waiting[waiting.count - 1].sequence = batch.sequence
            }
        }
    }

    let context = Context("watchd.store")
    private let folder: [UInt8]
    private let state = Mutex(State())
    private let tell: @Sendable (Outcome, _ isLast: Bool) -> Void
    private let confined: QueueBound<Confined>

    /// State that only the context touches.
    private final class Confined {
        var store: Store?
        var durability: Store.Durability
        var limits: HistoryLimits
        var retry = firstRetry
        var commits = 0
        /// The history is not counted yet, or more has to go.
        var isTrimDue = true
        var isTrimPlanned = false
        var isClosed = false

        init(_ store: Store?, _ durability: Store.Durability, _ limits: HistoryLimits) {
            self.store = store
            self.durability = durability
            self.limits = limits
        }
    }

    /// - Parameters:
    ///   - store: `nil`: it could not be opened, and is tried again.
    ///   - tell: called on the writer's context; `isLast`: nothing waits to be written now.
    init(
        _ store: consuming sending Store?, folder: [UInt8], settings: DaemonSettings,
        tell: @escaping @Sendable (Outcome, _ isLast: Bool) -> Void
    ) {
        self.folder = folder
        self.tell = tell
        let (durability, limits) = Self.terms(settings)
        confined = QueueBound(Confined(store, durability, limits), to: context)
    }

    private static func terms(_ settings: DaemonSettings) -> (Store.Durability, HistoryLimits) {
        let age = Int64(clamping: settings.keepHistorySpan.microseconds)
        return (
            settings.sync == .full ? .power : .crash,
            HistoryLimits(records: settings.keepHistory, age: age, bytes: settings.keepHistoryBytes)
        )
    }

    /// After a reload.
    func apply(_ settings: DaemonSettings) {
        let (durability, limits) = Self.terms(settings)
        context.async { [confined] in
            (confined.value.durability, confined.value.limits) = (durability, limits)
            confined.value.store?.set(durability)
        }
    }

    /// Gives back what the store's pages in memory take; then `done`, on the context.
    func releaseMemory(_ done: @escaping @Sendable () -> Void) {
        context.async { [confined] in
            confined.value.store?.releaseMemory()
            done()
        }
    }

    func write(_ batch: Batch, isUrgent: Bool) {
        let (mustStart, mustPlan) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.append(batch)
            let isDue = isUrgent || state.waiting.count >= Self.lazyLimit || state.waitingBytes >= Self.lazyBytes
            let mustStart = isDue && !state.isRunning
            if mustStart { state.isRunning = true }
            let mustPlan = !isDue && !state.isRunning && !state.isPlanned
            if mustPlan { state.isPlanned = true }
            return (mustStart, mustPlan)
        }
        if mustStart { context.async { [self] in run() } }
        if mustPlan { context.after(Self.laziness) { [self] in startPlanned() } }
    }

    /// A write does not come back: until it does, no more is kept than while writes fail.
    func isSilent() { state.withLock { $0.isFailing = true } }

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
        while !confined.value.isClosed {
            let batches = state.withLock { state in
                state.waitingBytes = 0
                if state.waiting.isEmpty { state.isRunning = false }
                return Self.next(state.waiting)
            }
            guard !batches.isEmpty else { return trimLater() }
            do throws(StoreError) {
                let store = try openStore()
                if confined.value.limits.records == 0 {
                    try store.commit(batches.flatMap(\.changes), keeping: confined.value.limits)
                } else {
                    try store.commit { write throws(StoreError) in
                        for batch in batches { try batch.makeChanges(write) }
                    }
                }
            } catch {
                return failed(error)
            }
            confined.value.retry = Self.firstRetry
            let (outcome, isLast) = committed(batches.count)
            tell(outcome, isLast)
            if let damage = trim() { return failed(damage) }
        }
    }

    /// Those of the next transaction: at least one.
    private static func next(_ waiting: [Batch]) -> [Batch] {
        var bytes = 0
        return Array(
            waiting.prefix(batchesPerCommit).prefix { batch in
                defer { bytes += batch.bytes }
                return bytes < bytesPerCommit
            })
    }

    /// Bytes of the history; `nil`: they are not counted yet.
    var historyBytes: Int? { state.withLock { $0.historyBytes } }

    /// The finds in all parts that are not written yet, in their order.
    func unsaved<Found>(_ find: (Batch) -> [Found]) -> [Found] { state.withLock { $0.waiting }.flatMap(find) }

    /// Some part that is not written yet is one of these.
    func isUnsaved(_ isWanted: (Batch) -> Bool) -> Bool { state.withLock { $0.waiting }.contains(where: isWanted) }

    private func committed(_ count: Int) -> (Outcome, isLast: Bool) {
        state.withLock { state in
            // Changes given up meanwhile have raised it.
            let outcome = Outcome.committed(state.waiting[count - 1].sequence, lost: state.lost)
            state.waiting.removeFirst(count)
            (state.isFailing, state.lazyCount, state.lost) = (false, 0, 0)
            return (outcome, state.waiting.isEmpty)
        }
    }

    private func openStore() throws(StoreError) -> Store {
        if let store = confined.value.store { return store }
        let store = try Store(folder: folder, durability: confined.value.durability)
        confined.value.store = store
        tell(.opened(store.takeContents()), false)
        return store
    }

    private func failed(_ error: StoreError) {
        // A removed or damaged file is opened anew.
        switch error {
        case .gone, .damaged: confined.value.store = nil
        default: break
        }
        state.withLock { state in
            state.isFailing = true
            // It heals without anything to be written, too.
            if state.waiting.isEmpty { state.waiting.append(Batch(sequence: 0)) }
        }
        tell(.failed(error), false)
        let delay = confined.value.retry
        confined.value.retry = min(2 * delay, Self.longestRetry)
        context.after(delay) { [self] in run() }
    }

    /// Goes on trimming the history while nothing is written, a slice at a time.
    private func trimLater() {
        guard confined.value.isTrimDue, !confined.value.isTrimPlanned else { return }
        confined.value.isTrimPlanned = true
        context.after(Self.trimPause) { [self] in
            confined.value.isTrimPlanned = false
            // Else what is written next goes on with it.
            guard !confined.value.isClosed, !state.withLock({ $0.isRunning }) else { return }
            if let damage = trim() { return failed(damage) }
            trimLater()
        }
    }

    /// Returns what turned out to be wrong with the file, if it was looked at.
    private func trim() -> StoreError? {
        confined.value.commits += 1
        guard let store = confined.value.store else { return nil }
        let isTooLarge = store.historyBytes.map { $0 > confined.value.limits.bytes } ?? true
        guard isTooLarge || confined.value.isTrimDue || confined.value.commits % 16 == 0 else { return nil }
        defer {
            let bytes = store.historyBytes
            state.withLock { $0.historyBytes = bytes }
        }
        confined.value.isTrimDue = false
        do throws(StoreError) {
            confined.value.isTrimDue = try store.trim(confined.value.limits)
        } catch {
            if case .damaged = error { return error }
        }
        return nil
    }

    /// Somebody has found damage while he read it: it is set aside, and opened anew.
    func damaged(_ error: StoreError) {
        context.async { [self] in
            // Else it is being opened.
            if confined.value.store != nil { failed(error) }
        }
    }

    /// A damaged file is set aside, and opened anew.
    func reopen() {
        context.async { [self] in
            confined.value.store = nil
            do throws(StoreError) { _ = try openStore() } catch { return failed(error) }
            run()
        }
    }

    /// Writes what waits, if it can, and closes; then `done`, on the context, with what could not be written.
    func close(_ done: @escaping @Sendable (Unstored) -> Void) {
        state.withLock { $0.isRunning = true }
        context.async { [self] in
            run()
            let left = state.withLock { state in
                state.isClosed = true
                return state.waiting
            }
            confined.value.isClosed = true
            confined.value.store?.close()
            confined.value.store = nil
            done(Unstored(left.flatMap(\.writes)))
        }
    }
}
