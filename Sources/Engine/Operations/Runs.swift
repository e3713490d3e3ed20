import Schedule
package import WatchFile

/// The life of a run: what the rim says of it, and how it is ended before its time.
extension Engine {
    func running(_ id: RunID) -> (ref: OperationRef, index: Int)? {
        guard let ref = operations.ref(id: id.operation), Int(operations[ref].progress.attempt) == id.attempt,
            let index = operations[ref].runs.firstIndex(where: { $0.part == id.part })
        else { return nil }
        return (ref, index)
    }

    mutating func runStarted(_ id: RunID, pid: Int32?, asks: Bool = false) {
        if let pid, let effects = supervisor.started(id, pid: pid, at: now) { return perform(effects) }
        if let pid, let seat = scheduler.crews.seats[id.operation] { return workerStarted(seat, pid: pid) }
        guard let (ref, index) = running(id) else {
            // It was left to the next start while it was being spawned.
            if life.isStopping { actions.append(.signal(id, number: 9, mode: .tree)) }
            return
        }
        let isDelayed = operations[ref].runs[index].delay != nil
        if isDelayed { delayIsOver(ref, index) }
        let isLate = operations[ref].record.isDurable || isDelayed
        if isLate { startedLate(ref, index) }
        operations[ref].runs[index].phase = .running(pid: pid)
        operations[ref].runs[index].isAsking = asks
        let definition = operations[ref].runs[index].definition
        // The next one of several commands has another process.
        if operations[ref].record.isLong || definition.value.commandCount > 1 { save(ref) }
        // While the start waited, for the store or for what is used up, no time passed for it.
        if isLate, operations[ref].runs[index].deadline == nil {
            setDeadline(ref, part: id.part, after: definition.value.timeout.microseconds)
        }
        if isLate { expectEnd(ref, definition.value) }
        if operations[ref].runs[index].isAdopted { stillRuns(ref, index) }
    }

    private mutating func delayIsOver(_ ref: OperationRef, _ index: Int) {
        operations[ref].runs[index].words = nil
        if operations[ref].runs.allSatisfy({ $0.delay == nil }) { overdue.delayed.remove(ref.id) }
    }

    mutating func runDelayed(_ id: RunID, reason: String) {
        guard let (ref, index) = running(id), !operations[ref].runs[index].hasBegun else { return }
        (operations[ref].runs[index].phase, operations[ref].runs[index].words) = (.delayed, reason)
        operations[ref].runs[index].deadline = nil
        overdue.delayed.insert(ref.id)
        // Other parts of it may run.
        if operations[ref].runs.allSatisfy({ !$0.hasBegun }) { overdue.ends(ref.id) }
    }

    /// Of a run that was found again nothing is to be waited for: its time counts from its start.
    private mutating func stillRuns(_ ref: OperationRef, _ index: Int) {
        let run = operations[ref].runs[index]
        let ran = max(0, now.realtime - run.started)
        if run.ending == nil {
            let timeout = run.definition.value.timeout.microseconds
            setDeadline(ref, part: run.part, after: timeout - min(timeout, UInt64(ran)))
        }
        guard overdue[ref.id]?.since == nil else { return }
        overdue[ref.id]?.slowAt = nil
        expectEnd(ref, run.definition.value, ran: ran)
    }

    /// The start of a durable run waits for the store, and is no part of the time that it takes. The time that a spawn
    /// takes is one, as of any run.
    private mutating func startedLate(_ ref: OperationRef, _ index: Int) {
        let run = operations[ref].runs[index]
        guard !run.hasBegun, now.realtime - run.started > Self.longestSpawn else { return }
        let time = now.realtime
        operations[ref].runs[index].started = time
        if splits[ref.id]?.started == run.started { splits[ref.id]?.started = time }
    }

    /// Microseconds: of a longer one the store is the reason.
    private static let longestSpawn: Int64 = 1_000_000

    mutating func progressed(_ id: RunID, _ text: String) {
        guard let (ref, index) = running(id), operations[ref].runs[index].words != text else { return }
        operations[ref].runs[index].words = text
        actions.append(.report(.progress(ref.id)))
    }

    mutating func runUsed(_ id: RunID, _ usage: ResourceUsage) {
        guard usage.isKnown, let (ref, index) = running(id) else { return }
        operations[ref].runs[index].usage.value = usage
    }

    mutating func runIsLong(_ id: RunID) {
        guard let (ref, _) = running(id) else { return }
        operations[ref].record.isLong = true
        save(ref)
    }

