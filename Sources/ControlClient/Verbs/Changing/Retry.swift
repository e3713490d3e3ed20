import ControlInterface
import JSON

extension Verb {
    static let retry = Verb(
        name: "retry", operands: "ID|NAME…", operandCount: 1...Int.max, names: .failures,
        ids: .failures,
        changes: true, summary: "run failed operations again with the same events; of a handler, all of them",
        notes: [
            "The exit status is 1 if there was nothing to try again.",
            "One that is cancelled or lost before it runs leaves what failed on the list of failures.",
            "What read a descriptor that its source handed over (Accept=yes, Framing=ready) cannot run again: it is gone.",
        ]
    ) { (invocation, session) throws(Failure) in
        try forEachFailure(invocation, session) { target, name throws(Failure) in
            let reply = try session.show(Retry.self, target) { reply in
                reply.operations.map { Styled("\($0.failed) runs again as \($0.operation)") }
                    + (reply.operations.isEmpty ? [Styled("nothing of \(name) to try again", .yellow)] : [])
            }
            return (reply.operations.count, reply.more)
        }
    }

    static let forget = Verb(
        name: "forget", operands: "[ID|NAME…]", operandCount: 0...Int.max, options: [.all], names: .failures,
        ids: .failures, changes: true, destroys: true,
        summary: "take failed operations off the list of failures; they stay in the history",
        notes: [
            "A name is that of a handler: all of its failures. With --all: those of every handler.",
            "The exit status is 1 if there was nothing to forget.",
        ]
    ) { (invocation, session) throws(Failure) in
        var invocation = invocation
        guard invocation.operands.isEmpty == invocation.has(.all) else {
            let fault = invocation.has(.all) ? "--all is every failure: name none" : "“forget” needs ID|NAME, or --all"
            throw .usage(fault, help: "usage: watchctl \(invocation.verb.synopsis)")
        }
        if invocation.has(.all) { invocation.operands = try handlersWithFailures(session) }
        guard !invocation.operands.isEmpty else {
            if session.isJSON {
                if let text = try? JSON.encode(Forget.Reply(operations: [], more: false)) { session.print(json: text) }
            } else {
                session.print([Styled("nothing to forget", .yellow)])
            }
            return .failed
        }
        return try forEachFailure(invocation, session) { target, name throws(Failure) in
            let reply = try session.show(Forget.self, target) { reply in
                let count = Phrases.count(reply.operations.count, "failure")
                return [
                    reply.operations.isEmpty
                        ? Styled("nothing of \(name) to forget", .yellow) : Styled("\(count) of \(name) forgotten")
                ]
            }
            return (reply.operations.count, reply.more)
        }
    }

    /// `handler/backup`, as `forget` takes it.
    private static func handlersWithFailures(_ session: Session) throws(Failure) -> [String] {
        var handlers: Set<String> = []
        var after: String?
        repeat {
            let parameters = ListHistory.Parameters(unsettled: true, limit: Manager.maximumPage, after: after)
            let page = try session.reply(ListHistory.self, parameters)
            handlers.formUnion(page.operations.map { "handler/\($0.handler)" })
            after = page.next
        } while after != nil
        return handlers.sorted()
    }

    /// Does it for each target, as often as there is more of it.
    private static func forEachFailure(
        _ invocation: Invocation, _ session: Session,
        _ work: (FailedTarget, String) throws(Failure) -> (count: Int, more: Bool)
    ) throws(Failure) -> ExitCode {
        var done = 0
        try invocation.forEachOperand(.handlers, session) { name throws(Failure) in
            let target = Int(name).map { FailedTarget(id: $0) } ?? FailedTarget(name: name)
            var round: (count: Int, more: Bool)
            repeat {
                round = try work(target, name)
                done += round.count
            } while round.more && round.count > 0
        }
        return done > 0 ? .done : .failed
    }
}
