import Schedule
import WatchFile

/// `Submit`: a command of a client becomes an operation of a queue.
///
/// It is its caller's own, as what `Run` starts is: it joins nothing, and nothing joins it. It excludes nobody unless it
/// has a key, and it is kept safe on a durable queue, and wherever it waits for a time.
extension Engine {
    /// Microseconds: thousands of years.
    private static let longestDelay: Int64 = 1 << 57

    mutating func submit(_ command: Command.SubmitCommand, _ token: Token) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        var fact = command.fact
        if let delay = command.delay { fact.notBefore = now.realtime + min(max(0, delay), Self.longestDelay) }
        if let call = fact.call { try check(call) }
        let queue = fact.call == nil ? try queue(of: command) : needClientQueue()
        let dependencies = try dependencies(of: command)
        let event = Event(id: 0, time: 0, fact: .command(fact))
        try checkRoom(for: event, queue)
        if command.waits, let caller = command.caller {
            // A command that could only wait for itself is not started at all.
            var trial = self
            let admission = trial.admit(fact, queue, dependencies)
            if case .operation(let id) = admission, let ref = trial.operations.ref(id: id),
                let chain = trial.deadlock(of: caller, .operations([ref]))
            {
                throw .wouldDeadlock(chain: chain)
            }
        }
        switch admit(fact, queue, dependencies) {
        case .operation(let id):
            guard let ref = operations.ref(id: id) else { return reply(token, .operations([id]), isSafe: true) }
            close(ref)
            if command.raisesQoS, command.waits || command.isAwaited { hurry([id], caller: command.caller) }
            if command.waits { return calls.run([id], caller: command.caller, token) }
            reply(token, .operations([id]), isSafe: !isDurable(ref))
        case .ended(let result, let reason, _): reply(token, .refused(result, reason: reason), isSafe: true)
        }
    }

    private mutating func admit(_ fact: CommandFact, _ queue: Int, _ dependencies: Dependencies) -> Admission {
        let handler = needCommandHandler()
        let source = internalSource(.run(handler: CommandFact.handlerName))
        var event = makeEvent(.command(fact))
        event.trace = fact.trace
        return admitAlone(event, source: source, SourceState.Target(handler: handler, queue: queue), dependencies)
    }

    private func queue(of command: Command.SubmitCommand) throws(CommandError) -> Int {
        let named = try resolve(command.queue) { if case .queue = $0 { true } else { false } }
        guard case .queue(let queue) = named, !queues[queue].isRemoved, queues[queue].name != Self.clientQueue else {
            throw .noSuchName(command.queue, nearest: nil)
        }
        let name = queues[queue].definition.name
        if command.fact.isBarrier, !queues[queue].isSerial, !queues[queue].takesBarriers {
            throw .refused("a barrier means nothing on the global queue \(name); a concurrent [Queue] takes one")
        }
        if command.fact.priority != .normal, queues[queue].isSerial {
            throw .refused("queue \(name) is serial: nobody overtakes there, so a priority means nothing")
        }
        return queue
    }

    /// Ended operations are no dependencies any more, unless they have to have succeeded.
    private func dependencies(of command: Command.SubmitCommand) throws(CommandError) -> Dependencies {
        var found = Dependencies()
        for id in command.after {
            if operations.ref(id: id) != nil {
                found.operations.append((id, isRequired: command.isRequired))
                continue
            }
            // One without a place waits until there is one for it.
            if id == 0 || id > journal.ids.lastOperation || journal.orphans[id] != nil { throw .noSuchOperation(id) }
            guard command.isRequired else { continue }
            guard let result = command.ends[id] else { throw .endUnknown(id) }
            if !isSuccess(result) { found.refusal = "--requires: operation \(id) \(result.rawValue)" }
        }
        return found
    }

    /// A queue that holds back when it is full takes it in or not; nobody waits for room.
    private func checkRoom(for event: Event, _ queue: Int) throws(CommandError) {
        guard case .command(let fact) = event.fact else { return }
        if let reason = journal.failure, queues[queue].definition.isDurable || fact.notBefore != nil {
            throw .storeFailing(reason)
        }
        if queues[queue].holdsBack, let measure = excess(event.load, queue: queue) { throw full(queue, measure) }
    }
}
