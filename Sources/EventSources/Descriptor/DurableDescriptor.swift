import Engine
import LinuxSystem

/// A descriptor in the epoll set whose contents are looked at, told, and consumed only when what was told is safely
/// stored: whatever happens in between, they are still there. Confined to its context.
///
/// One batch at a time: the next look would show what is not yet consumed once more. A told item is never told again;
/// while the source is held, and when it is closed, exactly the told items are consumed. It is watched for changes
/// (EPOLLET), since what stays in it stays readable.
final class DurableDescriptor<Item>: DescriptorReader {
    /// Items told in one turn, so that other sources of the context get theirs.
    private static var itemsPerTurn: Int { 1000 }
    private static var batchesPerTurn: Int { 64 }

    /// The items that one look showed.
    struct Batch {
        /// In order, each with what is to be consumed when it has been told.
        var items: [(item: Item, size: Int)] = []
        /// The last writer has gone, after these.
        var isEnd = false
        /// Their bytes, from the first byte of the first item on: each has `size` of them.
        var bytes: [UInt8] = []
        /// `bytes` are one whole, which is consumed with the last item.
        var isWhole = false
        /// Bytes of no item stay in the descriptor.
        var hasRest = false

        var isEmpty: Bool { items.isEmpty && !isEnd }
    }

    private let context: Context
    private let epoll: EpollSet
    private let whenSafe: (@escaping () -> Void) -> Void
    private let look: (Int32) throws(SystemError) -> Batch
    private let consume: (Int32, Int) throws(SystemError) -> Void
    private let tell: (Item, _ isRepeated: Bool) -> Void
    private let ended: () -> Void
    private let failed: (SystemError) -> Void
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private var batch = Batch()
    private var told = 0
    private var consumed = 0
    /// `nil`: nobody finds the descriptor again.
    private let untaken: UntakenBytes?
    /// It may be one of the daemon before, and nothing was told of it yet.
    private var isFound: Bool
    /// Bytes at the head that the daemon before may have told.
    private var repeated = 0
    private var isRepeated = false
    /// Bytes of the batch that were told.
    private var toldSize = 0
    /// Items that wait for safety, and items told since.
    private var pieces = [UntakenBytes.Piece(), UntakenBytes.Piece()]
    /// Where in the batch a repeat ends, and the digests of what of it stands from each item on: backwards, so that one
    /// pass makes all of them.
    private var repeatedEnd = 0
    private var restMarks: [UInt64] = []
    private var isHeld = false
    private var isInTurn = false
    private var isContinuing = false
    private var isLookPlanned = false
    /// Microseconds.
    private var pause = firstPause
    private static var firstPause: Int { 10_000 }
    private static var longestPause: Int { 1_000_000 }
    private var isWaitingForSafety = false
    private var heir: ((consuming FileDescriptor) -> Void)?

    /// - Parameters:
    ///   - look: shows what is there, without consuming any of it.
    ///   - consume: consumes so much, which was shown. Nothing of the source may be needed for it.
    ///   - untaken: is told what is not consumed, before `tell` is called.
    ///   - isFound: the descriptor may have been the daemon's before.
    ///   - tell: gives one item on; it may hold or close this. `isRepeated`: the daemon before may have told it.
    ///   - ended: the last writer has gone, everything is told and consumed.
    init(
        on environment: SourceEnvironment, untaken: UntakenBytes? = nil, isFound: Bool = true,
        look: @escaping (Int32) throws(SystemError) -> Batch,
        consume: @escaping (Int32, Int) throws(SystemError) -> Void,
        tell: @escaping (Item, _ isRepeated: Bool) -> Void, ended: @escaping () -> Void,
        failed: @escaping (SystemError) -> Void
    ) {
        context = environment.core
        epoll = environment.epoll
        whenSafe = environment.whenSafe
        self.untaken = untaken
        self.isFound = isFound
        self.look = look
        self.consume = consume
        self.tell = tell
        self.ended = ended
        self.failed = failed
    }

