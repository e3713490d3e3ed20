import ControlInterface
import JSON
import Varlink

extension Verb {
    static let timers = Verb(
        name: "timers", operands: "[NAME]", operandCount: 0...1, names: .timers,
        summary: "list the timers, or one of them, the next to fire first",
        notes: [
            "Commands, runs and events that have a time (--at, --in) stand below them; with --json, as operations."
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
        let parameters = { (next: JSONValue?, _: Int) in NamedListParameters(name: name, after: next?.string) }
        let isTimer = { (source: JSONValue) in source.members?["kind"]?.string == kind }
        // Also those with a time that clients have given.
        let planned = name == nil ? plannedOperations(session) : nil
        if invocation.has(.json) {
            try session.showList(
                ListSources.self, parameters, keeping: isTimer,
                adding: planned.map { ["operations": .array($0)] } ?? [:]
            ) { _ in [] }
            return .done
        }
        try session.showList(ListSources.self, parameters, keeping: isTimer) {
            Lists(screen: session.screen).timers($0.sources)
        }
        if let operations = planned.flatMap(summaries), !operations.isEmpty {
            session.print([Styled("")] + Lists(screen: session.screen).commands(operations))
        }
        return .done
    }

    /// Where nobody has given a command yet, watchd knows no handler of them.
    private static func plannedOperations(_ session: Session) -> [JSONValue] {
        var parameters = ListOperations.Parameters(handler: Submit.handlerName, state: .pending)
        var all: [JSONValue] = []
        repeat {
            guard let reply = try? session.call(ListOperations.self, parameters, taking: 0),
                let page = try? reply.parameters(as: [String: JSONValue].self)
            else { break }
            if case .array(let operations) = page["operations"] {
                all += operations.filter { $0.members?["not_before"]?.string != nil }
            }
            parameters.after = page["next"]?.int.map { Int($0) }
        } while parameters.after != nil
        // In UTC, all of one form.
        return all.sorted { ($0.members?["not_before"]?.string ?? "") < ($1.members?["not_before"]?.string ?? "") }
    }

    private static func summaries(_ operations: [JSONValue]) -> [OperationSummary]? {
        guard let text = try? JSON.encode(operations) else { return nil }
        return try? JSON.decode([OperationSummary].self, from: text)
    }
}
