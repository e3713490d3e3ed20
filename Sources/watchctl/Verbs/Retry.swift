import ControlInterface

extension Verb {
    static let retry = Verb(
        name: "retry", operands: "ID|NAME…", operandCount: 1...Int.max, names: .failures,
        ids: .failures,
        summary: "run failed operations again with the same events; of a handler, all of them",
        notes: [
            "The exit status is 1 if there was nothing to try again.",
            "What read a descriptor that its source handed over (Accept=yes, Framing=ready) cannot run again: it is gone.",
        ]
    ) { (invocation, session) throws(Failure) in
        try forEachFailure(invocation) { target, name throws(Failure) in
            let reply = try session.show(Retry.self, target) { reply in
                reply.operations.map { Styled("\($0.failed) runs again as \($0.operation)") }
                    + (reply.operations.isEmpty ? [Styled("nothing of \(name) to try again", .yellow)] : [])
            }
            return (reply.operations.count, reply.more)
        }
    }

    static let forget = Verb(
        name: "forget", operands: "ID|NAME…", operandCount: 1...Int.max, names: .failures,
        ids: .failures,
        summary: "take failed operations off the list of failures; they stay in the history",
        notes: ["The exit status is 1 if there was nothing to forget."]
    ) { (invocation, session) throws(Failure) in
        try forEachFailure(invocation) { target, name throws(Failure) in
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

    /// Does it for each target, as often as there is more of it. What goes wrong with one does not keep it from the
    /// others.
    private static func forEachFailure(
        _ invocation: Invocation, _ work: (FailedTarget, String) throws(Failure) -> (count: Int, more: Bool)
    ) throws(Failure) -> ExitCode {
        var done = 0
        var failures: [Failure] = []
        for name in invocation.operands {
            let target = Int(name).map { FailedTarget(id: $0) } ?? FailedTarget(name: name)
            do throws(Failure) {
                var round: (count: Int, more: Bool)
                repeat {
                    round = try work(target, name)
                    done += round.count
                } while round.more && round.count > 0
            } catch {
                guard error.exitCode == .failed else { throw error }
                failures.append(error)
            }
        }
        if var last = failures.popLast() {
            last.details = failures.map(\.message) + last.details
            throw last
        }
        return done > 0 ? .done : .failed
    }
}
