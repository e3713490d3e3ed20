import Engine
import EventSources
import Handlers
import LinuxSystem
import Store
import Systemd
import WatchFile

/// The state that outlives the daemon: gives the engine's writes to the store, keeps the effects that have to wait for
/// them, and reads the history. Confined to the core.
final class Persistence {
    private let core: Context
    private let reading = Context("watchd.history")
    let folder: [UInt8]
    private let logger: Logger
    private(set) var writer: StoreWriter?
    private let patience: Int
    /// The disk is looked at again when the patience has run out.
    private var isTimed = false
    private var lastSequence: UInt64 = 0
    /// Of the last write that is not only history.
    private var lastUrgent: UInt64 = 0
    private var committed: UInt64 = 0
    /// In the order they came.
    private var waiting: [Waiting] = []
    private var waitingHead = 0
    /// Why nothing can be written, and since when (wall clock, microseconds).
    private(set) var failure: (error: StoreError, since: Int64)?
    /// The store has been open, so that the engine has all that was in it.
    private(set) var hasOpened: Bool
    private let changed: (Change) -> Void
    private let reader: QueueBound<LazyReader>
    private var bound: QueueBound<Persistence> { QueueBound(self, to: core) }

    private struct Waiting {
        var sequence: UInt64
        /// It is done at once when the store fails.
        var goesOnFailing: Bool
        /// `nil`: done.
        var work: (() -> Void)?
    }

    enum Change {
        case working
        case failing(StoreError)
        /// Opened for the first time.
        case opened(StoreContents)
        /// The former content is lost, or may be.
        case replaced(StoreContents)
    }

    /// Opened when it is first asked.
    private final class LazyReader {
        private var reader: HistoryReader?

        func close() { reader = nil }
        func releaseMemory() { reader?.releaseMemory() }

        /// - Parameter isKept: for the next one. Of a store that the writer could not open yet it is not: what SQLite
        ///   has open of a file that nobody may write is shared with the writer's next try.
        func read<Answer>(
            _ folder: [UInt8], isKept: Bool, _ work: (HistoryReader) throws(StoreError) -> Answer
        ) throws(StoreError) -> Answer {
            var isDone = false
            // Perhaps it was removed, or set aside: the next one looks anew.
            defer { if !isDone || !isKept { reader = nil } }
            let open: HistoryReader
            if let reader { open = reader } else { open = try HistoryReader(folder: folder) }
            reader = open
            let answer = try work(open)
            isDone = true
            return answer
        }
    }

    /// - Parameters:
    ///   - store: `nil`: it could not be opened yet, because of `failure`.
    ///   - patience: with a disk that does not answer; then it counts as failing (microseconds).
    ///   - changed: told how the store stands, when that changes.
    init(
        _ store: consuming sending Store?, folder: [UInt8], failure: StoreError?, settings: DaemonSettings,
        core: Context, answers: Answers, logger: Logger, patience: Int = 10_000_000,
        changed: @escaping (Change) -> Void
    ) {
        self.core = core
        self.patience = patience
        self.folder = folder
        self.logger = logger
        self.changed = changed
        hasOpened = failure == nil
        self.failure = failure.map { ($0, Linux.now(.realtime)) }
        reader = QueueBound(LazyReader(), to: reading)
        let bound = QueueBound(self, to: core)
        writer = StoreWriter(store, folder: folder, settings: settings) { [core] outcome, isLast in
            // While more is to be written, that goes on beside what the core makes of this.
            guard isLast else { return core.async { bound.value.take(outcome) } }
            answers.collect(on: core) { bound.value.take(outcome) }
        }
        if failure != nil { writer?.write(.init(sequence: 0), isUrgent: true) }
    }

    // MARK: Writing

    /// The writes of one `handle`: all of them are safe at once, or none is.
    func write(_ writes: [StoreWrite]) {
        guard !writes.isEmpty else { return }
        lastSequence += 1
        let isUrgent = writes.contains(where: \.isUrgent)
        if isUrgent { lastUrgent = lastSequence }
        let batch = StoreWriter.Batch(
            sequence: lastSequence, mayBeDropped: writes.allSatisfy(\.isHistory), writes: writes)
        writer?.write(batch, isUrgent: isUrgent)
        if isUrgent { time() }
    }

    /// A disk that hangs fails no more than it answers.
    private func time() {
        guard !isTimed else { return }
        isTimed = true
        let sequence = lastUrgent
        core.after(patience) { [bound] in bound.value.timeIsUp(sequence) }
    }

    private func timeIsUp(_ sequence: UInt64) {
        isTimed = false
        guard committed < lastUrgent else { return }
        if committed < sequence, failure == nil {
            writer?.isSilent()
            take(.failed(.silent(path: folder)))
        }
        time()
    }

    /// Does it when all that must not be lost is safe, in the order of the calls. History is not waited for.
    ///
    /// - Parameter orFailing: it does not wait for a store that fails.
    func whenSafe(orFailing goesOnFailing: Bool = false, _ work: @escaping () -> Void) {
        if committed >= lastUrgent, waitingHead == waiting.count { return work() }
        if goesOnFailing, failure != nil { return work() }
        waiting.append(Waiting(sequence: lastUrgent, goesOnFailing: goesOnFailing, work: work))
    }

