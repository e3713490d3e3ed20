import Engine
import LinuxSystem

/// The last records of what happened, and followers who read them at their own pace. Confined to the core.
///
/// A follower asks for what comes next and gets it now or when it comes; nothing is kept for one but its place. A
/// follower that falls so far behind that records are gone is told which. One that begins now is first told how the
/// operations stand, page by page as it reads; what a page has told already is left out of the changes that come after.
/// While nobody follows, of a change only the operation and its state are kept: the rest is looked up for who comes
/// later.
final class FollowHub {
    /// Records kept for who comes later with `since`.
    static let limit = 1024
    /// More than that are kept for a moment, so that not each that comes moves all others.
    private static let slack = 256
    /// Records kept while somebody follows: several full turns of a source, so that only who does not read misses any.
    static let limitWhileFollowed = 16_384
    /// Operations of the initial state that are looked up at once.
    static let statePage = 256

    enum Content: Sendable {
        indirect case event(Event, Origin, [String])
        /// In place: boxes of what ended long since would keep the memory of a burst among them.
        case operation(OperationView)
        /// An operation that had not ended came to this state.
        case state(UInt64, OperationState)
        indirect case output(Output)
    }

    /// Lines that a run or a supervised process has written.
    struct Output: Sendable {
        /// Of a handler's run; `nil`: `origin` is the process.
        var run: (operation: UInt64, handler: String, queue: String)?
        var origin: Origin
        /// Of the process, from 1.
        var copy: Int?
        /// Of a worker: its handler.
        var worker: String?
        var lines: [[UInt8]]
    }

    struct Record: Sendable {
        var sequence: Int
        /// Wall clock, microseconds.
        var time: Int64
        var content: Content
        /// About the bytes that its content keeps alive.
        var size = 0
        /// The operation whose view it has.
        var operation: UInt64?
        /// No change: how an operation stands for one who begins to follow. `sequence` is of the record before.
        var isInitial = false
    }

    /// The next records, and those missed before them.
    struct Batch: Sendable {
        var records: [Record]
        var missed: Missed?
    }

    /// The numbers of records that are gone. `last` is below `first` where watchd was started anew, and its numbers
    /// with it, after the record before `first`.
    struct Missed: Sendable {
        var first: Int
        var last: Int
    }

    private struct Follower {
        var last: Int
        var wantsOutput = false
        /// The number it knows is of a daemon before this one, and it has not been told so.
        var formerLast: Int?
        var waiting: ((Batch) -> Void)?
        var initial: InitialState?
        /// It has been told something: a gap now is its own.
        var hasBegun = false
        let fellBehind: () -> Void
    }

    /// The operations that had not ended when a follower began, as it is told of them.
    private struct InitialState {
        /// The newest operation when it began.
        let newest: UInt64
        /// The record before.
        let sequence: Int
        /// Of each page the last operation, and the last record that is contained in what was told.
        var pages: [(operation: UInt64, sequence: Int)] = []
        var isComplete = false

        /// It was told by a page later than the record. The end of an operation never is.
        func contains(_ record: Record) -> Bool {
            guard case .operation(let view) = record.content, view.id <= newest,
                ![.finished, .cancelled].contains(view.state)
            else { return false }
            return pages.first { view.id <= $0.operation }.map { record.sequence <= $0.sequence } ?? false
        }
    }

    /// Bytes of their events, all together: a line or a payload may be large.
    static let byteLimit = 1 << 20
    static let byteLimitWhileFollowed = 16 << 20

    /// Their numbers are consecutive.
    private var records: [Record] = []
    /// By operation, the number of the newest record with its view.
    private var newestViews: [UInt64: Int] = [:]
    private var bytes = 0
    private var lastSequence = 0
    private var followers: [Int: Follower] = [:]
    private var lastFollower = 0
    /// The highest id of an operation so far.
    private var newestOperation: UInt64 = 0
    private let state: (_ after: UInt64, _ limit: Int) -> [OperationView]
    private let operation: (UInt64) -> OperationView?

    var isFollowed: Bool { !followers.isEmpty }
    /// Output is recorded only while somebody wants it.
    var isOutputFollowed: Bool { followers.values.contains(where: \.wantsOutput) }

