import ControlInterface
import Varlink

extension Verb {
    static let stop = Verb(name: "stop", summary: "let running handlers end, then stop the daemon") {
        (_, session) throws(Failure) in
        try session.show(Stop.self, NoParameters()) { _ in [Styled("watchd drains and stops")] }
        return .done
    }
}
