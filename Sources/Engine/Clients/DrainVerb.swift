import Schedule
import WatchFile

/// Clients that drain queues.
struct Drains: Sendable {
    struct Drain: Sendable {
        /// As the client named it.
        var name: String?
        /// Queues without a mark yet.
        var left: Set<Int>
        /// Operations that suspend their queue when their turn comes.
        var marks: [UInt64: Int] = [:]
        var suspended: Set<Int> = []
        /// Operations that wait in queues that were suspended before.
        var waiting = 0
        let suspension: Suspension
        let user: String
        var deadline: Int64?

        var isMarked: Bool { left.isEmpty && marks.isEmpty }
    }

    var byToken: [Token: Drain] = [:]

    /// Whether it is of one that goes on.
    func suspends(_ suspension: Suspension) -> Bool { byToken.values.contains { $0.suspension == suspension } }

    func token(of mark: UInt64) -> Token? { byToken.first { $0.value.marks[mark] != nil }?.key }

    /// The marks of other drains on these queues, the oldest first.
    func marks(on queues: [Int], except token: Token) -> [(id: UInt64, queue: Int, token: Token)] {
        byToken.filter { $0.key != token }
            .flatMap { other, drain in drain.marks.map { (id: $0.key, queue: $0.value, token: other) } }
            .filter { queues.contains($0.queue) }.sorted { $0.id < $1.id }
    }
}

