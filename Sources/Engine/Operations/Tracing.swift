/// The trace of an operation is that of its first event, whatever has joined since; each run is a span of it.
extension Engine {
    /// The trace, and the span that its first event came from: the runs of the operation are children of that.
    func trace(of operation: Operation) -> TraceContext {
        operation.lineage.parent.first ?? traces.trace(ofEvent: operation.lineage.firstEvent)
    }

    /// The span of the run that it is in.
    func trace(of operation: Operation, part: Int) -> TraceContext {
        let run = RunID(operation: operation.id, attempt: Int(operation.progress.attempt), part: part)
        return trace(of: operation.lineage, run)
    }

    /// The span of a run.
    func trace(of lineage: Operation.Lineage, _ run: RunID) -> TraceContext {
        var trace = lineage.parent.first ?? traces.trace(ofEvent: lineage.firstEvent)
        trace.span = traces.span(of: run)
        return trace
    }

    /// The events of an operation for who has nothing else of it: the first one names the trace where its number alone
    /// does not.
    func tracedEvents(_ operation: Operation) -> [Event] {
        var events = operation.entries.events
        guard let first = events.first, first.id != operation.lineage.firstEvent else { return events }
        events[0].trace = trace(of: operation)
        return events
    }
}

extension Operation {
    /// Its first event, by which its trace is known.
    struct Lineage: Sendable {
        var firstEvent: UInt64 = 0
        /// The span that its first event came from: empty, or one.
        var parent: [TraceContext] = []

        init() {}

        init(_ event: Event?) {
            firstEvent = event?.id ?? 0
            parent = event?.trace.map { [$0] } ?? []
        }
    }
}
