import ControlInterface
import JSON
import Varlink

extension Verb {
    static let semaphores = Verb(
        name: "semaphores", operands: "[NAME]", operandCount: 0...1, names: .semaphores,
        summary: "list the semaphores, or one of them"
    ) {
        (invocation, session) throws(Failure) in
        try session.showList(ListSemaphores.self) { next, _ in
            NamedListParameters(name: invocation.operands.first, after: next?.string)
        } _: {
            Lists(screen: session.screen).semaphores($0.semaphores)
        }
        return .done
    }
}
