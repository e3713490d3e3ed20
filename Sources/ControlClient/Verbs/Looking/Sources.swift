import ControlInterface
import JSON
import Varlink

extension Verb {
    static let sources = Verb(
        name: "sources", operands: "[NAME]", operandCount: 0...1, names: .sources,
        summary: "list the sources, or one of them"
    ) {
        (invocation, session) throws(Failure) in
        try session.showList(ListSources.self) { next, _ in
            NamedListParameters(name: invocation.operands.first, after: next?.string)
        } _: {
            Lists(screen: session.screen).sources($0.sources)
        }
        return .done
    }
}
