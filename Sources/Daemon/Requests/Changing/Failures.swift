import ControlInterface
import Engine
import Store
import Varlink

/// `Retry` and `Forget`: what is done about operations that failed. Each calls `done` once.
extension Runtime {
    /// A command of somebody who may not do everything runs again where its queue still takes his.
    func retry(_ target: FailedTarget, _ peer: Peer, _ done: @escaping Request.Completion) {
        guard peer.role != .administrator, let id = target.id else { return retry(target, done) }
        failure(id, done) { [unowned self] operation in
            maySubmit(to: operation.queue, peer) { [unowned self] isAllowed in
                if isAllowed { retry(target, done) } else { done(.error(.permissionDenied)) }
            }
        }
    }

    private func retry(_ target: FailedTarget, _ done: @escaping Request.Completion) {
        failures(target, limit: Manager.maximumRetried, done) { [unowned self] failures, more in
            if let lost = failures.first(where: { !$0.hasAllEvents }) {
                let reason = "the events of operation \(lost.id) are no longer kept, so it cannot be tried again"
                return done(.of(.refused(reason: reason)))
            }
            tryAgain(failures, more, done)
        }
    }

    /// Why `Retry` would refuse a failed operation that nobody has dealt with; `nil`: nothing is known that would.
    ///
    /// - Parameter areEventsKnown: those that it has are all there are. (A list has none.)
    func retryObstacle(_ operation: EndedOperation, areEventsKnown: Bool = false) -> String? {
        guard operation.result.isFailure, !operation.isSettled else { return nil }
        if areEventsKnown, !operation.hasAllEvents { return "its events are no longer kept" }
        // It stands elsewhere than it is shown.
        if case .command(let fact)? = operation.events.last?.fact, fact.call != nil { return nil }
        if operation.isCommand, operation.events.isEmpty { return nil }
        return engine.retryObstacle(handler: operation.handler, queue: operation.queue)
    }

    private func tryAgain(_ failures: [EndedOperation], _ more: Bool, _ done: @escaping Request.Completion) {
        guard !failures.isEmpty else { return done(.of(ControlInterface.Retry.Reply(operations: [], more: more))) }
        // Until it is answered nobody else shall try them again.
        for failure in failures { recent.settle(failure.id) }
        command(.retry(failures.map(\.stored))) { [unowned self] answer in
            guard case .operations(let ids) = answer, ids.count == failures.count else {
                for failure in failures { recent.unsettle(failure.id) }
                return done(Self.failure(answer))
            }
            let retried = zip(failures, ids).map { failure, id in
                settle(failure.id, by: id)
                if engine.operation(id) != nil { self.failures.retries(failure.id, as: id) }
                return ControlInterface.Retry.Retried(failed: Int(failure.id), operation: Int(id))
            }
            done(.of(ControlInterface.Retry.Reply(operations: retried, more: more)))
        }
    }

    private func settle(_ id: UInt64, by successor: UInt64? = nil) {
        recent.settle(id, by: successor)
        failures.settle(id)
        problemsMayHaveChanged()
    }

    /// An operation has ended. If it was a retry that never ran, what had failed waits for somebody again.
    func retryMayHaveEnded(_ view: OperationView) {
        guard let failed = failures.takeRetried(view.id), view.result == .cancelled else { return }
        comeBack(failed)
    }

    /// Retries that a kill has lost, and those that still wait.
    func takeUpRetries(_ retries: [(failed: UInt64, successor: UInt64)]) {
        for (failed, successor) in retries where recent.view(successor) == nil {
            if engine.operation(successor) == nil { comeBack(failed) } else { failures.retries(failed, as: successor) }
        }
    }

    private func comeBack(_ id: UInt64) {
        recent.unsettle(id)
        persistence?.write([.untried(id)])
        persistence?.whenWritten { [unowned self] in
            ended(id) { [unowned self] result in
                guard case .success(let operation?) = result else { return }
                failures.add(operation)
                problemsMayHaveChanged()
            }
        }
    }

