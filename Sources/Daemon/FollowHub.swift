import Engine
import LinuxSystem

/// What followers are told: the last records, and who listens. Confined to the core.
final class FollowHub {
    /// Records kept for `since`.
    static let limit = 512

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

    private var records: [Record] = []
    private var lastSequence = 0
    private var followers: [Int: (Record) -> Void] = [:]
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
        if records.count >= 2 * Self.limit { records.removeFirst(records.count - Self.limit) }
        for follower in followers.values { follower(record) }
    }

    /// Tells `follower` what came after `since`, as far as it is kept, and everything from now on.
    ///
    /// - Returns: a number for `remove`, and the records that are no longer there.
    func follow(since: Int?, _ follower: @escaping (Record) -> Void) -> (id: Int, missed: ClosedRange<Int>?) {
        lastFollower += 1
        followers[lastFollower] = follower
        guard let since, since < lastSequence else { return (lastFollower, nil) }
        let kept = records.filter { $0.sequence > since }
        let first = kept.first?.sequence ?? lastSequence + 1
        for record in kept { follower(record) }
        return (lastFollower, first > since + 1 ? (since + 1)...(first - 1) : nil)
    }

    func remove(_ id: Int) { followers[id] = nil }
}
