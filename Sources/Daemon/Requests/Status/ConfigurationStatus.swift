import ControlInterface
import LinuxSystem

/// `GetStatus`: watch files that are not in force, or would not be after a start.
extension Runtime {
    func configurationProblems(_ role: Peer.Role) -> [GetStatus.Problem] {
        let refused = refusal.map { refusal in
            GetStatus.Problem(
                object: "watch files", since: wireTime(refusal.since),
                problem: role == .administrator ? "\(refusal.verb): \(refusal.reason)" : refusal.verb,
                action: refusal.action, help: "watchctl reload shows where, and takes them when they are right")
        }
        let unkept = keeper?.failure.map { failure in
            GetStatus.Problem(
                object: "watch files", since: wireTime(failure.since),
                problem: "not kept for the next start: "
                    + (role == .administrator ? "\(failure.error)" : failure.error.kind),
                action: "on files with errors that would run older ones, or nothing; watchd tries again by itself")
        }
        return [refused, unkept].compactMap(\.self)
    }
}

extension Refusal {
    fileprivate var verb: String {
        switch occasion {
        case .start: "refused at the start"
        case .reload: "reload refused"
        }
    }

    fileprivate var action: String {
        switch occasion {
        case .start: "the last configuration that was in force runs"
        case .reload: "the old ones stay active"
        }
    }
}
