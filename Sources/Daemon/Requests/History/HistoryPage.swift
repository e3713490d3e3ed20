import Engine
import Store

/// A page of the history, newest first: what the store has, and what has ended so lately that it may not be there yet.
struct HistoryPage {
    private(set) var operations: [EndedOperation] = []
    /// Behind which the next page begins; `nil`: this was the last.
    private(set) var next: HistoryQuery.Position?

    /// - Parameters:
    ///   - query: its `limit` is one more than the page takes.
    ///   - stored: what the store answered.
    ///   - remembered: in any order, whether or not it is asked for.
    init(_ query: HistoryQuery, stored: [EndedOperation], remembered: [EndedOperation]) {
        let size = max(query.limit - 1, 1)
        // Behind this one the store may have more.
        let end = stored.count >= query.limit ? stored.last?.position : nil
        var byID: [UInt64: EndedOperation] = [:]
        for operation in remembered where end.map({ !$0.isBefore(operation.position) }) ?? true {
            byID[operation.id] = operation
        }
        for operation in stored {
            var operation = operation
            if let other = byID[operation.id] {
                operation.isDurable = other.isDurable
                if other.isSettled { (operation.isSettled, operation.successor) = (true, other.successor) }
            }
            byID[operation.id] = operation
        }
        let all = byID.values.filter(query.wants).sorted { $0.position.isBefore($1.position) }
        operations = Array(all.prefix(size))
        next = all.count > size ? operations.last?.position : end
    }
}

extension HistoryQuery {
    func wants(_ operation: EndedOperation) -> Bool {
        (handler ?? operation.handler) == operation.handler
            && source.map { $0 == operation.origin.description } ?? true
            && (results?.contains(operation.result.rawValue) ?? true)
            && (!isUnsettled || (operation.result.isFailure && !operation.isSettled))
            && operation.ended >= since ?? .min && operation.ended < until ?? .max
            && after.map { $0.isBefore(operation.position) } ?? true
    }
}

extension HistoryQuery.Position {
    /// Newer.
    func isBefore(_ other: HistoryQuery.Position) -> Bool { (ended, id) > (other.ended, other.id) }

    /// As clients hand it back.
    var text: String { "\(ended)-\(id)" }

    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let ended = Int64(parts[0]), let id = UInt64(parts[1]) else { return nil }
        self.init(ended: ended, id: id)
    }
}