    var number: Int32? { descriptor.number }
    var isOpen: Bool { descriptor.number != nil && heir == nil }
    var isSettled: Bool { told == consumed }
    /// It is still there.
    var untold: [LineFact] { [] }

    func open(_ new: consuming FileDescriptor) throws(SystemError) {
        // Reopened after a failure: what was told is in the old one, and so is everything behind it.
        guard isSettled else {
            new.close()
            return try watch()
        }
        unwatch()
        descriptor.take()?.close()
        descriptor = consume new
        forgetBatch()
        try watch()
        lookFirst()
    }

    func close(_ heir: @escaping (consuming FileDescriptor) -> Void) {
        unwatch()
        self.heir = heir
        batch.items = Array(batch.items.prefix(told))
        batch.isEnd = false
        settle()
        leave()
    }

    func hold() {
        isHeld = true
        unwatch()
    }

    func release() throws(SystemError) {
        isHeld = false
        try watch()
        if !batch.isEmpty { later() }
    }

    /// Its content may look different from before, though nothing has come.
    func lookAgain() { turn() }

    func watch() throws(SystemError) {
        guard token == nil, !isHeld, heir == nil, let number = descriptor.number else { return }
        token = try epoll.add(number, [.readable, .edgeTriggered]) { [weak self] _ in self?.turn() }
    }

    private func unwatch() {
        if let token { epoll.remove(token) }
        token = nil
    }

    private func forgetBatch() {
        (batch, told, consumed) = (Batch(), 0, 0)
        (toldSize, repeatedEnd, restMarks) = (0, 0, [])
    }

    /// Gives the descriptor to the heir when nothing of it is owed any more.
    private func leave() {
        guard let heir, isSettled, let descriptor = descriptor.take() else { return }
        forgetBatch()
        untaken?.leaves(self)
        heir(descriptor)
    }

    // MARK: A turn

    private func turn() {
        guard !isInTurn else { return }
        isInTurn = true
        defer { isInTurn = false }
        for _ in 0..<Self.batchesPerTurn {
            let isTold = tellBatch()
            settle()
            // When it is safe, it goes on from there.
            guard isTold, isSettled, !isHeld, isOpen, let number = descriptor.number else { return }
            if batch.isEnd {
                forgetBatch()
                return ended()
            }
            forgetBatch()
            // The note of the daemon before is not known yet.
            if let untaken, !untaken.isKnown { return }
            do throws(SystemError) {
                batch = try look(number)
            } catch {
                unwatch()
                return failed(error)
            }
            findRepeats()
            guard !batch.isEmpty else { return batch.hasRest ? lookLater() : () }
            pause = Self.firstPause
        }
        later()
    }

    /// A writer that fills a pipe in which something stands already waits for room without a word: `pipe_write` of the
    /// kernel wakes readers before it sleeps only where the pipe was empty.
    private func lookLater() {
        guard !isLookPlanned else { return }
        isLookPlanned = true
        let bound = QueueBound(self, to: context)
        context.after(pause) {
            bound.value.isLookPlanned = false
            bound.value.turn()
        }
        pause = min(2 * pause, Self.longestPause)
    }

    /// Whether all of it is told.
    private func tellBatch() -> Bool {
        var count = 0
        while told < batch.items.count {
            guard isOpen, !isHeld else { return false }
            guard count < Self.itemsPerTurn else {
                later()
                return false
            }
            noteNext()
            told += 1
            count += 1
            tell(batch.items[told - 1].item, isRepeated)
        }
        return true
    }

