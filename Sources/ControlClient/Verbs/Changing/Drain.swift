import ControlInterface

extension Verb {
    static let drain = Verb(
        name: "drain", operands: "[QUEUE]", operandCount: 0...1, options: [.timeout, .reason], names: .queues,
        changes: true, summary: "let a queue, or all queues, run empty, and suspend them: for maintenance",
        notes: [
            "What has its place in the queue runs to its end; what comes later waits until “watchctl resume”. It returns when",
            "nothing runs any more. If --timeout is over before that, or watchctl is interrupted, everything goes on as before.",
        ]
    ) { (invocation, session) throws(Failure) in
        let timeout = try timeout(invocation)
        let parameters = Drain.Parameters(
            queue: invocation.operands.first, reason: invocation.options[.reason], timeoutUsec: timeout)
        try session.show(Drain.self, parameters, taking: timeout.map { ($0 + 999) / 1000 }) { reply in
            let what = Phrases.count(reply.queues.count, "queue")
            return [
                Styled("\(what) drained and suspended"),
                Styled("watchctl resume \(reply.queues.joined(separator: " "))", .dim),
            ]
        }
        return .done
    }
}
