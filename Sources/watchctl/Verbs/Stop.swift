import ControlInterface
import Varlink

extension Verb {
    static let stop = Verb(
        name: "stop", operands: "[PROCESS]", operandCount: 0...1,
        summary: "stop a supervised process; without a name, let running handlers end and stop the daemon"
    ) { (invocation, session) throws(Failure) in
        if let process = invocation.operands.first {
            try stop(process, session)
            return .done
        }
        try session.show(Stop.self, NoParameters()) { _ in [Styled("watchd drains and stops")] }
        return .done
    }
}
