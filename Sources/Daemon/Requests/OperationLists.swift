import ControlInterface
import Engine
import Schedule
import Varlink
import WatchFile

/// `ListOperations`: what has not ended, or ended last, and what waits to become an operation.
extension Runtime {
    func operations(_ parameters: ListOperations.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        do throws(ManagerError) {
            let wanted = try OperationFilter(parameters, self)
            if parameters.state?.isEnded ?? false {
                let views = recent.newestFirst.filter(wanted.includes).sorted { $0.id < $1.id }
                let page = Page(of: views, by: { Int($0.id) }, after: parameters.after, limit: parameters.limit)
                let operations = page.items.map { OperationSummary($0, role) }
                return done(.of(ListOperations.Reply(operations: operations, next: page.next)))
            }
            living(wanted, parameters, role, done)
        } catch {
            done(.of(error))
        }
    }

    private func living(
        _ wanted: OperationFilter, _ parameters: ListOperations.Parameters, _ role: Peer.Role,
        _ done: @escaping Request.Completion
    ) {
        let limit = min(max(parameters.limit ?? Manager.maximumPage, 1), Manager.maximumPage)
        let living = engine.operationIDs(
            queue: wanted.queue, handler: wanted.handler, after: UInt64(clamping: parameters.after ?? 0),
            limit: limit + 1
        ) { state in
            parameters.state.map { $0 == OperationSummary.State(state) } ?? true
        }
        let ids = (living + engine.unplacedViews.filter(wanted.includes).map(\.id)).sorted()
        let page = Page(of: ids, by: { Int($0) }, after: parameters.after, limit: limit)
        inTurns(over: page.items, of: Self.operationsInATurn, [OperationSummary]()) { runtime, operations, ids in
            let views = ids.compactMap { runtime.engine.operation($0) }.filter(wanted.includes)
            operations += views.map { OperationSummary($0, role) }
        } then: { [next = page.next] runtime, operations in
            // Held events stand before everything else that waits.
            guard parameters.after == nil, [nil, .pending].contains(parameters.state) else {
                return done(.of(ListOperations.Reply(operations: operations, next: next)))
            }
            runtime.inTurns(over: runtime.engine.sourceIDs, [HeldEvents]()) { runtime, held, views in
                held += runtime.held(views) { wanted.includes(queue: $0.queue, handler: $0.handler) }
            } then: { _, held in
                done(.of(ListOperations.Reply(operations: operations, held: held, next: next)))
            }
        }
    }

    /// Events that wait to become operations of these routes.
    func held(_ sources: [SourceView], to isWanted: (Route) -> Bool = { _ in true }) -> [HeldEvents] {
        sources.compactMap { view in
            let handlers = view.definition.routes.filter(isWanted).map(\.handler)
            guard let wait = view.rateWait, !handlers.isEmpty else { return nil }
            return HeldEvents(
                source: wait.source, handlers: handlers, events: wait.events, since: wireTime(wait.since),
                waitingFor: wait.sentence)
        }
    }
}

/// Which operations a client asks for.
private struct OperationFilter: Sendable {
    /// Bare names; `nil`: each.
    let queue: String?
    let handler: String?
    let state: OperationSummary.State?

    /// - Throws: a name that there is not.
    init(_ parameters: ListOperations.Parameters, _ runtime: Runtime) throws(ManagerError) {
        let engine = runtime.engine
        let others = Array(runtime.recent.newestFirst) + engine.unplacedViews
        queue = try parameters.queue.map { name throws(ManagerError) in
            try runtime.known(name, "queue", engine.queueViews.map(\.definition.name) + others.map(\.queue))
        }
        handler = try parameters.handler.map { name throws(ManagerError) in
            try runtime.known(name, "handler", engine.handlerNames + others.map(\.handler))
        }
        state = parameters.state
    }

    func includes(_ view: OperationView) -> Bool {
        includes(queue: view.queue, handler: view.handler)
            && state.map { $0 == OperationSummary.State(view.state) } ?? true
    }

    func includes(queue: String?, handler: String) -> Bool {
        (self.queue ?? queue, self.handler ?? handler) == (queue, handler)
    }
}
