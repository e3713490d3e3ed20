import ControlInterface
import JSON
import LinuxSystem

extension Verb {
    static let wait = Verb(
        name: "wait", operands: "QUEUE|GROUP|ID", operandCount: 1...1, options: [.timeout],
        ids: .pending,
        summary: "wait until a queue or group is empty or an operation has ended",
        notes: [
            "With --timeout it waits no longer than this, such as 30s or “1h 30min”.",
            "The exit status is 1 if the operation did not succeed, or if the time was over before it ended.",
            "Without --timeout the wait for an operation goes on over a restart of the daemon that takes less than 30s.",
        ]
    ) { (invocation, session) throws(Failure) in
        let target = invocation.operands[0]
        let timeout = try timeout(invocation)
        let parameters =
            Int(target).map { Wait.Parameters(id: $0, timeoutUsec: timeout) }
            ?? Wait.Parameters(name: target, timeoutUsec: timeout)
        func lines(_ reply: Wait.Reply) -> [Styled] {
            guard let operation = reply.operation else { return [Styled("\(target): nothing waits or runs")] }
            let detail = OperationText.detail(operation, session.screen)
            return [
                Styled("\(operation.handler) \(operation.id): ") + OperationText.brief(operation)
                    + Styled(detail.isEmpty ? "" : ", \(detail)")
                    + Styled(Phrases.unsaved(operation.unsaved, crash: "it runs again"))
            ]
        }
        let reply: Wait.Reply
        if let id = parameters.id, timeout == nil {
            // Where there is no socket, no watchd was killed that may come back: this says so.
            if (try? Linux.stat(session.socketPath)) == nil { _ = try session.connect() }
            reply = Wait.Reply(operation: try session.end(of: id, follows: false))
            if let text = session.isJSON ? try? JSON.encode(reply) : nil { session.print(json: text) }
            if !session.isJSON { session.print(lines(reply)) }
        } else {
            reply = try session.show(Wait.self, parameters, taking: timeout.map { ($0 + 999) / 1000 }, lines)
        }
        return reply.operation.map { $0.result == .done } ?? true ? .done : .failed
    }
}
