import Schedule
import WatchFile

/// `watchctl wait`: until an operation has ended, a queue or a group is empty.
extension Engine {
    mutating func wait(
        _ awaited: Awaited, after span: Int64?, caller: UInt64?, raisesQoS: Bool, _ token: Token
    ) throws(CommandError) {
        if let caller, let chain = deadlock(of: caller, waitingFor: awaited) { throw .wouldDeadlock(chain: chain) }
        guard var wait = try wait(for: awaited) else { return actions.append(.reply(token, .waited(nil))) }
        wait.caller = caller
        if let span {
            let deadline = now.monotonic + min(max(0, span), .max / 4)
            wait.deadline = deadline
            deadlines.add(.wait(token), .monotonic, at: deadline)
        }
        calls.wait(wait, token)
        if raisesQoS, case .operation(let id) = wait.subject { hurry([id], caller: caller) }
    }

    /// `nil`: there is nothing to wait for.
    private func wait(for awaited: Awaited) throws(CommandError) -> Calls.Wait? {
        switch awaited {
        case .operation(let id):
            guard operations.ref(id: id) != nil else { throw refusal(unplaced: id) ?? .noSuchOperation(id) }
            return Calls.Wait(subject: .operation(id), name: "\(id)")
        case .named(let name):
            // Operations that a stop leaves to the next start are on no queue any more.
            guard life.isOpen else { throw .draining }
            if let refusal = refusal(unplacedOf: name) { throw refusal }
            switch try resolve(name, among: { isAwaitable($0) }) {
            case .queue(let queue): return isEmptyThrough(queue) ? nil : Calls.Wait(subject: .queue(queue), name: name)
            case .source(let source):
                return sources[source].group.isEmpty ? nil : Calls.Wait(subject: .group(source), name: name)
            case .handler, .semaphore: throw .noSuchName(name, nearest: nil)
            }
        case .reload, .drain: throw .notSupported("to wait for that")
        }
    }

    func isAwaitable(_ named: Named) -> Bool {
        switch named {
        case .queue: true
        case .source(let source): isGroup(source)
        case .handler, .semaphore: false
        }
    }

    /// An operation without a place waits for a queue or a handler that may never come, or for the next start.
    func refusal(unplaced id: UInt64) -> CommandError? {
        if journal.setAside[id] != nil { return .draining }
        return journal.orphans[id].map { .refused("operation \(id) waits for \(view($0).waitingFor ?? "its handler")") }
    }

    private func refusal(unplacedOf name: String) -> CommandError? {
        let kept = unplaced(of: name)
        guard !kept.isEmpty, (try? resolve(name, among: { isAwaitable($0) })) == nil else { return nil }
        return .refused("\(name) is in no watch file any more, and keeps \(counted(kept.count, "operation"))")
    }

    /// The end has come that callers wait for. `view`: of an operation. One that is not safe yet is told when it is, or
    /// when the store fails: the rim says so then.
    mutating func tell(_ subject: Calls.Subject, _ view: OperationView? = nil, isSafe: Bool = true) {
        for answer in calls.came(subject, view) {
            let action = Action.reply(answer.token, answer.reply)
            actions.append(isSafe ? action : .stored(action))
        }
    }

    mutating func waitTimedOut(_ token: Token) {
        if let deadline = drains.byToken[token]?.deadline, deadline <= now.monotonic {
            return withdrawDrain(token, .timedOut)
        }
        guard let deadline = calls.deadline(of: token), deadline <= now.monotonic else { return }
        let subject = calls.subject(of: token)
        calls.abandon(token)
        withdraw(subject)
        reply(token, .timedOut, isSafe: true)
    }

    /// Neither there nor in a queue that runs through it anything waits or runs.
    private func isEmptyThrough(_ queue: Int) -> Bool { scheduler[queue].through.allSatisfy { queues[$0].isEmpty } }

    /// An operation of a queue has ended.
    mutating func queueMayBeEmpty(_ queue: Int) {
        guard !calls.isEmpty else { return }
        for place in scheduler[queue].chain where calls.isAwaited(.queue(place)) && isEmptyThrough(place) {
            tell(.queue(place))
        }
    }

    /// The sender of a command has gone: it gets no answer.
    mutating func abandon(_ token: Token) {
        let subject = calls.subject(of: token)
        calls.abandon(token)
        withdraw(subject)
        withdrawDrain(token, nil)
        emitWaits.removeAll { $0.token == token }
        supervisor.abandon(token)
        door.abandon(token)
    }
}
