import ControlInterface
import Engine
import Handlers
import JSON
import Schedule
import Systemd
import Varlink
import WatchFile

/// The requests that change something. Each calls `done` once.
extension Runtime {
    /// - Parameter ancestry: of a client that has to wait.
    func emit(
        _ emissions: [EngineCommand.Emission], _ peer: Peer, _ ancestry: Ancestry,
        _ reply: @escaping @Sendable ([Int]) -> Request.Answer, _ done: @escaping Request.Completion
    ) {
        command(.emit(emissions, caller: operation(of: ancestry)), of: peer) { answer in
            switch answer {
            case .events(let ids): done(reply(ids.map(Int.init)))
            default: done(Self.failure(answer))
            }
        }
    }

    func emitAndWait(
        _ emission: EngineCommand.Emission, _ peer: Peer, _ ancestry: Ancestry, _ done: @escaping Request.Completion
    ) {
        command(.emit([emission], caller: operation(of: ancestry), waits: true), of: peer) { [unowned self] answer in
            switch answer {
            case .emitted(let event, .ended(let view)):
                var reply = Emit.Reply(
                    event: Int(event), operation: Int(view.id), result: view.result.map(OperationSummary.Result.init),
                    exitStatus: view.exit.wire.status, reason: view.endReason)
                reply.unsaved = unsavedEnd(of: view.id, peer.role)
                done(.of(reply))
            case .emitted(let event, .refused(let result, let reason)):
                done(.of(Emit.Reply(event: Int(event), result: OperationSummary.Result(result), reason: reason)))
            case .emitted(let event, .nothing): done(.of(Emit.Reply(event: Int(event))))
            case .emitted(let event, .unfinished(let operations)):
                var reply = Emit.Reply(event: Int(event))
                reply.unfinished = operations.map { Int($0) }
                done(.of(reply))
            case .events(let ids): done(.of(Emit.Reply(event: Int(ids.first ?? 0))))
            default: done(Self.failure(answer))
            }
        }
    }

    func setPriority(
        _ parameters: SetPriority.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion
    ) {
        guard let id = UInt64(exactly: parameters.id) else { return done(.error(.invalidParameter("id"))) }
        guard let priority = OperationPriority(rawValue: parameters.priority) else {
            return done(.error(.invalidParameter("priority")))
        }
        command(.priority(priority, operation: id)) { [unowned self] answer in
            switch answer {
            case .done: done(.of(SetPriority.Reply(unsaved: store(role)?.reason)))
            case .failure(.noSuchOperation(let id)): isTooLate(id, done)
            default: done(Self.failure(answer))
            }
        }
    }

    /// - Parameter ancestry: of a client that waits.
    func run(
        _ parameters: Run.Parameters, _ peer: Peer, _ ancestry: Ancestry?, _ done: @escaping Request.Completion
    ) {
        guard let paths = parameters.pathBytes else {
            return done(.error(.invalidParameter(parameters.pathsMember)))
        }
        var request = EngineCommand.RunCommand(
            name: parameters.name, paths: paths.map(Self.normalized),
            lines: (parameters.lines ?? []).map { Array($0.utf8) }, data: parameters.data.map(Int64.init),
            waits: parameters.wait ?? false, caller: ancestry.flatMap(waiter),
            trace: parameters.traceparent.flatMap { TraceContext($0.utf8) })
        request.isAwaited = parameters.awaited ?? false
        command(.run(request), of: peer) { [unowned self] answer in
            switch answer {
            case .operations(let ids): done(.of(Run.Reply(operations: ids.map(Int.init))))
            case .ran(let view):
                var reply = Run.Reply(operations: [Int(view.id)], result: view.result.map(OperationSummary.Result.init))
                (reply.exitStatus, reply.reason) = (view.exit.wire.status, view.endReason)
                reply.unsaved = unsavedEnd(of: view.id, peer.role)
                done(.of(reply))
            case .refused(let result, let reason):
                done(.of(Run.Reply(operations: [], result: OperationSummary.Result(result), reason: reason)))
            default: done(Self.failure(answer))
            }
        }
    }

    func suspend(_ parameters: Suspend.Parameters, _ peer: Peer, _ done: @escaping Request.Completion) {
        guard let until = Self.end(parameters) else { return done(.error(.invalidParameter("until"))) }
        let request = EngineCommand.suspend(
            name: parameters.name, by: peer.name, reason: parameters.reason, until: until)
        command(request) { [unowned self] in countSuspensions(parameters.name, peer.role, $0, done) }
    }

    func resume(_ parameters: Resume.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        command(.resume(name: parameters.name)) { [unowned self] in
            countSuspensions(parameters.name, role, $0, done)
        }
    }

    /// When a suspension ends by itself, if it does; `nil`: that is no time.
    static func end(_ parameters: Suspend.Parameters) -> Int64?? {
        guard let text = parameters.until else { return .some(nil) }
        return (try? Timestamp(parsing: text)).map { .some($0.microseconds) }
    }

    func countSuspensions(
        _ name: String, _ role: Peer.Role, _ answer: EngineReply, _ done: @escaping Request.Completion
    ) {
        guard case .done = answer else { return done(Self.failure(answer)) }
        let found = engine.suspensions(of: name)
        let count = SuspensionCount(
            name: found?.name ?? name, suspended: found?.count ?? 0, unsaved: store(role)?.reason)
        done(.of(count))
    }

    func signal(_ parameters: Signal.Parameters, _ done: @escaping Request.Completion) {
        command(.signal(semaphore: parameters.name, count: parameters.count ?? 1)) { [unowned self] answer in
            switch answer {
            case .signaled(let given):
                // The waiting call has taken it by now.
                let name = Self.shortName(parameters.name)
                let left = engine.semaphoreViews.first { $0.definition.name == name }?.available
                done(.of(Signal.Reply(available: left ?? given)))
            default: done(Self.failure(answer))
            }
        }
    }

