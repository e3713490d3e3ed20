import Engine
import LinuxSystem
import Store
import WatchFile

/// `Explain` of a source or a handler, before the engine's trail: the trail begins with its watchd, and is bounded.
extension Runtime {
    /// Operations of the past that one explanation tells.
    private static let earlierLimit = 5

    /// The start and the end of the last operations that the source or handler had before the steps begin, by the
    /// store; none where the steps tell enough operations.
    func earlier(
        _ object: String, than steps: [Explanation], _ role: Peer.Role, _ done: @escaping ([Explanation]) -> Void
    ) {
        let told = Set(steps.compactMap(\.operation))
        guard told.count < Self.earlierLimit, var query = history(of: object),
            let persistence, persistence.failure == nil
        else { return done([]) }
        query.until = steps.compactMap(\.time).min()
        let (wanted, limit) = (query, Self.earlierLimit - told.count)
        persistence.read(
            { reader throws(StoreError) in try reader.page(wanted).map { EndedOperation($0) } },
            then: { [unowned self] result in
                // A store that fails is told of elsewhere.
                let ended = ((try? result.get()) ?? []).filter { !told.contains($0.id) }
                let steps = ended.prefix(limit).flatMap { startAndEnd($0, role) }
                done(steps.sorted { ($0.time ?? 0) < ($1.time ?? 0) })
            })
    }

    /// `nil`: it is neither a source nor a handler.
    private func history(of object: String) -> HistoryQuery? {
        var query = HistoryQuery()
        query.limit = Self.earlierLimit
        if object.hasPrefix("handler/") {
            query.handler = String(object.dropFirst("handler/".count))
        } else if SourceID(description: object) != nil {
            query.source = object
        } else {
            return nil
        }
        return query
    }

    private func startAndEnd(_ operation: EndedOperation, _ role: Peer.Role) -> [Explanation] {
        func step(_ time: Int64, _ code: ReasonCode, _ sentence: String, other: UInt64? = nil) -> Explanation {
            Explanation(
                time: time, code: code, sentence: sentence, operation: operation.id, other: other,
                section: "handler/\(operation.handler)")
        }
        let name = "operation \(operation.id) of \(operation.handler)"
        return [
            step(operation.submitted, .submitted, "\(name) on queue \(operation.queue): \(operation.cause(role))"),
            step(
                operation.ended, Self.code(operation.result), "\(name) ended \(Self.end(operation))",
                other: operation.successor),
        ]
    }
}
