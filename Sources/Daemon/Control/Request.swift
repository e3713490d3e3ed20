import ControlInterface
import Engine
import Handlers
import Varlink
import WatchFile

/// One decoded call, ready to be answered on the core.
struct Request: Sendable {
    /// The reply; encoding happens on the control context.
    enum Answer: Sendable {
        case reply(@Sendable (inout ServerConnection, Int) -> Void)
        case error(ErrorReply)

        static func of(_ value: some Encodable & Sendable) -> Answer {
            .reply { connection, call in connection.reply(to: call, with: value) }
        }

        static func of(_ error: ManagerError) -> Answer { .error(error.reply) }
    }

    typealias Completion = @Sendable (Answer) -> Void

    /// The work on the core; it calls its completion once, now or later.
    enum Work: Sendable {
        case plain(@Sendable (Runtime, @escaping Completion) -> Void)
        /// It may have to wait, and must not wait for the run that its client is a part of.
        case waiting(@Sendable (Runtime, Ancestry, @escaping Completion) -> Void)
        /// Looks the client up only where the first closure says that the request has to wait as things stand.
        case perhapsWaiting(
            @Sendable (Runtime) -> Bool, @Sendable (Runtime, Ancestry, @escaping Completion) -> Void)
    }

    let work: Work
    /// The kinds of objects that its names may name; empty: it has none.
    let kinds: [String]

    /// - Throws: what the client did wrong: parameters that are none, or a right that it has not.
    init(_ call: Call, _ peer: Peer) throws(ErrorReply) {
        work = try Self.method(call, peer)
        kinds = Self.kinds(call.method)
    }

    private static func kinds(_ method: String) -> [String] {
        switch method {
        case ListSources.fullName, Emit.fullName, EmitAll.fullName: ["source"]
        case ListQueues.fullName: ["queue"]
        case Cancel.fullName: ["queue", "operation"]
        case ListHandlers.fullName, ControlInterface.Retry.fullName, Forget.fullName: ["handler"]
        case ListSemaphores.fullName, Signal.fullName, Acquire.fullName: ["semaphore"]
        case ListOperations.fullName: ["queue", "handler"]
        case EnterGroup.fullName, LeaveGroup.fullName: ["group"]
        case Wait.fullName: ["queue", "group", "operation"]
        case Submit.fullName, Drain.fullName: ["queue"]
        case Run.fullName, ListHistory.fullName, GetOutput.fullName: ["handler", "source"]
        case Suspend.fullName, Resume.fullName: ["source", "queue"]
        case Explain.fullName: ["queue", "handler", "source", "group", "semaphore", "process"]
        case Start.fullName, StopProcess.fullName, Restart.fullName: ["process"]
        default: []
        }
    }

    /// Methods that say what to do by their name alone.
    private static let withoutParameters: Set<String> = [
        "io.systemd.service.Ping", "io.systemd.service.GetLogLevel", "io.systemd.service.Reload", GetStatus.fullName,
        Stop.fullName,
    ]

