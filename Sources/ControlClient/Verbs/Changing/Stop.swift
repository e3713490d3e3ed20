import ControlInterface
import Varlink

extension Verb {
    static let stop = Verb(
        name: "stop", operands: "[PROCESS…]", operandCount: 0...Int.max, changes: true, destroys: true,
        summary: "stop supervised processes; without a name, let running handlers end and stop the daemon",
        notes: ["Asked for again while it stops, it changes nothing; a second SIGTERM hurries (watchd(8))."]
    ) { (invocation, session) throws(Failure) in
        guard invocation.operands.isEmpty else {
            try invocation.forEachOperand(.processes, session) { process throws(Failure) in try stop(process, session) }
            return .done
        }
        try session.show(Stop.self, NoParameters()) { _ in [Styled("watchd drains and stops")] }
        return .done
    }
}
