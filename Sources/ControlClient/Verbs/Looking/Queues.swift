import ControlInterface
import JSON
import Varlink

extension Verb {
    static let queues = Verb(
        name: "queues", operands: "[NAME]", operandCount: 0...1, names: .queues,
        summary: "list the queues, or one of them"
    ) {
        (invocation, session) throws(Failure) in
        try session.showList(ListQueues.self) { next, _ in
            NamedListParameters(name: invocation.operands.first, after: next?.string)
        } _: {
            Lists(screen: session.screen).queues($0.queues)
        }
        return .done
    }
}
