import ControlInterface

extension Verb {
    static let drain = Verb(
        name: "drain", operands: "[QUEUE]", operandCount: 0...1, options: [.timeout, .reason], names: .queues,
        changes: true, summary: "let a queue, or all queues, run empty, and suspend them: for maintenance",
        notes: [
            "What has its place in the queue runs to its end; what comes later waits until “watchctl resume”. It returns when",
            "nothing runs any more. If --timeout is over before that, or watchctl is interrupted, everything goes on as before.",
            "What waits in a queue that is suspended already stays there, and is counted. A global queue that others lead to",
            "goes on with what comes for itself until those are empty.",
        ]
    ) { (invocation, session) throws(Failure) in
        let timeout = try timeout(invocation)
        let parameters = Drain.Parameters(
            queue: invocation.operands.first, reason: invocation.options[.reason], timeoutUsec: timeout)
        try session.show(Drain.self, parameters, taking: timeout.map { ($0 + 999) / 1000 }) { reply in
            let what = Phrases.count(reply.queues.count, "queue")
            let waiting = reply.waiting.map { "; \(Phrases.count($0, "operation")) left where it was suspended before" }
            let names = reply.queues.map { "queue/\($0)" }.joined(separator: " ")
            return [
                Styled("\(what) drained and suspended\(waiting ?? "")"), Styled("watchctl resume \(names)", .dim),
            ]
        }
        return .done
    }
}
