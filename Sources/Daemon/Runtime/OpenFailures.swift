import Engine

/// Failed operations that nobody has tried again or forgotten: those of earlier watchds, from the store, and those of
/// this one; of clients' commands those that had a time, whose client has gone. Confined to the core.
final class OpenFailures {
    /// Failures remembered; the oldest go first.
    static let limit = 1000

    private var byID: [UInt64: EndedOperation] = [:]
    /// By the operation that it runs again as, which has not ended.
    private var retried: [UInt64: UInt64] = [:]

    func add(_ view: OperationView) {
        if view.result?.isFailure == true { add(EndedOperation(view)) }
    }

    func add(_ operation: EndedOperation) {
        guard operation.result.isFailure, !operation.isSettled else { return }
        guard !operation.isCommand || operation.hasTime else { return }
        var operation = operation
        (operation.events, operation.output, operation.attempts) = ([], [], [])
        byID[operation.id] = operation
        if byID.count >= 2 * Self.limit { forgetOldest() }
    }

    func settle(_ id: UInt64) { byID[id] = nil }

    /// It runs again as another one.
    func retries(_ id: UInt64, as successor: UInt64) { retried[successor] = id }

    /// That other one has ended: the failure that it was of.
    func takeRetried(_ successor: UInt64) -> UInt64? {
        retried.isEmpty ? nil : retried.removeValue(forKey: successor)
    }

    /// The failures that the history still has, newest first.
    ///
    /// - Parameters:
    ///   - count: as many failures as the history keeps.
    ///   - oldest: what ended before is not kept (microsecond of the wall clock).
    func newestFirst(_ count: Int, since oldest: Int64) -> [EndedOperation] {
        let kept = byID.values.filter { $0.ended >= oldest }.sorted { $0.position.isBefore($1.position) }
        return Array(kept.prefix(min(count, Self.limit)))
    }

    private func forgetOldest() {
        let kept = byID.values.sorted { $0.position.isBefore($1.position) }.prefix(Self.limit)
        byID = Dictionary(uniqueKeysWithValues: kept.map { ($0.id, $0) })
    }
}
