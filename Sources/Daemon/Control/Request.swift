import WatchFile
import Handlers
import ControlInterface
import Varlink

/// One decoded call, ready to be answered on the core.
struct Request: Sendable {
    /// What goes back; encoding happens on the control context.
    enum Answer: Sendable {
        case reply(@Sendable (inout ServerConnection, Int) -> Void)
        case error(ErrorReply)

        static func of(_ value: some Encodable & Sendable) -> Answer {
            .reply { connection, call in connection.reply(to: call, with: value) }
        }

        static func of(_ error: ManagerError) -> Answer { .error(error.reply) }
    }

    typealias Completion = @Sendable (Answer) -> Void

    private let work: @Sendable (Runtime, @escaping Completion) -> Void

    /// - Throws: what the client did wrong: parameters that are none, or a right that it has not.
    init(_ call: Call, _ peer: Peer) throws(ErrorReply) {
        work = try Self.method(call, peer)
    }

    /// On the core; `done` is called once, now or later.
    func perform(_ runtime: Runtime, _ done: @escaping Completion) { work(runtime, done) }

    private typealias Work = @Sendable (Runtime, @escaping Completion) -> Void

    private static func method(_ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        switch call.method {
        case "io.systemd.service.Ping": return { _, done in done(.of(NoParameters())) }
        case "io.systemd.service.GetLogLevel":
            return { runtime, done in done(.of(Varlink.LogLevel(level: runtime.logger.level.rawValue))) }
        case GetStatus.fullName: return { runtime, done in done(.of(runtime.status(peer.role))) }
        case ListSources.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.sources(parameters, peer.role)
            }
        case ListQueues.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.queues(parameters, peer.role)
            }
        case ListHandlers.fullName:
            return try list(call) { runtime, parameters throws(ManagerError) in
                try runtime.handlers(parameters, peer.role)
            }
        case ListOperations.fullName:
            let parameters: ListOperations.Parameters = try call.parameters()
            return { runtime, done in done(.of(runtime.operations(parameters, peer.role))) }
        case GetOperation.fullName:
            let parameters: GetOperation.Parameters = try call.parameters()
            return { runtime, done in done(runtime.operation(parameters, peer.role)) }
        default: return try change(call, peer)
        }
    }

    private static func list<Reply: Encodable & Sendable>(
        _ call: Call,
        _ answer: @escaping @Sendable (Runtime, NamedListParameters) throws(ManagerError) -> Reply
    ) throws(ErrorReply) -> Work {
        let parameters: NamedListParameters = try call.parameters()
        return { runtime, done in
            do throws(ManagerError) { done(.of(try answer(runtime, parameters))) } catch { done(.of(error)) }
        }
    }

    /// What changes something is for those who may.
    private static func change(_ call: Call, _ peer: Peer) throws(ErrorReply) -> Work {
        guard peer.role == .administrator else { throw .permissionDenied }
        switch call.method {
        case "io.systemd.service.Reload": return { runtime, done in runtime.reload(Reload.Parameters(), done) }
        case "io.systemd.service.SetLogLevel":
            let level = try call.parameters(as: Varlink.LogLevel.self).level
            return { runtime, done in runtime.setLogLevel(level, done) }
        case Emit.fullName:
            let parameters: Emit.Parameters = try call.parameters()
            return { runtime, done in runtime.emit(parameters, done) }
        case EmitAll.fullName:
            let parameters: EmitAll.Parameters = try call.parameters()
            return { runtime, done in runtime.emitAll(parameters, done) }
        case Run.fullName:
            let parameters: Run.Parameters = try call.parameters()
            return { runtime, done in runtime.run(parameters, done) }
        case Suspend.fullName:
            let parameters: Suspend.Parameters = try call.parameters()
            return { runtime, done in runtime.suspend(parameters, peer, done) }
        case Resume.fullName:
            let parameters: Resume.Parameters = try call.parameters()
            return { runtime, done in runtime.resume(parameters, done) }
        case Cancel.fullName:
            let parameters: Cancel.Parameters = try call.parameters()
            return { runtime, done in runtime.cancel(parameters, done) }
        case Reload.fullName:
            let parameters: Reload.Parameters = try call.parameters()
            return { runtime, done in runtime.reload(parameters, done) }
        case Stop.fullName: return { runtime, done in runtime.stop(done) }
        default: throw .methodNotImplemented(call.method)
        }
    }
}