    private static func method(_ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        if withoutParameters.contains(call.method) { _ = try call.parameters(as: NoParameters.self) }
        switch call.method {
        case "io.systemd.service.Ping": return .plain { _, done in done(.of(NoParameters())) }
        case "io.systemd.service.GetLogLevel":
            return .plain { runtime, done in done(.of(Varlink.LogLevel(level: runtime.logger.level.rawValue))) }
        case GetStatus.fullName: return .plain { runtime, done in runtime.status(peer.role, done) }
        case ListSources.fullName:
            let parameters: NamedListParameters = try call.parameters()
            return .plain { runtime, done in runtime.sources(parameters, peer.role, done) }
        case ListQueues.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.queues(parameters, peer.role)
            }
        case ListSemaphores.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.semaphores(parameters, peer.role)
            }
        case ListHandlers.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.handlers(parameters, peer.role)
            }
        case ListNames.fullName:
            let parameters: ListNames.Parameters = try call.parameters()
            return .plain { runtime, done in done(.of(runtime.names(parameters))) }
        case ListOperations.fullName:
            let parameters: ListOperations.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.operations(parameters, peer.role, done) }
        case GetOperation.fullName:
            let parameters: GetOperation.Parameters = try call.parameters()
            return .plain { runtime, done in
                runtime.role(of: peer, for: parameters.id) { runtime.operation(parameters, $0, done) }
            }
        case GetOutput.fullName:
            let parameters: GetOutput.Parameters = try call.parameters()
            return .plain { runtime, done in
                runtime.role(of: peer, for: parameters.id) { runtime.output(parameters, $0, done) }
            }
        case ListHistory.fullName:
            let parameters: ListHistory.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.history(parameters, peer.role, done) }
        case Explain.fullName:
            let parameters: Explain.Parameters = try call.parameters()
            return .plain { runtime, done in
                runtime.role(of: peer, for: parameters.id) { runtime.explain(parameters, $0, done) }
            }
        case Wait.fullName:
            let parameters: Wait.Parameters = try call.parameters()
            return .waiting { runtime, ancestry, done in runtime.wait(parameters, peer, ancestry, done) }
        case Submit.fullName:
            let parameters: Submit.Parameters = try call.parameters()
            return submit(parameters, peer)
        case Cancel.fullName:
            let parameters: Cancel.Parameters = try call.parameters()
            return .plain { runtime, done in
                runtime.forOwner(of: parameters.id, peer, done) { runtime.cancel(parameters, peer.role, done) }
            }
        case ControlInterface.Retry.fullName:
            let target: FailedTarget = try call.parameters()
            return .plain { runtime, done in
                runtime.forOwner(of: target.id, peer, done) { runtime.retry(target, peer, done) }
            }
        case Forget.fullName:
            let target: FailedTarget = try call.parameters()
            return .plain { runtime, done in
                runtime.forOwner(of: target.id, peer, done) { runtime.forget(target, done) }
            }
        default: return try change(call, peer)
        }
    }

    /// A long command is read here, not on the core; who may give it, the queue says.
    private static func submit(_ parameters: Submit.Parameters, _ peer: Peer) -> Work {
        let submission = Swift.Result { () throws(ManagerError) in try Submission(parameters, peer) }
        guard parameters.wait == true else {
            return .plain { runtime, done in runtime.submit(submission, on: parameters.queue, peer, nil, done) }
        }
        return .waiting { runtime, ancestry, done in
            runtime.submit(submission, on: parameters.queue, peer, ancestry, done)
        }
    }

    private static func list<Reply: Encodable & Sendable>(
        _ call: Call,
        _ answer: @escaping @Sendable (Runtime, NamedListParameters) throws(ManagerError) -> Reply
    ) throws(ErrorReply) -> Work {
        let parameters: NamedListParameters = try call.parameters()
        return .plain { runtime, done in
            do throws(ManagerError) { done(.of(try answer(runtime, parameters))) } catch { done(.of(error)) }
        }
    }

    private static func emit(
        _ emissions: [EngineCommand.Emission], _ peer: Peer, _ reply: @escaping @Sendable ([Int]) -> Answer
    ) -> Work {
        let hasToWait: @Sendable (Runtime) -> Bool = {
            $0.engine.processesRunning > 0 && $0.engine.hasToWait(emissions)
        }
        return .perhapsWaiting(hasToWait) { runtime, ancestry, done in
            runtime.emit(emissions, peer, ancestry, reply, done)
        }
    }

    /// A call with a time.
    private static func plan<Reply: Encodable & Sendable>(
        _ peer: Peer, _ reply: @escaping @Sendable (Int) -> Reply, _ call: () throws(ManagerError) -> PlannedCall
    ) -> Work {
        do throws(ManagerError) {
            let planned = try call()
            return .plain { runtime, done in runtime.plan(planned, peer, { .of(reply($0)) }, done) }
        } catch {
            return .plain { _, done in done(.of(error)) }
        }
    }

    /// Changes of the daemon, for those who have the right.
    private static func change(_ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        guard peer.role == .administrator else { throw .permissionDenied }
        switch call.method {
        case "io.systemd.service.Reload":
            // Of this interface, which knows no plan, and no differences.
            return .waiting { runtime, ancestry, done in
                runtime.reload(Reload.Parameters(), ancestry) { answer in
                    if case .error = answer { done(answer) } else { done(.of(NoParameters())) }
                }
            }
        case "io.systemd.service.SetLogLevel":
            let level = try call.parameters(as: Varlink.LogLevel.self).level
            return .plain { runtime, done in runtime.setLogLevel(level, done) }
        case Emit.fullName:
            let parameters: Emit.Parameters = try call.parameters()
            if parameters.at != nil || parameters.inUsec != nil {
                return plan(peer, { Emit.Reply(event: 0, operation: $0) }) { () throws(ManagerError) in
                    try PlannedCall(parameters, peer)
                }
            }
            let emission = EngineCommand.Emission(parameters)
            if parameters.wait == true {
                return .waiting { runtime, ancestry, done in runtime.emitAndWait(emission, peer, ancestry, done) }
            }
            return emit([emission], peer) { .of(Emit.Reply(event: $0.first ?? 0)) }
        case EmitAll.fullName:
            let events = try call.parameters(as: EmitAll.Parameters.self).events
            guard events.allSatisfy({ $0.wait == nil && $0.at == nil && $0.inUsec == nil }) else {
                throw .invalidParameter("events")
            }
            let emissions = events.map(EngineCommand.Emission.init)
            return emit(emissions, peer) { .of(EmitAll.Reply(events: $0)) }
        case Run.fullName:
            let parameters: Run.Parameters = try call.parameters()
            if parameters.changed == true {
                guard parameters == Run.Parameters(name: parameters.name, changed: true) else {
                    throw .invalidParameter("changed")
                }
                return .plain { runtime, done in runtime.compare(parameters.name, done) }
            }
            if parameters.at != nil || parameters.inUsec != nil {
                return plan(peer, { Run.Reply(operations: [$0]) }) { () throws(ManagerError) in
                    try PlannedCall(parameters, peer)
                }
            }
            guard parameters.wait == true else {
                return .plain { runtime, done in runtime.run(parameters, peer, nil, done) }
            }
            return .waiting { runtime, ancestry, done in runtime.run(parameters, peer, ancestry, done) }
        case Reload.fullName:
            let parameters: Reload.Parameters = try call.parameters()
            return .waiting { runtime, ancestry, done in runtime.reload(parameters, ancestry, done) }
        case Stop.fullName: return .plain { runtime, done in runtime.stop(done) }
        default: return try steer(call, peer)
        }
    }

    /// Changes of the course of queues, semaphores, groups and operations.
    private static func steer(_ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        switch call.method {
        case Suspend.fullName:
            let parameters: Suspend.Parameters = try call.parameters()
            guard parameters.wait == true else {
                return .plain { runtime, done in runtime.suspend(parameters, peer, done) }
            }
            return .waiting { runtime, ancestry, done in runtime.suspendAndWait(parameters, peer, ancestry, done) }
        case Drain.fullName:
            let parameters: Drain.Parameters = try call.parameters()
            return .waiting { runtime, ancestry, done in runtime.drain(parameters, peer, ancestry, done) }
        case Acquire.fullName:
            let parameters: Acquire.Parameters = try call.parameters()
            return .waiting { runtime, ancestry, done in runtime.acquire(parameters, peer, ancestry, done) }
        case Resume.fullName:
            let parameters: Resume.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.resume(parameters, peer.role, done) }
        case Signal.fullName:
            let parameters: Signal.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.signal(parameters, done) }
        case EnterGroup.fullName:
            let parameters: EnterGroup.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.enterGroup(parameters, peer, done) }
        case LeaveGroup.fullName:
            let parameters: LeaveGroup.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.leaveGroup(parameters, peer, done) }
        case SetPriority.fullName:
            let parameters: SetPriority.Parameters = try call.parameters()
            return .plain { runtime, done in runtime.setPriority(parameters, peer.role, done) }
        case Start.fullName: return try steer(.start, call, peer)
        case StopProcess.fullName: return try steer(.stop, call, peer)
        case Restart.fullName: return try steer(.restart, call, peer)
        default: throw .methodNotImplemented(call.method)
        }
    }

    private static func steer(_ verb: ProcessVerb, _ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        let parameters: ProcessName = try call.parameters()
        return .plain { runtime, done in runtime.steer(verb, parameters, peer, done) }
    }
}
