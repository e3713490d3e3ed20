import WatchFile

/// Work that is in memory only: a kill of watchd loses it.
package struct WaitingAtRisk: Sendable {
    /// Operations that have not run, or run without a process of their own, and deliveries that sources hold back, by
    /// handler.
    package fileprivate(set) var counts: [String: Int] = [:]
    /// The oldest of the operations.
    package fileprivate(set) var oldest: [OperationView] = []
}

/// An operation in the note of what a kill would lose.
package struct WaitingOperation: Equatable, Sendable {
    package var id: UInt64
    package var handler: String
    package var queue: String
    /// `custom/poke`.
    package var origin: String
    /// Wall clock, microseconds.
    package var submitted: Int64
    package var entries: Int
    package var deliveries: Int
    /// Its newest event in a few words.
    package var cause: String

    package init(
        id: UInt64, handler: String, queue: String, origin: String, submitted: Int64, entries: Int, deliveries: Int,
        cause: String
    ) {
        (self.id, self.handler, self.queue, self.origin) = (id, handler, queue, origin)
        (self.submitted, self.entries, self.deliveries, self.cause) = (submitted, entries, deliveries, cause)
    }
}

extension Engine {
    /// The work that a kill of watchd would lose now. It takes as long as there are operations and sources.
    ///
    /// The changes of a `[Path]` and the lines of a `Tail=` are told again by the next watchd, so they are not at risk.
    ///
    /// - Parameter limit: operations that are told one by one.
    package func waitingAtRisk(_ limit: Int) -> WaitingAtRisk {
        var waiting = WaitingAtRisk()
        operations.forEachOperation { operation in
            if isAtRisk(operation) { waiting.counts[handlers[operation.handler].name, default: 0] += 1 }
        }
        if !waiting.counts.isEmpty { waiting.oldest = operations.oldest(limit, where: isAtRisk).map { view($0) } }
        for source in sources.indices where sources[source].holds && !isDurable(source: source) && !comesAgain(source) {
            for target in sources[source].targets {
                waiting.counts[handlers[target.handler].name, default: 0] += sources[source].held.deliveries
            }
        }
        return waiting
    }

    private func isAtRisk(_ operation: Operation) -> Bool {
        let record = operation.record
        // The mark of a drain is no work.
        if case .client(.suspend) = handlers[operation.handler].definition.value.action { return false }
        return !record.isDurable && !record.isLong && !comesAgain(operation.source)
            && !(operation.progress.isRunning && operation.runs.contains(where: isFoundAgain))
    }

    /// Whether the next watchd finds a process of the run's own; a line that a worker has is in no hands then.
    private func isFoundAgain(_ run: Run) -> Bool {
        run.seat == nil && run.definition.value.action.performer == .processes
    }

    /// The next watchd is told the same by itself.
    private func comesAgain(_ source: Int) -> Bool {
        if sources[source].traits.contains(.paths) { return true }
        guard case .descriptor(let trigger) = sources[source].definition?.value.trigger else { return false }
        if case .tail = trigger.listener { return true }
        return false
    }
}