    /// - Parameters:
    ///   - operation: one that has not ended; `nil`: it has.
    ///   - state: operations that have not ended, with an id above `after`, in the order of their ids.
    init(
        operation: @escaping (UInt64) -> OperationView?,
        state: @escaping (_ after: UInt64, _ limit: Int) -> [OperationView]
    ) {
        self.operation = operation
        self.state = state
    }

    /// There is an operation of this id.
    func note(_ operation: UInt64) { newestOperation = max(newestOperation, operation) }

    func add(_ view: OperationView) {
        let short = view.short
        newestViews[view.id] = lastSequence + 1
        add(.operation(short), size: short.events.reduce(0) { $0 + $1.size }, operation: view.id)
    }

    /// An operation that had not ended came to this state.
    func add(_ operation: UInt64, _ state: OperationState) { add(.state(operation, state), size: 0) }

    func add(_ event: Event, from origin: Origin, for handlers: [String]) {
        add(.event(event, origin, handlers), size: event.size)
    }

    func add(_ output: Output) {
        add(.output(output), size: output.lines.reduce(200) { $0 + $1.count + 32 })
    }

    private func add(_ content: Content, size: Int, operation: UInt64? = nil) {
        lastSequence += 1
        records.append(
            Record(
                sequence: lastSequence, time: Linux.now(.realtime), content: content, size: size, operation: operation))
        bytes += size
        // A large one may be gone at once.
        let newest = isFollowed ? records.last : nil
        trim()
        guard let newest else { return }
        for id in followers.keys.sorted() {
            guard let waiting = followers[id]?.waiting else { continue }
            followers[id]?.waiting = nil
            followers[id]?.last = lastSequence
            waiting(Batch(records: [newest]))
        }
    }

    /// An event that sources have told, and the handlers it is for.
    struct ToldEvent {
        var event: Event
        var origin: Origin
        var handlers: [String]
    }

    /// The events of a path that are kept, by its name or by the one it had before; the oldest first.
    func events(ofPath path: [UInt8]) -> [ToldEvent] {
        records.compactMap { record in
            guard case .event(let event, let origin, let handlers) = record.content, case .path(let fact) = event.fact,
                fact.path == path || fact.oldPath == path
            else { return nil }
            return ToldEvent(event: event, origin: origin, handlers: handlers)
        }
    }

    /// The last record before an instant (microseconds); 0: none of those that are kept.
    func sequence(before time: Int64) -> Int { records.last { $0.time < time }?.sequence ?? 0 }

    /// A new follower: of what comes after record `since`, or of how all stands and what comes from now on.
    ///
    /// - Parameter fellBehind: called once at most, when records are gone that the follower would have been told next;
    ///   the follower has ended by then.
    func begin(since: Int?, wantsOutput: Bool = false, fellBehind: @escaping () -> Void = {}) -> Int {
        lastFollower += 1
        var follower = Follower(
            last: max(since ?? lastSequence, 0), wantsOutput: wantsOutput, fellBehind: fellBehind)
        if follower.last > lastSequence { (follower.last, follower.formerLast) = (0, follower.last) }
        if since == nil { follower.initial = InitialState(newest: newestOperation, sequence: lastSequence) }
        followers[lastFollower] = follower
        return lastFollower
    }

    /// Calls `done` once, with at most `limit` records (`statePage` of the initial state): now if there are any, else
    /// with the next one.
    func next(_ id: Int, limit: Int, _ done: @escaping (Batch) -> Void) {
        guard let follower = followers[id] else { return }
        followers[id]?.hasBegun = true
        if let records = nextState(id), !records.isEmpty { return done(Batch(records: records)) }
        let last = follower.last
        guard last < lastSequence || follower.formerLast != nil else {
            followers[id]?.waiting = done
            followers[id]?.initial = nil
            return
        }
        let start = max(0, records.count - (lastSequence - last))
        let batch = Array(records[start...].prefix(limit))
        let first = batch.first?.sequence ?? lastSequence
        followers[id]?.last = batch.last?.sequence ?? lastSequence
        followers[id]?.formerLast = nil
        let news = followers[id]?.initial.map { initial in batch.filter { !initial.contains($0) } }
        var missed = first > last + 1 ? Missed(first: last + 1, last: first - 1) : nil
        if let former = follower.formerLast {
            missed = Missed(first: min(former, .max - 1) + 1, last: max(0, first - 1))
        }
        done(Batch(records: (news ?? batch).map(whole), missed: missed))
    }