    mutating func runEnded(_ id: RunID, exit: Exit?, output: [UInt8], reason: String?) {
        if let seat = scheduler.crews.seats[id.operation] { return workerEnded(seat, id, exit, reason: reason) }
        if let effects = supervisor.ended(id, exit, reason: reason, ids: &journal.ids.lastOperation, at: now) {
            return perform(effects)
        }
        guard let (ref, index) = running(id) else { return }
        // How a client's own process ended is not watchd's to judge.
        if isOfClient(operations[ref].handler) { return endHold(ref.id) }
        let definition = operations[ref].runs[index].definition
        giveSlot(definition)
        if isEndedByStop(ref, operations[ref].runs[index], exit) { operations[ref].runs[index].ending = .stopped }
        var verdict = Self.judge(operations[ref].runs[index], exit, reason)
        (verdict.exit, verdict.output) = (exit, output)
        guard verdict.result == .done, definition.value.action.performer == .engine else {
            return attemptEnded(ref, part: id.part, verdict)
        }
        // Its conditions hold.
        act(ref, part: id.part, definition.value)
    }

    /// The end of the system ends watchd, and cancels the jobs of its units as well.
    private func isEndedByStop(_ ref: OperationRef, _ run: Run, _ exit: Exit?) -> Bool {
        life.isStopping && run.isOfUnits && run.ending == nil && exit != .exited(0) && runsAgain(ref)
    }

    /// There is no process that a stop could wait for.
    mutating func runGivenUp(_ id: RunID, reason: String) {
        guard let (ref, index) = running(id), operations[ref].runs[index].ending == nil else {
            return runEnded(id, exit: nil, output: [], reason: reason)
        }
        giveSlot(operations[ref].runs[index].definition)
        let why = "watchd stopped before it could be started: \(reason)"
        attemptEnded(ref, part: id.part, Verdict(result: .stopped, reason: why))
    }

    /// A condition does not hold. A run that is being ended ends for that reason.
    mutating func runSkipped(_ id: RunID, output: [UInt8], reason: String) {
        guard let (ref, index) = running(id) else { return }
        guard operations[ref].runs[index].ending == nil else {
            return runEnded(id, exit: nil, output: output, reason: nil)
        }
        giveSlot(operations[ref].runs[index].definition)
        attemptEnded(ref, part: id.part, Verdict(result: .skipped, reason: reason, output: output))
    }

    /// - Parameter definition: that the run was started with.
    mutating func giveSlot(_ definition: SharedDefinition) {
        if definition.value.needsProcess { scheduler.giveSlot() }
    }

    /// Static: otherwise reading the run would copy the engine.
    static func judge(_ run: Run, _ exit: Exit?, _ reason: String?) -> Verdict {
        switch run.ending {
        // Its jobs had been done before they could be cancelled.
        case .timedOut where run.isOfUnits && exit == .exited(0), .stopped where run.isOfUnits && exit == .exited(0):
            return Verdict(result: .done)
        case .timedOut:
            let span = run.definition.value.timeout
            return Verdict(result: .failed, reason: "\(CompletionFact.timedOut)\(span)\(timeoutEnd(run, reason))")
        case .cancelled:
            let when = run.isEndedUnbegun && exit == nil ? "before it ran" : "while it ran"
            return Verdict(result: .cancelled, reason: "cancelled \(when)")
        case .stopped: return Verdict(result: .stopped, reason: "ended because watchd stopped")
        case .superseded: return Verdict(result: .superseded)
        case nil: break
        }
        guard let exit else {
            return Verdict(result: .failed, reason: reason ?? "its end is unknown", isUnknown: run.isAdopted)
        }
        if run.definition.value.isSuccess(exit) { return Verdict(result: .done) }
        return Verdict(result: .failed, reason: reason)
    }

    private static func timeoutEnd(_ run: Run, _ reason: String?) -> String {
        if run.isEndedUnbegun, run.definition.value.placement == nil, let reason { return ", never started: \(reason)" }
        if run.isLeftAlone { return ", left to end by itself (KillMode=none)" }
        return run.isKilled ? ", killed" : ""
    }
}

extension HandlerDefinition {
    /// Its work is done by processes of the run.
    package var isCommand: Bool { action.performer == .processes }

    /// Processes of one run, one after the other: its `ExecCondition=`, and its `Exec=` or the program that mails.
    package var commandCount: Int {
        switch action {
        case .exec(let commands): conditions.commands.count + commands.count
        case .mail: conditions.commands.count + 1
        case .log, .emit, .unit, .process, .stream, .client: conditions.commands.count
        }
    }

    /// Whether its runs are the rim's; the others are done by the engine, where they start.
    var isOfRim: Bool { action.performer != .engine || !conditions.isEmpty }

    /// Whether its runs need a process slot.
    var needsProcess: Bool { action.performer == .processes || !conditions.isEmpty }

    /// Exit status 0 and what `SuccessExitStatus=` adds.
    package func isSuccess(_ exit: Exit) -> Bool { exit == .exited(0) || successExitStatus.contains(exit) }
}

extension ExitStatusSet {
    func contains(_ exit: Exit) -> Bool {
        switch exit {
        case .exited(let code): codes.contains(code)
        case .signaled(let number): signals.contains(number)
        }
    }
}
