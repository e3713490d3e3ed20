import ControlInterface
import Engine
import Varlink
import WatchFile

/// The checked request of a `Run` or `Emit` with a time: an operation that makes the call then.
struct PlannedCall: Sendable {
    var command: EngineCommand.SubmitCommand

    init(_ parameters: Run.Parameters, _ peer: Peer) throws(ManagerError) {
        guard let paths = parameters.pathBytes?.map(Runtime.normalized) else {
            throw .refused(
                reason: "paths are absolute, and have no NUL; paths_base64 has them in Base64, instead of paths")
        }
        let lines = parameters.lines ?? []
        let data = parameters.data.map { ["--data", String($0)] } ?? []
        let words = ["run"] + lines.flatMap { ["--line", $0] } + data + [parameters.name]
        try self.init(
            .run(
                name: parameters.name, paths: paths, lines: lines.map { Array($0.utf8) },
                data: parameters.data.map(Int64.init)),
            words.map { Array($0.utf8) } + paths, at: parameters.at, in: parameters.inUsec, waits: parameters.wait,
            traceparent: parameters.traceparent, peer)
    }

    init(_ parameters: Emit.Parameters, _ peer: Peer) throws(ManagerError) {
        let emission = EngineCommand.Emission(parameters)
        var words = ["emit"]
        if let data = parameters.data { words += ["--data", String(data)] }
        if let payload = emission.fact.payload { words += ["--payload", String(decoding: payload, as: UTF8.self)] }
        try self.init(
            .emit(name: parameters.name, emission.fact), (words + [parameters.name]).map { Array($0.utf8) },
            at: parameters.at, in: parameters.inUsec, waits: parameters.wait, traceparent: parameters.traceparent, peer)
    }

    private init(
        _ call: CommandFact.Call, _ words: [[UInt8]], at time: String?, in span: Int?, waits: Bool?,
        traceparent: String?,
        _ peer: Peer
    ) throws(ManagerError) {
        if waits == true {
            throw .refused(reason: "a call with a time has its reply at once; Wait is for the operation that it names")
        }
        let user = UserCredentials(user: peer.userID, group: peer.groupID, groups: [])
        var fact = CommandFact(words, user: .credentials(user))
        fact.call = call
        if let traceparent { fact.take(traceparent: traceparent) }
        fact.notBefore = try Submission.time(at: time, in: span)
        guard fact.size <= Submit.sizeLimit else {
            throw .refused(
                reason: "what it carries has \(fact.size) bytes, and until its time watchd keeps at most "
                    + "\(Submit.sizeLimit)")
        }
        command = EngineCommand.SubmitCommand(queue: Engine.clientQueue, fact, delay: span.map(Int64.init))
    }
}

extension Runtime {
    /// - Parameter reply: to the id of the operation that waits for the time.
    func plan(
        _ call: PlannedCall, _ peer: Peer, _ reply: @escaping @Sendable (Int) -> Request.Answer,
        _ done: @escaping Request.Completion
    ) {
        command(.submit(call.command), of: peer) { answer in
            switch answer {
            case .operations(let ids): done(reply(ids.first.map(Int.init) ?? 0))
            case .refused(let result, let reason): done(.of(.refused(reason: "\(result.rawValue), \(reason)")))
            default: done(Self.failure(answer))
            }
        }
    }
}