    func cancel(_ parameters: Cancel.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        let request: EngineCommand
        if let queue = parameters.queue {
            request = .cancelQueue(name: queue)
        } else {
            guard let id = parameters.id.flatMap({ UInt64(exactly: $0) }) else {
                return done(.error(.invalidParameter("id")))
            }
            request = .cancel(operation: id)
        }
        command(request) { [unowned self] answer in
            switch answer {
            case .cancelled(let count): done(.of(Cancel.Reply(cancelled: count, unsaved: store(role)?.reason)))
            case .failure(.noSuchOperation(let id)): isTooLate(id, done)
            default: done(Self.failure(answer))
            }
        }
    }

    /// It may have ended just now.
    private func isTooLate(_ id: UInt64, _ done: @escaping Request.Completion) {
        ended(id) { [unowned self] result in
            guard case .success(let operation?) = result else { return done(.of(missing(id))) }
            let (result, ended) = (operation.result.rawValue, wireTime(operation.ended))
            done(.of(.hasEnded(id: Int(id), result: result, ended: ended)))
        }
    }

    func steer(
        _ verb: ProcessVerb, _ parameters: ProcessName, _ peer: Peer, _ done: @escaping Request.Completion
    ) {
        noteSteering(verb, parameters.name, by: peer.name)
        command(.process(verb, name: parameters.name), of: peer) { answer in
            switch answer {
            case .processes(let name, let views):
                done(.of(ProcessCopies(name: name, processes: views.map { SupervisedProcess($0, peer.role) })))
            default: done(Self.failure(answer))
            }
        }
    }

    func reload(_ parameters: Reload.Parameters, _ ancestry: Ancestry, _ done: @escaping Request.Completion) {
        // A plan waits for nothing.
        if parameters.plan == true {
            let texts = parameters.files?.map {
                WatchFileText(file: $0.name, bytes: Array($0.text.utf8), dropInOf: $0.dropInOf)
            }
            return plan(texts) { done(Self.answer($0)) }
        }
        if parameters.files != nil { return done(.error(.invalidParameter("files"))) }
        if let refusal = refusal(of: ancestry, waitingFor: .reload) { return done(.of(refusal)) }
        reload { done(Self.answer($0)) }
    }

    private static func answer(_ outcome: ReloadOutcome) -> Request.Answer {
        switch outcome {
        case .done(let change):
            .of(
                Reload.Reply(
                    added: change.added, changed: change.changed, removed: change.removed, kept: change.kept,
                    warnings: change.warnings))
        case .invalid(let diagnostics): .of(.invalidWatchFile(diagnostics: diagnostics))
        case .refused(let error): .of(ManagerError(error))
        }
    }

    func setLogLevel(_ level: Int, _ done: @escaping Request.Completion) {
        if let level = WatchFileLogLevel(rawValue: level) { logger.level = level }
        done(.of(NoParameters()))
    }

    /// It is answered before anything has ended, so that a handler may ask for it too.
    func stop(_ done: @escaping Request.Completion) {
        done(.of(NoParameters()))
        // Asked for again it does not hurry: to see how far a stop is, some ask once more.
        guard !isStopping else { return }
        logger.log(.notice, "stopping: a client asked for it", id: .stopping)
        drain()
    }

    static func failure(_ reply: EngineReply) -> Request.Answer {
        switch reply {
        case .failure(.badCount): .error(.invalidParameter("count"))
        case .failure(let error): .of(ManagerError(error))
        default: .of(.notSupported(what: "\(reply)"))
        }
    }
}

extension ManagerError {
    init(_ error: EngineProblem) {
        self =
            switch error {
            case .noSuchName(let name, let nearest): .noSuchName(name: name, nearest: nearest)
            case .ambiguousName(let name, let candidates): .ambiguousName(name: name, candidates: candidates)
            case .noSuchOperation(let id): .noSuchOperation(id: Int(id))
            case .endUnknown(let id):
                .refused(reason: "how operation \(id) ended is not known any more, so that nothing can require it")
            case .queueFull(let queue, let backlog, let bytes):
                .queueFull(queue: queue, backlog: backlog, bytes: bytes)
            case .notSuspended(let name): .notSuspended(name: name)
            case .notCustom(let name): .notCustom(name: name)
            case .takesNoPaths(let name): .takesNoPaths(name: name)
            case .draining: .draining
            case .wouldDeadlock(let chain): .wouldDeadlock(chain: chain)
            case .noSuchTicket(let group, let ticket, let isEarlier):
                .noSuchTicket(group: group, ticket: Int(clamping: ticket), isEarlier: isEarlier)
            case .needsDescriptor(let handler): .needsDescriptor(handler: handler)
            case .notSupervised(let name): .notSupervised(name: name)
            case .notUp(let name, let reason): .notUp(name: name, reason: reason)
            case .badCount(let count): .notSupported(what: "a count of \(count)")
            case .storeFailing(let reason): .storeFailing(reason: reason)
            case .notSupported(let what): .notSupported(what: what)
            case .refused(let reason): .refused(reason: reason)
            }
    }
}

extension EngineCommand.Emission {
    /// A payload becomes text here, which takes its time: not on the core.
    init(_ parameters: Emit.Parameters) {
        let payload = parameters.payload.flatMap { try? JSON.encode($0) }
        let data = parameters.data.map(Int64.init) ?? (payload == nil ? 1 : nil)
        self.init(
            name: parameters.name, fact: CustomFact(data: data, payload: payload),
            trace: parameters.traceparent.flatMap { TraceContext($0.utf8) })
    }
}