    /// A record with all that is known of its operation: as it is now, or as it was at the end, which stands further
    /// on.
    private func whole(_ record: Record) -> Record {
        guard case .state(let id, let state) = record.content else { return record }
        var whole = record
        if var view = operation(id) ?? laterView(of: id) {
            view.becomeAgain(state)
            whole.content = .operation(view.short)
        }
        return whole
    }

    private func laterView(of id: UInt64) -> OperationView? {
        guard let sequence = newestViews[id], let first = records.first?.sequence,
            case .operation(let view) = records[sequence - first].content
        else { return nil }
        return view
    }

    /// The next page of the initial state; `nil`: it has been told.
    private func nextState(_ id: Int) -> [Record]? {
        guard var initial = followers[id]?.initial, !initial.isComplete else { return nil }
        let views = state(initial.pages.last?.operation ?? 0, Self.statePage)
        let told = views.filter { $0.id <= initial.newest }
        initial.isComplete = views.count < Self.statePage || told.count < views.count
        let last = initial.isComplete ? initial.newest : views.last?.id ?? initial.newest
        initial.pages.append((last, lastSequence))
        followers[id]?.initial = initial
        let now = Linux.now(.realtime)
        return told.map {
            Record(sequence: initial.sequence, time: now, content: .operation($0.short), isInitial: true)
        }
    }

    func end(_ id: Int) {
        followers[id] = nil
        trim()
    }

    private func trim() {
        let (limit, byteLimit) =
            isFollowed ? (Self.limitWhileFollowed, Self.byteLimitWhileFollowed) : (Self.limit, Self.byteLimit)
        guard records.count >= limit + (isFollowed ? limit : Self.slack) || bytes > byteLimit else { return }
        var drop = max(0, records.count - limit)
        var left = bytes - records[..<drop].indices.reduce(0) { $0 + records[$1].size }
        // Down to half, so that it is not done for each record.
        while left > byteLimit / 2, drop < records.count {
            left -= records[drop].size
            drop += 1
        }
        for index in 0..<drop {
            guard let operation = records[index].operation else { continue }
            if newestViews[operation] == records[index].sequence { newestViews[operation] = nil }
        }
        records.removeFirst(drop)
        bytes = left
        endSlowFollowers()
    }

    private func endSlowFollowers() {
        let kept = lastSequence - records.count
        for (id, follower) in followers where follower.waiting == nil && follower.hasBegun && follower.last < kept {
            followers[id] = nil
            follower.fellBehind()
        }
    }
}

extension OperationView {
    /// Without what has been told: of its events the newest says what it is about.
    fileprivate var short: OperationView {
        guard events.count > 1 || !output.isEmpty else { return self }
        var view = self
        view.events = Array(events.suffix(1))
        view.output = []
        return view
    }

    /// Takes back what became of it after it came to this state.
    fileprivate mutating func becomeAgain(_ state: OperationState) {
        guard state != self.state else { return }
        self.state = state
        (result, reason, exit, ended) = (nil, nil, nil, nil)
        (waitingFor, waitReason, nextAttempt, successor) = (nil, nil, nil, nil)
        // Of several attempts only the last one's process is known.
        if state != .executing || attempt > 1 { (started, pid) = (nil, nil) }
    }
}

extension Event {
    /// About the bytes it keeps alive.
    var size: Int {
        switch fact {
        case .path(let fact): fact.path.count + (fact.oldPath?.count ?? 0) + 200
        case .line(let fact): fact.bytes.count + 200
        case .unit(let fact): fact.unit.utf8.count + 200
        case .custom(let fact): (fact.payload?.count ?? 0) + 200
        case .command(let fact): fact.size + 200
        case .problem(let fact): fact.size + 200
        case .completion(let fact): fact.output.count + (fact.reason?.utf8.count ?? 0) + fact.cause.size
        case .group(let fact): fact.failures.reduce(200) { $0 + $1.handler.utf8.count + $1.reason.utf8.count + 40 }
        case .timer, .signal, .process, .finalizer, .silence: 200
        }
    }
}
