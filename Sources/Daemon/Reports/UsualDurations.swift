import Engine

/// How long the runs of each handler usually take: the median of the last ones that succeeded. Confined to the core.
final class UsualDurations {
    /// Runs of a handler that count.
    static let kept = 21
    /// Fewer say nothing.
    static let fewest = 3
    /// Handlers that are kept: as many as a watch file may have.
    static let handlerLimit = 10_000
    /// Ended operations that are read at the start.
    static let readAtStart = 2000

    /// Microseconds, the newest last.
    private var durations: [String: [Int64]] = [:]

    /// A run has ended.
    func add(_ view: OperationView) {
        guard view.result == .done, let started = view.started, let ended = view.ended else { return }
        add(view.handler, ended - started, isOldest: false)
    }

    /// From the history, the newest first.
    func addOlder(_ operations: [EndedOperation]) {
        for operation in operations where operation.result == .done {
            if let started = operation.started { add(operation.handler, operation.ended - started, isOldest: true) }
        }
    }

    private func add(_ handler: String, _ duration: Int64, isOldest: Bool) {
        // Of commands each is another one.
        if handler.hasPrefix("@") { return }
        if durations[handler] == nil, durations.count >= Self.handlerLimit {
            if isOldest { return }
            durations.remove(at: durations.startIndex)
        }
        durations[handler, default: []].add(max(0, duration), isOldest: isOldest)
    }

    /// Microseconds; `nil`: too few have ended.
    func usual(_ handler: String) -> Int64? {
        guard let own = durations[handler], own.count >= Self.fewest else { return nil }
        return own.sorted()[own.count / 2]
    }
}

extension [Int64] {
    fileprivate mutating func add(_ duration: Int64, isOldest: Bool) {
        if isOldest {
            if count < UsualDurations.kept { insert(duration, at: 0) }
        } else {
            append(duration)
            if count > UsualDurations.kept { removeFirst() }
        }
    }
}
