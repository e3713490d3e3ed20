import ControlInterface
import Varlink

extension Verb {
    static let timers = Verb(
        name: "timers", operands: "[NAME]", operandCount: 0...1, names: .timers,
        summary: "list the timers, or one of them, the next to fire first"
    ) { (invocation, session) throws(Failure) in
        let kind = "timer"
        let name = try invocation.operands.first.map { name throws(Failure) in
            guard name.contains("/") else { return "\(kind)/\(name)" }
            guard name.hasPrefix("\(kind)/") else {
                throw .usage("“\(name)” is no timer", help: "watchctl sources \(name)")
            }
            return name
        }
        try session.showList(ListSources.self) { next, _ in
            NamedListParameters(name: name, after: next?.string)
        } keeping: {
            $0.members?["kind"]?.string == kind
        } _: {
            Lists(screen: session.screen).timers($0.sources)
        }
        return .done
    }
}
