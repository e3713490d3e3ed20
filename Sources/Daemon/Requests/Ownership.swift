import ControlInterface
import Engine
import Varlink
import WatchFile

/// Commands of clients are their own: whoever submitted one may look at it and end it.
extension Runtime {
    /// Calls `done` once with what a client may do about one operation.
    func role(of peer: Peer, for id: Int?, _ done: @escaping (Peer.Role) -> Void) {
        guard peer.role == .reader, let id = id.flatMap({ UInt64(exactly: $0) }) else { return done(peer.role) }
        if let view = engine.operation(id) {
            return done(peer.owns(view.handler, view.events) ? .administrator : .reader)
        }
        ended(id) { result in
            guard case .success(let operation?) = result else { return done(.reader) }
            done(peer.owns(operation.handler, operation.events) ? .administrator : .reader)
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

extension Peer {
    fileprivate func owns(_ handler: String, _ events: [Event]) -> Bool {
        guard handler == CommandFact.handlerName, case .command(let fact) = events.last?.fact,
            case .credentials(let credentials) = fact.user
        else { return false }
        return credentials.user == userID
    }
}
