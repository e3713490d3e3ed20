import ControlInterface
import JSON
import Varlink

extension Verb {
    static let timers = Verb(
        name: "timers", operands: "[NAME]", operandCount: 0...1, names: .timers,
        summary: "list the timers, or one of them, the next to fire first",
        notes: [
            "Commands that have a time (run --queue --at, --in) stand below them."
        ]
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
        if name == nil, !invocation.has(.json) { printCommands(session) }
        return .done
    }

    /// Where nobody has given a command yet, watchd knows no handler of them.
    private static func printCommands(_ session: Session) {
        let parameters = ListOperations.Parameters(handler: Submit.handlerName, state: .pending)
        guard let reply = try? session.reply(ListOperations.self, parameters) else { return }
        let commands = reply.operations.filter { $0.notBefore != nil }
        if !commands.isEmpty { session.print([Styled("")] + Lists(screen: session.screen).commands(commands)) }
    }
}
