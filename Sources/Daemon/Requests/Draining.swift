import ControlInterface
import Engine
import Handlers
import Varlink
import WatchFile

/// `Suspend` with `wait`, and `Drain`. Each calls `done` once.
extension Runtime {
    func suspendAndWait(
        _ parameters: Suspend.Parameters, _ peer: Peer, _ ancestry: Ancestry, _ done: @escaping Request.Completion
    ) {
        guard let until = Self.end(parameters) else { return done(.error(.invalidParameter("until"))) }
        guard parameters.timeoutUsec ?? 0 >= 0 else { return done(.error(.invalidParameter("timeout_usec"))) }
        let name = parameters.name
        let request = EngineCommand.suspendAndWait(
            name: name, by: peer.name, reason: parameters.reason, until: until,
            after: parameters.timeoutUsec.map(Int64.init), caller: operation(of: ancestry))
        command(request, of: peer) { [unowned self] answer in
            switch answer {
            case .waited: countSuspensions(name, peer.role, .done, done)
            case .timedOut: done(.of(.timedOut(what: name, state: "something still runs; it stays suspended")))
            default: done(Self.failure(answer))
            }
        }
    }

    func drain(
        _ parameters: Drain.Parameters, _ peer: Peer, _ ancestry: Ancestry, _ done: @escaping Request.Completion
    ) {
        guard parameters.timeoutUsec ?? 0 >= 0 else { return done(.error(.invalidParameter("timeout_usec"))) }
        let request = EngineCommand.DrainCommand(
            queue: parameters.queue, by: peer.name, reason: parameters.reason,
            timeout: parameters.timeoutUsec.map(Int64.init), caller: operation(of: ancestry))
        command(.drain(request), of: peer) { [unowned self] answer in
            switch answer {
            case .drained(let queues, let waiting):
                logger.log(.notice, "drained by \(peer.name): \(queues.joined(separator: ", "))")
                done(.of(Drain.Reply(queues: queues, waiting: waiting == 0 ? nil : waiting)))
            case .timedOut:
                done(
                    .of(
                        .timedOut(
                            what: parameters.queue.map { "queue \(Self.shortName($0))" } ?? "all queues",
                            state: "not empty yet; nothing is suspended for it any more")))
            default: done(Self.failure(answer))
            }
        }
    }
}