    /// The next item is told, and not consumed yet.
    private func noteNext() {
        guard untaken != nil else { return }
        let size = batch.isWhole ? batch.bytes.count : batch.items[told].size
        if batch.isWhole {
            pieces[1] = UntakenBytes.Piece()
            pieces[1].append(batch.bytes)
        } else {
            pieces[1].append(batch.bytes[toldSize..<toldSize + size])
        }
        toldSize += size
        note(next: told + 1)
        isRepeated = repeated > 0 || (isRepeated && (size == 0 || batch.isWhole && told > 0))
        repeated = max(0, repeated - size)
    }

    /// However much of it is taken out before the next note, the rest is one of its ends: the last item that was told
    /// may be the last that is.
    private func note(next: Int) { untaken?.set(pieces + [rest(from: next)], of: self) }

    /// The part of the batch that repeats from this item on.
    private func rest(from item: Int) -> UntakenBytes.Piece {
        guard toldSize < repeatedEnd, restMarks.indices.contains(item) else { return UntakenBytes.Piece() }
        return UntakenBytes.Piece(count: repeatedEnd - toldSize, mark: restMarks[item])
    }

    private func markRest() {
        restMarks = Array(repeating: TailPosition.mark([]), count: batch.items.count)
        if batch.isWhole {
            restMarks[0] = TailPosition.mark(batch.bytes[..<repeatedEnd].reversed())
            return
        }
        var start = batch.items.reduce(0) { $0 + $1.size }
        var end = min(start, repeatedEnd)
        var mark = TailPosition.mark(batch.bytes[end..<repeatedEnd].reversed())
        for index in batch.items.indices.reversed() {
            start -= batch.items[index].size
            guard start < end else { continue }
            mark = TailPosition.mark(batch.bytes[start..<end].reversed(), behind: mark)
            (restMarks[index], end) = (mark, start)
        }
    }

    private func findRepeats() {
        guard isFound else { return }
        isFound = false
        // Bytes that the daemon before had told stood at the head: they are taken out, and others are new.
        if batch.items.isEmpty { return }
        repeated = untaken?.repeated(batch.bytes) ?? 0
        repeatedEnd = min(repeated, batch.bytes.count)
        if repeatedEnd > 0 { markRest() }
        note(next: 0)
    }

    /// Sees what is a repeat before anything new comes, and before another reader of the source tells anything, and with
    /// it a new note.
    func lookFirst() {
        guard isFound, batch.isEmpty, isOpen, let number = descriptor.number, untaken?.isKnown == true else { return }
        // A failing look fails again.
        guard let seen = try? look(number) else { return }
        batch = seen
        findRepeats()
        if !batch.isEmpty { later() }
    }

    /// Consumes what has been told when it is safe.
    private func settle() {
        guard !isSettled, !isWaitingForSafety else { return }
        isWaitingForSafety = true
        pieces = [pieces[1], UntakenBytes.Piece()]
        let end = told
        whenSafe { [self] in
            isWaitingForSafety = false
            consumeItems(upTo: end)
            pieces[0] = UntakenBytes.Piece()
            note(next: told)
            if heir != nil { settle() }
            leave()
            if isOpen { turn() }
        }
    }

    private func consumeItems(upTo end: Int) {
        guard let number = descriptor.number else { return }
        let size = batch.items[consumed..<end].reduce(0) { $0 + $1.size }
        consumed = end
        do throws(SystemError) {
            if size > 0 { try consume(number, size) }
        } catch {
            unwatch()
            if isOpen { failed(error) }
        }
    }

    /// Goes on after the others have had their turn, though the kernel may have nothing more to report.
    private func later() {
        guard !isContinuing else { return }
        isContinuing = true
        let bound = QueueBound(self, to: context)
        context.async {
            bound.value.isContinuing = false
            bound.value.turn()
        }
    }
}

extension DurableDescriptor.Batch {
    /// The facts of a message, which is consumed as one.
    init(of facts: [Item], _ message: [UInt8]) {
        items = facts.enumerated().map { ($1, $0 == facts.count - 1 ? 1 : 0) }
        // An empty one is something, too.
        bytes = message + [0]
        isWhole = true
    }
}
