import ControlInterface
import Varlink

extension Verb {
    static let emit = Verb(
        name: "emit", operands: "NAME", operandCount: 1...1, options: [.data, .payload],
        summary: "fire a [Custom] source; returns when the event is accepted"
    ) { (invocation, session) throws(Failure) in
        let parameters = Emit.Parameters(
            name: invocation.operands[0], data: try invocation.number(.data), payload: try payload(invocation))
        // A source that is held back accepts the event when its queue has room again.
        try session.show(Emit.self, parameters, taking: nil) { [Styled("event \($0.event)")] }
        return .done
    }

    private static func payload(_ invocation: Invocation) throws(Failure) -> JSONValue? {
        guard let text = invocation.options[.payload] else { return nil }
        guard let value = try? JSON.decode([String: JSONValue].self, from: Array(text.utf8)) else {
            throw .usage("--payload takes a JSON object, not “\(text)”", help: #"such as --payload '{"name":"value"}'"#)
        }
        return .object(value)
    }
}
