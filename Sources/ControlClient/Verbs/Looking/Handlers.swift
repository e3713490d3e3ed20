import ControlInterface
import JSON
import Varlink

extension Verb {
    static let handlers = Verb(
        name: "handlers", operands: "[NAME]", operandCount: 0...1, names: .handlers,
        summary: "list the handlers, or one of them"
    ) {
        (invocation, session) throws(Failure) in
        try session.showList(ListHandlers.self) { next, _ in
            NamedListParameters(name: invocation.operands.first, after: next?.string)
        } _: {
            Lists(screen: session.screen).handlers($0.handlers)
        }
        return .done
    }
}
