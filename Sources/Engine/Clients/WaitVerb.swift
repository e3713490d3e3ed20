import Schedule
import WatchFile

/// `watchctl wait`: until an operation has ended, a queue or a group is empty.
extension Engine {
    struct WaitCall: Sendable {
        var awaited: Awaited
        /// Monotonic microsecond.
        var deadline: Int64?
        /// The operation of whose run the client is a part.
        var caller: UInt64?
    }

    mutating func wait(
        _ awaited: Awaited, after span: Int64?, caller: UInt64?, _ token: Token
    ) throws(CommandError) {
        if let caller, let chain = deadlock(of: caller, waitingFor: awaited) { throw .wouldDeadlock(chain: chain) }
        switch awaited {
        case .operation(let id):
            guard let ref = operations.ref(id: id) else { throw .noSuchOperation(id) }
            operations[ref].waiters.append(token)
        case .named(let name):
            switch try resolve(name, among: { isAwaitable($0) }) {
            case .queue(let queue):
                if isEmptyThrough(queue) { return actions.append(.reply(token, .waited(nil))) }
                queues[queue].waiters.append(token)
            case .source(let source):
                if sources[source].group.isEmpty { return actions.append(.reply(token, .waited(nil))) }
                sources[source].group.waiters.append(token)
            case .handler, .semaphore: return
            }
        case .reload, .drain: throw .notSupported("to wait for that")
        }
        var call = WaitCall(awaited: awaited, caller: caller)
        if let span {
            let deadline = now.monotonic + min(max(0, span), .max / 4)
            call.deadline = deadline
            deadlines.add(.wait(token), .monotonic, at: deadline)
        }
        waitCalls[token] = call
    }

    func isAwaitable(_ named: Named) -> Bool {
        switch named {
        case .queue: true
        case .source(let source): isGroup(source)
        case .handler, .semaphore: false
        }
    }

    mutating func answerWait(_ token: Token, _ answer: Reply, isSafe: Bool = true) {
        guard waitCalls.removeValue(forKey: token) != nil else { return }
        reply(token, answer, isSafe: isSafe)
    }

    mutating func waitTimedOut(_ token: Token) {
        guard let deadline = waitCalls[token]?.deadline, deadline <= now.monotonic else { return }
        forgetWaiter(token)
        answerWait(token, .timedOut)
    }

    /// Neither there nor in a queue that runs through it anything waits or runs.
    private func isEmptyThrough(_ queue: Int) -> Bool { queues[queue].through.allSatisfy { queues[$0].isEmpty } }

    /// An operation of a queue has ended.
    mutating func queueMayBeEmpty(_ queue: Int) {
        guard !waitCalls.isEmpty else { return }
        for place in queues[queue].chain where !queues[place].waiters.isEmpty && isEmptyThrough(place) {
            let waiters = queues[place].waiters
            queues[place].waiters = []
            for token in waiters { answerWait(token, .waited(nil)) }
        }
    }

    /// Who sent a command has gone: he gets no answer.
    mutating func abandon(_ token: Token) {
        forgetWaiter(token)
        waitCalls[token] = nil
        supervisor.abandon(token)
        runCalls[token] = nil
        if waitingEmits.contains(where: { $0.token == token }) {
            waitingEmits.removeAll { $0.token == token }
            isRoomNew = true
        }
    }

    private mutating func forgetWaiter(_ token: Token) {
        switch waitCalls[token]?.awaited {
        case .operation(let id):
            if let ref = operations.ref(id: id) { operations[ref].waiters.removeAll { $0 == token } }
        case .named:
            for queue in queues.indices where !queues[queue].waiters.isEmpty {
                queues[queue].waiters.removeAll { $0 == token }
            }
            for source in sources.indices where !sources[source].group.waiters.isEmpty {
                sources[source].group.waiters.removeAll { $0 == token }
            }
        case .reload, .drain, nil: break
        }
    }
}
