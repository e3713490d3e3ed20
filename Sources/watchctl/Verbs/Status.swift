import ControlInterface
import Varlink

extension Verb {
    static let status = Verb(name: "status", summary: "show everything that matters on one screen") {
        (_, session) throws(Failure) in
        try session.show(GetStatus.self, NoParameters()) { StatusScreen(status: $0, screen: session.screen).lines }
        return .done
    }
}
