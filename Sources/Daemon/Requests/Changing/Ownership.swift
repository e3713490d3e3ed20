import ControlInterface
import Engine
import Varlink
import WatchFile

/// Commands of clients are their own: whoever submitted one may look at it, end it, and deal with its failure.
extension Runtime {
    /// Calls `done` once with what a client may do about one operation.
    func role(of peer: Peer, for id: Int?, _ done: @escaping (Peer.Role) -> Void) {
        let role = peer.role
        guard role != .administrator, let id = id.flatMap({ UInt64(exactly: $0) }) else { return done(role) }
        if let view = engine.operation(id) { return done(role.over(view.handler, view.events)) }
        ended(id) { result in
            guard case .success(let operation?) = result else { return done(role) }
            done(role.over(operation.handler, operation.events))
        }
    }

    /// Does `work` for an administrator, or for whoever the operation is.
    func forOwner(
        of id: Int?, _ peer: Peer, _ done: @escaping Request.Completion, _ work: @escaping () -> Void
    ) {
        role(of: peer, for: id) { role in
            if role == .administrator { work() } else { done(.error(.permissionDenied)) }
        }
    }
}

extension Peer.Role {
    /// The role about an operation of this handler with these events.
    func over(_ handler: String, _ events: [Event]) -> Peer.Role {
        guard case .reader(let user) = self, handler == CommandFact.handlerName,
            case .command(let fact) = events.last?.fact, case .credentials(let credentials) = fact.user,
            credentials.user == user
        else { return self }
        return .administrator
    }
}
