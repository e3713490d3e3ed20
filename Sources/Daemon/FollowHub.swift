import Engine
import LinuxSystem

/// The last records of what happened, and followers who read them at their own pace. Confined to the core.
///
/// A follower asks for what comes next and gets it now or when it comes; nothing is kept for one but its place. Who
/// falls so far behind that records are gone is told which.
final class FollowHub {
    /// Records kept for who comes later with `since`.
    static let limit = 512
    /// Records kept while somebody follows: several full turns of a source, so that only who does not read misses any.
    static let limitWhileFollowed = 16_384

    enum Content: Sendable {
        case event(Event, Origin, [String])
        case operation(OperationView)
    }

    struct Record: Sendable {
        var sequence: Int
        /// Wall clock, microseconds.
        var time: Int64
        var content: Content
    }

    /// What comes next, and what was missed before it.
    struct Batch: Sendable {
        var records: [Record]
        var missed: ClosedRange<Int>?
    }

    private struct Follower {
        var last: Int
        var waiting: ((Batch) -> Void)?
    }

    /// Bytes of their events, all together: a line or a payload may be large.
    static let byteLimit = 1 << 20
    static let byteLimitWhileFollowed = 16 << 20

    private var records: [Record] = []
    private var bytes = 0
    private var lastSequence = 0
    private var followers: [Int: Follower] = [:]
    private var lastFollower = 0

    var isFollowed: Bool { !followers.isEmpty }

    func add(_ content: Content) {
        lastSequence += 1
        var content = content
        if case .operation(var view) = content {
            // The events have been told; the newest says what it is about.
            view.events = Array(view.events.suffix(1))
            view.output = []
            content = .operation(view)
        }
        let record = Record(sequence: lastSequence, time: Linux.now(.realtime), content: content)
        records.append(record)
        bytes += record.content.size
        trim()
        for id in Array(followers.keys) {
            guard let waiting = followers[id]?.waiting else { continue }
            followers[id] = Follower(last: lastSequence)
            waiting(Batch(records: [record]))
        }
    }

    /// A new follower: of what comes after record `since`, or from now on.
    func begin(since: Int?) -> Int {
        lastFollower += 1
        followers[lastFollower] = Follower(last: min(max(since ?? lastSequence, 0), lastSequence))
        return lastFollower
    }

    /// Calls `done` once, with at most `limit` records: now if there are any, else with the next one.
    func next(_ id: Int, limit: Int, _ done: @escaping (Batch) -> Void) {
        guard let last = followers[id]?.last else { return }
        guard last < lastSequence else {
            followers[id]?.waiting = done
            return
        }
        // Their numbers are consecutive.
        let start = max(0, records.count - (lastSequence - last))
        let batch = Array(records[start...].prefix(limit))
        let first = batch.first?.sequence ?? lastSequence
        followers[id]?.last = batch.last?.sequence ?? lastSequence
        done(Batch(records: batch, missed: first > last + 1 ? (last + 1)...(first - 1) : nil))
    }

    func end(_ id: Int) {
        followers[id] = nil
        trim()
    }

    private func trim() {
        let (limit, byteLimit) =
            isFollowed ? (Self.limitWhileFollowed, Self.byteLimitWhileFollowed) : (Self.limit, Self.byteLimit)
        guard records.count >= 2 * limit || bytes > byteLimit else { return }
        var drop = max(0, records.count - limit)
        var left = bytes - records.prefix(drop).reduce(0) { $0 + $1.content.size }
        // Down to half, so that it is not done for each record.
        while left > byteLimit / 2, drop < records.count {
            left -= records[drop].content.size
            drop += 1
        }
        records.removeFirst(drop)
        bytes = left
    }
}

extension FollowHub.Content {
    /// About the bytes it keeps alive.
    fileprivate var size: Int {
        switch self {
        case .event(let event, _, _): event.size
        case .operation(let view): view.events.reduce(0) { $0 + $1.size }
        }
    }
}

extension Event {
    /// About the bytes it keeps alive.
    var size: Int {
        switch fact {
        case .path(let fact): fact.path.count + (fact.oldPath?.count ?? 0) + 200
        case .line(let fact): fact.bytes.count + 200
        case .custom(let fact): (fact.payload?.count ?? 0) + 200
        case .completion(let fact): fact.output.count + fact.cause.size
        case .timer, .signal, .process: 200
        }
    }
}
