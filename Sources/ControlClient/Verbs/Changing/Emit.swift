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
        let answer = try session.call(Emit.self, parameters, taking: nil) { trouble(parameters.name, session) }
        var reply = try session.decoded(Emit.self, answer)
        if let operations = reply.unfinished { try wait(for: operations, &reply, session) }
        if session.isJSON {
            if let text = try? JSON.encode(reply) { session.print(json: text) }
        } else {
            session.print([sentence(reply)])
        }
        return reply.result.map { code($0, reply.exitStatus) } ?? .done
    }

    private static func sentence(_ reply: Emit.Reply) -> Styled {
        guard reply.event > 0 else { return Styled("no event: data 0 is none") }
        guard let result = reply.result else { return Styled("event \(reply.event): no handler wants it") }
        let operation = reply.operation.map { ", operation \($0)" } ?? ""
        return Styled("event \(reply.event)\(operation): ")
            + OperationText.whole(result, exitStatus: reply.exitStatus, reason: reply.reason)
            + Styled(Phrases.unsaved(reply.unsaved, crash: "it runs again"))
    }

    /// Waits for what the event has started, over the stop of watchd that has ended the call; the worst end counts.
    private static func wait(
        for operations: [Int], _ reply: inout Emit.Reply, _ session: Session
    ) throws(Failure) {
        guard let worst = try session.ends(of: operations).worst else {
            throw Failure(
                message: "event \(reply.event) was accepted, but watchd stops before its handlers have it",
                help: "a durable queue keeps it; after the next start watchctl history tells what became of it",
                exitCode: .failed)
        }
        (reply.operation, reply.result, reply.exitStatus) = (worst.id, worst.result, worst.exitStatus)
        (reply.reason, reply.unsaved, reply.unfinished) = (worst.endReason, worst.unsaved, nil)
    }

    /// Why an event is not accepted yet.
    private static func obstacle(_ name: String, _ session: Session) -> String {
        trouble(name, session, whereKept: ", as many as it can")
            ?? "the event is not accepted yet: its queue may be full, or watchd starts (watchctl status)"
    }

    /// Why an event does not come to its handlers; `nil`: nothing is known to be in its way.
    private static func trouble(
        _ name: String, _ session: Session, whereKept reason: String = ""
    ) -> String? {
        guard let status = session.statusSoon() else { return "watchd does not answer" }
        if let store = status.store, store.state == .failing {
            return "watchd's store cannot be used now: \(store.reason ?? "nobody knows why")"
        }
        let source = name.contains("/") ? name : "custom/\(name)"
        if let pause = status.pauses.first(where: { $0.object == source }) {
            let kept = Phrases.count(pause.kept, "event")
            return "\(source) is suspended and keeps \(kept)\(reason) (watchctl resume \(source))"
        }
        return nil
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
