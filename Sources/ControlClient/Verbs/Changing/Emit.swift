import ControlInterface
import JSON
import Varlink

extension Verb {
    static let emit = Verb(
        name: "emit", operands: "NAME", operandCount: 1...1, options: [.data, .payload, .wait] + timeOptions,
        names: .customs,
        changes: true, summary: "fire a [Custom] source; returns when the event is accepted",
        notes: [
            "With --wait it returns when all that the event started, or joined, has ended, and ends with its exit status.",
            "With a time it is fired then, also after a restart; timers lists it, and cancel takes back its number.",
        ]
    ) { (invocation, session) throws(Failure) in
        var parameters = Emit.Parameters(
            name: invocation.operands[0], data: try invocation.number(.data), payload: try payload(invocation))
        parameters.traceparent = traceparent
        if let start = try startTime(invocation, session) {
            (parameters.at, parameters.inUsec) = start
            try session.show(Emit.self, parameters) { reply in
                reply.operation.map { [planned($0, "emit \(invocation.operands[0])", start, session)] } ?? []
            }
            return .done
        }
        if invocation.has(.wait) { return try emitAndWait(parameters, session) }
        // A source that is held back accepts the event when its queue has room again; a durable one when it is stored.
        try session.show(Emit.self, parameters) {
            "\(obstacle(invocation.operands[0], session)); waiting until the event is accepted (Ctrl-C ends that)"
        } _: {
            // Only data 0 makes none.
            [
                Styled($0.event == 0 ? "no event: data 0 is none" : "event \($0.event)")
            ]
        }
        return .done
    }

    private static func emitAndWait(
        _ parameters: Emit.Parameters, _ session: Session
    ) throws(Failure) -> ExitCode {
        var parameters = parameters
        parameters.wait = true
        let reply = try session.show(Emit.self, parameters, taking: nil) { reply in
            guard reply.event > 0 else { return [Styled("no event: data 0 is none")] }
            guard let result = reply.result else { return [Styled("event \(reply.event): no handler wants it")] }
            let operation = reply.operation.map { ", operation \($0)" } ?? ""
            return [
                Styled("event \(reply.event)\(operation): ")
                    + OperationText.result(result, exitStatus: reply.exitStatus, reason: reply.reason)
                    + Styled(Phrases.unsaved(reply.unsaved, crash: "it runs again"))
            ]
        }
        return reply.result.map { code($0, reply.exitStatus) } ?? .done
    }

    /// Why an event is not accepted yet.
    private static func obstacle(_ name: String, _ session: Session) -> String {
        guard let status = session.statusSoon() else { return "watchd does not answer" }
        if let store = status.store, store.state == .failing {
            return "watchd's store cannot be used now: \(store.reason ?? "nobody knows why")"
        }
        let source = name.contains("/") ? name : "custom/\(name)"
        if let pause = status.pauses.first(where: { $0.object == source }) {
            let kept = Phrases.count(pause.kept, "event")
            return "\(source) is suspended and keeps \(kept), as many as it can (watchctl resume \(source))"
        }
        return "the event is not accepted yet: its queue may be full (watchctl queues)"
    }

    private static func payload(_ invocation: Invocation) throws(Failure) -> JSONValue? {
        guard let text = invocation.options[.payload] else { return nil }
        let read: JSONText
        var limits = JSONText.Limits.foreign
        limits.nesting -= levelsAround
        do throws(JSONSyntaxError) {
            read = try JSONText(Array(text.utf8), limits: limits)
        } catch {
            if case .tooDeep = error { throw .usage("--payload is \(error.reason), which watchd does not take") }
            throw notAnObject(text)
        }
        if let fault = read.fault { throw .usage("--payload cannot be kept as it is written: \(fault.reason)") }
        guard read.value.members != nil else { throw notAnObject(text) }
        return read.value
    }

    /// The call and its parameters.
    private static let levelsAround = 2

    private static func notAnObject(_ text: String) -> Failure {
        .usage("--payload takes a JSON object, not “\(text)”", help: #"such as --payload '{"name":"value"}'"#)
    }
}
