import ControlInterface
import Engine
import Handlers
import LinuxSystem
import Schedule
import Store
import Varlink
import WatchFile

/// Ended operations: from the store, and from memory those that may not be there yet. Each calls `done` once.
extension Runtime {
    func history(_ parameters: ListHistory.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        var query: HistoryQuery
        do throws(ErrorReply) { query = try self.query(parameters) } catch { return done(.error(error)) }
        // They say whose command it is.
        if role != .administrator { query.eventsOf = CommandFact.handlerName }
        ended(query) { [unowned self] result in
            switch result {
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, role))))
            case .success(let page):
                if page.operations.isEmpty, let unknown = unknownName(in: parameters) { return done(.of(unknown)) }
                let summaries = page.operations.map { summary($0, role) }
                done(.of(ListHistory.Reply(operations: summaries, next: page.next?.text)))
            }
        }
    }

    /// With what stands against trying it again.
    private func summary(_ operation: EndedOperation, _ role: Peer.Role) -> OperationSummary {
        var summary = OperationSummary(operation, role)
        summary.retryObstacle = retryObstacle(operation)
        return summary
    }

    /// A page of what has ended, of the store and of memory.
    func ended(_ query: HistoryQuery, _ done: @escaping (Swift.Result<HistoryPage, StoreError>) -> Void) {
        stored(query) { [unowned self] result in
            done(
                result.map { stored in
                    let remembered = kept(recent.all + refused.all).map { settled(EndedOperation($0)) }
                    return HistoryPage(query, stored: stored.map(settled), remembered: remembered)
                })
        }
    }

    /// Not more than the store keeps: that may have removed them already.
    private func kept(_ views: [OperationView]) -> [OperationView] {
        let oldest = Linux.now(.realtime) - Int64(clamping: engine.settings.keepHistorySpan.microseconds)
        let young = views.filter { $0.ended ?? 0 >= oldest }.sorted { $0.ended ?? 0 < $1.ended ?? 0 }
        return young.suffix(max(0, engine.settings.keepHistory))
    }

    /// Without output and attempts, and without events but for those that the query asks for.
    private func stored(
        _ query: HistoryQuery, _ done: @escaping (Swift.Result<[EndedOperation], StoreError>) -> Void
    ) {
        guard let persistence else { return done(.success([])) }
        persistence.read(
            { reader throws(StoreError) in try reader.page(query).map { EndedOperation($0) } }, then: done)
    }

    /// As it is now: the store learns a little later that a failed one was dealt with.
    func settled(_ operation: EndedOperation) -> EndedOperation {
        var operation = operation
        operation.settle(recent.settlement(of: operation.id))
        return operation
    }

    /// Looks for an operation that has ended; where memory has lost a part of it, in the store too.
    func ended(_ id: UInt64, _ done: @escaping (Swift.Result<EndedOperation?, StoreError>) -> Void) {
        let remembered = (recent.view(id) ?? refused.view(id)).map { EndedOperation($0, attempts: attempts.of(id)) }
        guard let persistence, remembered?.isWhole != true else {
            return done(.success(remembered.map(settled)))
        }
        record(id, persistence) { [unowned self] result in
            switch result {
            case .success(var found?):
                found.isDurable = remembered?.isDurable
                found.key = remembered?.key
                found.pid = remembered?.pid
                done(.success(settled(found)))
            case .success(nil): done(.success(remembered.map(settled)))
            case .failure(let error):
                done(remembered.map { .success(settled($0)) } ?? .failure(error))
            }
        }
    }

    /// Once more when what has ended until now has been written, unless that would have to wait for a disk.
    private func record(
        _ id: UInt64, _ persistence: Persistence,
        _ done: @escaping (Swift.Result<EndedOperation?, StoreError>) -> Void
    ) {
        func read(_ then: @escaping (Swift.Result<EndedOperation?, StoreError>) -> Void) {
            persistence.read(
                { reader throws(StoreError) in
                    try reader.record(id).map { EndedOperation($0.row, attempts: $0.attempts) }
                }, then: then)
        }
        read { result in
            guard case .success(nil) = result, persistence.failure == nil else { return done(result) }
            persistence.whenWritten { read(done) }
        }
    }

    // MARK: GetOperation

    /// Why nobody knows an operation: what a store has that could not be opened yet is not known.
    func missing(_ id: UInt64) -> ManagerError {
        guard let persistence, !persistence.hasOpened else { return .noSuchOperation(id: Int(id)) }
        let reason = persistence.failure?.error.kind ?? "it is being opened"
        return .storeFailing(reason: "\(reason); operation \(id) may be in it")
    }

    func operation(_ parameters: GetOperation.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        guard let id = UInt64(exactly: parameters.id) else { return done(.of(.noSuchOperation(id: parameters.id))) }
        if let view = engine.operation(id) { return living(view, role, done) }
        ended(id) { [unowned self] result in
            switch result {
            case .success(let operation?):
                var detail = OperationDetail(operation, role)
                detail.summary.retryObstacle = retryObstacle(operation, areEventsKnown: true)
                if role == .administrator { detail.outputBytes = runs?.bytesWritten(by: id) }
                done(.of(reply(detail, role)))
            case .success(nil): done(.of(missing(id)))
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, role))))
            }
        }
    }

    /// One that has not ended. Attempts of an earlier watchd are in the store.
    private func living(_ view: OperationView, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        var known = OperationDetail(view, attempts: attempts.of(view.id), role)
        if role == .administrator { known.tell(outputSoFar: view, runs, attempts) }
        guard known.runs.count < view.attempt - 1, let persistence else { return done(.of(reply(known, role))) }
        let (id, detail) = (view.id, known)
        persistence.read { reader throws(StoreError) -> [AttemptRow] in
            try reader.attempts(of: id)
        } then: { [unowned self] result in
            let stored = ((try? result.get()) ?? []).map(EndedOperation.Attempt.init)
            done(.of(reply(detail.adding(stored, role), role)))
        }
    }

    private func reply(_ detail: OperationDetail, _ role: Peer.Role) -> GetOperation.Reply {
        var detail = detail
        let id = UInt64(detail.summary.id)
        if detail.summary.state.isEnded { detail.summary.unsaved = unsavedEnd(of: id, role) }
        detail.startedOperations = recent.startedBy(id) + engine.operationViews(startedBy: id).map { Int($0.id) }
        return GetOperation.Reply(operation: detail)
    }

    /// Paths are not for everybody.
    static func reason(_ error: StoreError, _ role: Peer.Role) -> String {
        role == .administrator ? error.description : error.kind
    }
}