/// `watchctl drain`: all that has its place in a queue runs to its end, then the queue is suspended; what comes
/// meanwhile waits. It is the barrier of Dispatch whose block suspends its own queue.
extension Engine {
    mutating func drain(_ command: Command.DrainCommand, _ token: Token) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        var drain = Drains.Drain(
            name: command.queue, left: try queuesToDrain(command.queue),
            suspension: Suspension(by: command.user, reason: command.reason ?? "drained", since: now.realtime),
            user: command.user)
        if let caller = command.caller {
            // A drain that could only wait for itself is not begun.
            var trial = self
            trial.drains.byToken[token] = drain
            trial.markQueues(token)
            let marks = trial.drains.byToken[token]?.marks.keys.compactMap { trial.operations.ref(id: $0) } ?? []
            if let chain = trial.deadlock(of: caller, .operations(marks + runners(on: drain.left))) {
                throw .wouldDeadlock(chain: chain)
            }
        }
        if let span = command.timeout {
            let deadline = now.monotonic + min(max(0, span), .max / 4)
            drain.deadline = deadline
            deadlines.add(.wait(token), .monotonic, at: deadline)
        }
        drains.byToken[token] = drain
        markQueues(token)
    }

    /// All queues, or those that run through one.
    private func queuesToDrain(_ name: String?) throws(CommandError) -> Set<Int> {
        guard let name else {
            return Set(queues.indices.filter { !queues[$0].isRemoved && queues[$0].name != Self.clientQueue })
        }
        guard case .queue(let queue) = try resolve(name, among: { if case .queue = $0 { true } else { false } }),
            !queues[queue].isRemoved
        else { throw .noSuchName(name, nearest: nil) }
        return Set(scheduler[queue].through)
    }

    /// Each queue that may have its mark gets it, those that run through another one first: that one's is behind theirs.
    private mutating func markQueues(_ token: Token) {
        while let drain = drains.byToken[token],
            let queue = deepestFirst(drain.left).first(where: { mayBeMarked($0, drain) })
        {
            drains.byToken[token]?.left.remove(queue)
            mark(queue, token)
        }
    }

    private func deepestFirst(_ queues: Set<Int>) -> [Int] {
        queues.sorted { (scheduler[$1].chain.count, $0) < (scheduler[$0].chain.count, $1) }
    }

    /// Where nothing waits for what was before it, the queues that run through it have to be empty first.
    private func mayBeMarked(_ queue: Int, _ drain: Drains.Drain) -> Bool {
        if queues[queue].isSerial || queues[queue].takesBarriers { return true }
        return scheduler[queue].through.allSatisfy { other in
            other == queue || !drain.left.contains(other) && !drain.marks.values.contains(other)
        }
    }

    private mutating func mark(_ queue: Int, _ token: Token) {
        // Where nothing starts, nothing is waited for but what runs.
        guard !scheduler[queue].chain.contains(where: { queues[$0].isSuspended }) else {
            return suspendAgain(queue, token)
        }
        var definition = HandlerDefinition(name: "@drain", action: .client(.suspend), overlap: .parallel)
        definition.constraints.isBarrier = true
        let name = queues[queue].name
        let user = drains.byToken[token]?.user ?? ""
        let fact = CommandFact([Array("drain".utf8), Array(name.utf8)], user: .named(user))
        guard let id = admitClient(definition, fact, on: queue) else {
            return suspendDrained(queue, token)
        }
        drains.byToken[token]?.marks[id] = queue
    }

    /// All that was before a mark has run, or at least begun.
    mutating func drainReached(_ ref: OperationRef, part: Int) {
        let token = drains.token(of: ref.id)
        if let token {
            drains.byToken[token]?.marks[ref.id] = nil
            suspendDrained(operations[ref].queue, token)
        }
        attemptEnded(ref, part: part, Verdict(result: .done))
        if let token { markQueues(token) }
    }

    private mutating func suspendDrained(_ queue: Int, _ token: Token) {
        guard let drain = drains.byToken[token] else { return }
        suspend(queue: queue, drain.suspension)
        // It suspends those that run through it, too.
        for other in scheduler[queue].through where other != queue && drain.suspended.contains(other) {
            resume(queue: other, from: drain.suspension)
            drains.byToken[token]?.suspended.remove(other)
        }
        drains.byToken[token]?.suspended.insert(queue)
        // The marks of other drains would get their turn only when somebody resumes the queue.
        for mark in drains.marks(on: scheduler[queue].through, except: token) {
            drains.byToken[mark.token]?.marks[mark.id] = nil
            if let ref = operations.ref(id: mark.id) { cancel(ref) }
            suspendAgain(mark.queue, mark.token)
            markQueues(mark.token)
        }
    }

    /// A queue that is suspended: what has its place there stays.
    private mutating func suspendAgain(_ queue: Int, _ token: Token) {
        drains.byToken[token]?.waiting += queues[queue].waiting
        suspendDrained(queue, token)
    }

    /// An operation has ended that may be a mark which was not reached.
    mutating func markEnded(_ id: UInt64) {
        guard !drains.byToken.isEmpty, let token = drains.token(of: id) else { return }
        drains.byToken[token]?.marks[id] = nil
        let refusal = CommandError.refused("operation \(id), which drains the queue, was cancelled; it runs on")
        withdrawDrain(token, .failure(life.isOpen ? refusal : .draining))
    }

    /// Nothing runs any more on queues that have been drained.
    mutating func endDrains() {
        for token in drains.byToken.keys.sorted() {
            guard let drain = drains.byToken[token], drain.isMarked, runners(on: drain.suspended).isEmpty else {
                continue
            }
            drains.byToken[token] = nil
            for queue in drain.suspended.sorted() { saveSuspensions(ofQueue: queue) }
            let names = drain.suspended.map { queues[$0].name }.sorted()
            reply(token, .drained(names, waiting: drain.waiting), isSafe: false)
        }
    }

    /// The client does not want it any more, or it cannot come to an end: all queues go on.
    ///
    /// - Parameter answer: `nil`: nobody waits for one.
    mutating func withdrawDrain(_ token: Token, _ answer: Reply?) {
        guard let drain = drains.byToken.removeValue(forKey: token) else { return }
        for queue in drain.suspended { resume(queue: queue, from: drain.suspension) }
        for id in drain.marks.keys.sorted() { if let ref = operations.ref(id: id) { cancel(ref) } }
        if let answer { reply(token, answer, isSafe: false) }
    }
}
