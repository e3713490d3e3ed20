import Schedule
import WatchFile

/// `watchctl acquire`: a client holds units of a semaphore as long as a process of its own lives.
///
/// An operation stands in line for it, among those of handlers and by the same rules, and runs until the process has
/// ended (`endHold`). The client is answered when it starts and the store has it: the units are held beyond the end of
/// watchd, and the next one watches the process (`AdoptRequest`).
extension Engine {
    mutating func acquire(_ command: Command.AcquireCommand, _ token: Token) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        guard case .semaphore(let semaphore) = try resolve(command.semaphore, among: \.isSemaphore) else { return }
        let (name, members) = (semaphores[semaphore].name, semaphores[semaphore].definition.members)
        guard (1...Self.semaphoreLimit).contains(command.count) else { throw .badCount(command.count) }
        if !members.isEmpty, command.count > members.count {
            throw .refused("semaphore \(name) has \(members.count) members, and nobody can hold \(command.count)")
        }
        // As the check of a handler has it: an empty semaphore is filled by others.
        let value = semaphores[semaphore].definition.value
        let units = max(value, semaphores[semaphore].units)
        if value > 0, command.count > units, !isReleased(name) {
            throw .refused(
                "semaphore \(name) has \(counted(units, "unit")), and no handler has Release= of it: "
                    + "nobody can hold \(command.count)")
        }
        let definition = Self.holdDefinition(SemaphoreCount(name: name, count: command.count))
        var fact = CommandFact(command.words.map { Array($0.utf8) }, user: .named(command.user))
        fact.holder = command.holder
        let queue = needClientQueue()
        if let caller = command.caller {
            var trial = self
            let id = trial.admitClient(definition, fact, on: queue)
            if let ref = id.flatMap({ trial.operations.ref(id: $0) }),
                let chain = trial.deadlock(of: caller, .operations([ref]))
            {
                throw .wouldDeadlock(chain: chain)
            }
        }
        guard let id = admitClient(definition, fact, on: queue) else { throw .draining }
        var wait = Calls.Wait(subject: .held(id), name: "semaphore/\(name)")
        wait.caller = command.caller
        if let span = command.timeout {
            let deadline = now.monotonic + min(max(0, span), .max / 4)
            wait.deadline = deadline
            deadlines.add(.wait(token), .monotonic, at: deadline)
        }
        calls.wait(wait, token)
    }

    private func isReleased(_ semaphore: String) -> Bool {
        handlers.indices.contains { index in
            !handlers[index].isRemoved
                && handlers[index].definition.value.constraints.releases.contains { $0.name == semaphore }
        }
    }

    /// The names of their handlers begin so.
    package static let holdName = "@acquire "

    /// The process is no child of watchd's, and its output is its own.
    private static func holdDefinition(_ units: SemaphoreCount) -> HandlerDefinition {
        var definition = HandlerDefinition(
            name: "\(holdName)\(units.name):\(units.count)", action: .client(.hold), overlap: .parallel)
        definition.constraints.acquires = [units]
        (definition.standardOutput, definition.standardError) = (.null, .null)
        definition.onStop = .leave
        return definition
    }

    /// The handler of an operation of an earlier watchd that holds units, if its semaphore is still there.
    mutating func needHoldHandler(_ name: String) {
        guard name.hasPrefix(Self.holdName), let colon = name.lastIndex(of: ":"),
            let count = Int(name[name.index(after: colon)...])
        else { return }
        let semaphore = String(name[..<colon].dropFirst(Self.holdName.count))
        guard semaphores.index(of: semaphore) != nil else { return }
        _ = needHandler(Self.holdDefinition(SemaphoreCount(name: semaphore, count: count)))
    }

    /// It has its units.
    mutating func hold(_ ref: OperationRef, part: Int) {
        if let index = operations[ref].runs.firstIndex(where: { $0.part == part }) {
            operations[ref].runs[index].phase = .running(pid: holder(ref)?.process)
        }
        operations[ref].record.isLong = true
        save(ref)
        tell(.held(ref.id), view(ref), isSafe: false)
    }

    func holder(_ ref: OperationRef) -> CommandFact.Holder? {
        if case .command(let fact) = operations[ref].entries.newest?.fact { fact.holder } else { nil }
    }

    /// The process of the client has ended.
    mutating func endHold(_ id: UInt64) {
        guard let ref = operations.ref(id: id) else {
            // Its semaphore is in no watch file any more.
            if journal.orphans[id]?.holder != nil { _ = cancelOrphan(id) }
            return
        }
        guard isOfClient(operations[ref].handler) else { return }
        guard let run = operations[ref].runs.first else { return cancel(ref) }
        attemptEnded(ref, part: run.part, Verdict(result: .done))
    }

    /// A run that is a client's is ended before its time: there is nothing to wait for. False: it is no such run.
    mutating func endHold(_ ref: OperationRef, part: Int) -> Bool {
        guard isOfClient(operations[ref].handler), let run = operations[ref].runs.first(where: { $0.part == part })
        else { return false }
        // Nothing of a client has failed because watchd stops.
        let reason = run.ending == .stopped ? "given back because watchd stopped" : "the units were taken back"
        attemptEnded(ref, part: part, Verdict(result: .cancelled, reason: reason))
        return true
    }

    /// Nobody waits for it any more.
    mutating func withdraw(_ subject: Calls.Subject?) {
        if case .held(let id)? = subject, let ref = operations.ref(id: id) { cancel(ref) }
    }
}