    /// Does it when everything is written, history too, which is written at once for it.
    ///
    /// - Parameter orFailing: as in `whenSafe`.
    func whenWritten(orFailing goesOnFailing: Bool = false, _ work: @escaping () -> Void) {
        if committed < lastSequence {
            lastSequence += 1
            lastUrgent = lastSequence
            writer?.write(.init(sequence: lastSequence), isUrgent: true)
        }
        whenSafe(orFailing: goesOnFailing, work)
    }

    /// Bytes of the history; `nil`: they are not counted yet.
    var historyBytes: Int? { writer?.historyBytes }

    func apply(_ settings: DaemonSettings) { writer?.apply(settings) }

    /// Gives back what the store's pages in memory take; then `done`, on any thread.
    func releaseMemory(_ done: @escaping @Sendable () -> Void) {
        reading.async { [reader] in reader.value.releaseMemory() }
        writer?.releaseMemory(done)
    }

    /// Changes that are not in the store yet.
    var unstored: Unstored { writer.map { Unstored($0.unsaved(\.writes)) } ?? Unstored([]) }

    /// Writes what waits, as far as that is possible, and then calls `done` on the core with what could not be written.
    func close(_ done: @escaping (Unstored) -> Void) {
        guard let writer else { return }
        var isClosing = false
        let close = QueueBound(
            { [core] in
                if isClosing { return }
                isClosing = true
                let done = QueueBound(done, to: core)
                writer.close { unstored in core.async { done.value(unstored) } }
            }, to: core)
        // SQLite takes the log into the file when the last one closes, who has to be the writer.
        reading.async { [reader, core] in
            reader.value.close()
            core.async { close.value() }
        }
        core.after(Self.readersPatience) { close.value() }
    }

    /// For a read that is on its way when everything is closed (microseconds).
    private static let readersPatience = 2_000_000

    private func take(_ outcome: StoreWriter.Outcome) {
        switch outcome {
        case .committed(let sequence, let lost):
            committed = max(committed, sequence)
            if lost > 0 { logger.log(.warning, "\(lost) records of the history were not kept meanwhile") }
            if let failure {
                self.failure = nil
                logger.log(.notice, "the store works again, after: \(failure.error)", id: .storeWorking)
                changed(.working)
            }
            goOn()
        case .failed(let error):
            if failure?.error != error {
                logger.log(.err, "\(error); durable queues wait, the rest goes on; trying again", id: .storeFailing)
                failure = (error, failure?.since ?? Linux.now(.realtime))
                changed(.failing(error))
            }
            goOnWithoutStore()
        case .opened(let contents):
            let isFirst = !hasOpened
            hasOpened = true
            changed(isFirst ? .opened(contents) : .replaced(contents))
        }
    }

    private func goOn() {
        while waitingHead < waiting.count, waiting[waitingHead].sequence <= committed {
            waitingHead += 1
            waiting[waitingHead - 1].work?()
        }
        if waitingHead == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.count <= 64)
            waitingHead = 0
        } else if waitingHead > 1024, waitingHead * 2 > waiting.count {
            waiting.removeFirst(waitingHead)
            waitingHead = 0
        }
    }

    private func goOnWithoutStore() {
        for index in waiting.indices.dropFirst(waitingHead) where waiting[index].goesOnFailing {
            let work = waiting[index].work
            waiting[index].work = nil
            work?()
        }
    }

    // MARK: After an unclean end

    /// Looks through the whole file beside everything else; one that is damaged is set aside.
    func check() {
        let (folder, bound, core) = (folder, bound, core)
        Context("watchd.check").async {
            let damage = Self.damage(folder)
            core.async { bound.value.checked(damage) }
        }
    }

    /// A file that cannot be opened is the writer's business.
    private static func damage(_ folder: [UInt8]) -> String? {
        do throws(StoreError) {
            return try HistoryReader(folder: folder).check()
        } catch {
            return nil
        }
    }

    private func checked(_ damage: String?) {
        guard let damage else { return logger.log(.debug, "the store was checked: nothing is wrong") }
        logger.log(.crit, "the store is damaged and is set aside: \(damage)")
        writer?.reopen()
    }

    // MARK: Reading

    /// Reads beside the core and comes back. Writes that still wait are not seen.
    func read<Answer: Sendable>(
        _ work: @escaping @Sendable (HistoryReader) throws(StoreError) -> Answer,
        then: @escaping (Swift.Result<Answer, StoreError>) -> Void
    ) {
        let then = QueueBound(then, to: core)
        reading.async { [core, folder, reader, bound, hasOpened] in
            let result = Swift.Result { () throws(StoreError) in
                try reader.value.read(folder, isKept: hasOpened, work)
            }
            core.async {
                let persistence = bound.value
                then.value(result.mapError { persistence.failedToRead($0) })
            }
        }
    }

    /// Why that was, in the end.
    private func failedToRead(_ error: StoreError) -> StoreError {
        // It was never made, perhaps: what the writer says is nearer to the truth.
        guard hasOpened else { return failure?.error ?? error }
        if case .damaged = error { writer?.damaged(error) }
        return error
    }
}
