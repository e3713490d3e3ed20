import Schedule
import WatchFile

/// `watchctl suspend --wait`: until nothing runs of a source or on a queue, whatever waits there.
extension Engine {
    mutating func suspendAndWait(
        _ name: String, by: String, reason: String?, until: Int64?, after span: Int64?, caller: UInt64?, _ token: Token
    ) throws(CommandError) {
        let subject: Calls.Subject
        switch try resolveSuspendable(name) {
        case .source(let source): subject = .idleSource(source)
        case .queue(let queue): subject = .idleQueue(queue)
        case .handler, .semaphore: throw .noSuchName(name, nearest: nil)
        }
        let running = runners(subject)
        if let caller, let chain = deadlock(of: caller, .operations(running)) { throw .wouldDeadlock(chain: chain) }
        try suspend(name, by: by, reason: reason, until: until)
        guard !running.isEmpty else { return reply(token, .waited(nil), isSafe: false) }
        var wait = Calls.Wait(subject: subject, name: name)
        wait.caller = caller
        if let span {
            let deadline = now.monotonic + min(max(0, span), .max / 4)
            wait.deadline = deadline
            deadlines.add(.wait(token), .monotonic, at: deadline)
        }
        calls.wait(wait, token)
    }

    /// Operations that run and keep the wait for a subject from its end.
    func runners(_ subject: Calls.Subject) -> [OperationRef] {
        switch subject {
        case .idleQueue(let queue): runners(on: Set(scheduler[queue].through))
        case .idleSource(let source):
            operations.refs.filter { operations[$0].source == source && !operations[$0].runs.isEmpty }
        case .operation, .queue, .group, .held: []
        }
    }

    func runners(on queues: Set<Int>) -> [OperationRef] {
        operations.refs.filter { ref in
            !operations[ref].runs.isEmpty && !isDisjoint(scheduler[operations[ref].queue].chain, queues)
        }
    }

    private func isDisjoint(_ chain: [Int], _ queues: Set<Int>) -> Bool { !chain.contains(where: queues.contains) }

    /// After an input: those that wait until nothing runs.
    mutating func tellIdle() {
        for subject in calls.idleSubjects where runners(subject).isEmpty { tell(subject) }
        if !drains.byToken.isEmpty { endDrains() }
    }
}