    func forget(_ target: FailedTarget, _ done: @escaping Request.Completion) {
        failures(target, limit: Manager.maximumPage, withEvents: false, done) { [unowned self] failures, more in
            if let failure = persistence?.failure {
                return done(.of(.storeFailing(reason: Self.reason(failure.error, .administrator))))
            }
            let ids = failures.map(\.id)
            let reply = Forget.Reply(operations: ids.map { Int($0) }, more: more)
            guard !ids.isEmpty else { return done(.of(reply)) }
            for id in ids { settle(id) }
            forget(ids) { done(.of(reply)) }
        }
    }

    // MARK: Which

    /// Those that are meant, the oldest first, or an answer that says why there are none.
    private func failures(
        _ target: FailedTarget, limit: Int, withEvents: Bool = true, _ done: @escaping Request.Completion,
        then: @escaping ([EndedOperation], _ more: Bool) -> Void
    ) {
        if let id = target.id { return failure(id, done) { then([$0], false) } }
        let name = target.name ?? ""
        failures(of: Self.handlerName(name), limit: limit, withEvents: withEvents) { [unowned self] result in
            switch result {
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, .administrator))))
            case .success(let (failures, more)):
                if failures.isEmpty, let unknown = unknownHandler(name) { return done(.of(unknown)) }
                then(failures, more)
            }
        }
    }

    private func failure(
        _ id: Int, _ done: @escaping Request.Completion, then: @escaping (EndedOperation) -> Void
    ) {
        guard let number = UInt64(exactly: id) else { return done(.of(.noSuchOperation(id: id))) }
        if let view = engine.operation(number) { return done(.of(.notFailed(id: id, state: view.state.rawValue))) }
        ended(number) { [unowned self] result in
            switch result {
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, .administrator))))
            case .success(nil): done(.of(missing(number)))
            case .success(let operation?):
                if let refusal = operation.refusal { return done(.of(refusal)) }
                then(operation)
            }
        }
    }

    /// Failed ones of a handler that nobody has dealt with.
    private func failures(
        of handler: String, limit: Int, withEvents: Bool,
        _ done: @escaping (Swift.Result<(failures: [EndedOperation], more: Bool), StoreError>) -> Void
    ) {
        let then = { [unowned self] (result: Swift.Result<[EndedOperation], StoreError>) in
            done(result.map { open(of: handler, stored: $0, limit: limit) })
        }
        guard let persistence else { return then(.success([])) }
        persistence.read(
            { reader throws(StoreError) in
                guard !withEvents else {
                    return try reader.failed(handler: handler, limit: limit + 1).map { .init($0) }
                }
                var query = HistoryQuery()
                (query.handler, query.isUnsettled, query.limit) = (handler, true, limit + 1)
                return try reader.page(query).reversed().map { .init($0) }
            }, then: then)
    }

    private func open(
        of handler: String, stored: [EndedOperation], limit: Int
    ) -> (failures: [EndedOperation], more: Bool) {
        var query = HistoryQuery()
        (query.handler, query.isUnsettled) = (handler, true)
        var byID: [UInt64: EndedOperation] = [:]
        for operation in recent.all.map({ EndedOperation($0) }) + stored { byID[operation.id] = settled(operation) }
        let all = byID.values.filter(query.wants).sorted { $1.position.isBefore($0.position) }
        return (Array(all.prefix(limit)), all.count > limit || stored.count > limit)
    }
}

extension EndedOperation {
    /// Why it cannot be tried again or forgotten.
    fileprivate var refusal: ManagerError? {
        guard result.isFailure else { return .notFailed(id: Int(id), state: result.rawValue) }
        guard isSettled else { return nil }
        let successor = successor.map { Int($0) }
        return .notFailed(id: Int(id), state: successor == nil ? "forgotten" : "retried", successor: successor)
    }
}
