import Schedule
import WatchFile

/// A run ends before its time: `KillSignal=`, then SIGKILL after `TimeoutStopSec=`, to those that `KillMode=` chooses.
extension Engine {
    /// Parts of it that have not started never do; with `result` instead of their own.
    mutating func startNoMore(_ ref: OperationRef, _ result: Result) {
        if operations[ref].progress.toStart > 0, operations[ref].progress.isRunning {
            splits[ref.id]?.failure = Verdict(result: result, reason: "ended before all parts had started")
        }
        scheduler.startNoMore(ref)
    }

    /// Asks all runs of an operation to end.
    mutating func terminate(_ ref: OperationRef, _ ending: Run.Ending) {
        for run in operations[ref].runs { terminate(ref, part: run.part, ending) }
    }

    /// Asks a run to end: its `KillSignal=`, then SIGKILL after `TimeoutStopSec=`.
    mutating func terminate(_ ref: OperationRef, part: Int, _ ending: Run.Ending) {
        guard let index = operations[ref].runs.firstIndex(where: { $0.part == part }),
            operations[ref].runs[index].ending == nil
        else { return endDifferently(ref, part: part, ending) }
        operations[ref].runs[index].ending = ending
        operations[ref].runs[index].endingSince = now.monotonic
        if let seat = operations[ref].runs[index].seat { return takeBack(ref, seat, ending) }
        if endSteering(ref, part: part) || endHold(ref, part: part) { return }
        let definition = operations[ref].runs[index].definition.value
        signal(ref, part: part, definition.killSignal, definition.killMode)
        setDeadline(ref, part: part, after: definition.timeoutStop.microseconds)
    }

    /// It is being ended already: a cancel counts more than a time-out or a newer operation.
    private mutating func endDifferently(_ ref: OperationRef, part: Int, _ ending: Run.Ending) {
        guard ending == .cancelled || ending == .stopped,
            let index = operations[ref].runs.firstIndex(where: { $0.part == part })
        else { return }
        switch operations[ref].runs[index].ending {
        case .timedOut, .superseded: operations[ref].runs[index].ending = ending
        case .cancelled, .stopped, nil: break
        }
    }

    mutating func kill(_ ref: OperationRef) {
        for run in operations[ref].runs { kill(ref, part: run.part) }
    }

    mutating func kill(_ ref: OperationRef, part: Int) {
        guard let index = operations[ref].runs.firstIndex(where: { $0.part == part }),
            !operations[ref].runs[index].isKilled
        else { return }
        operations[ref].runs[index].isKilled = true
        operations[ref].runs[index].endingSince = now.monotonic
        operations[ref].runs[index].deadline = nil
        if let seat = operations[ref].runs[index].seat { return endWorker(seat, .deaf(operations[ref].id)) }
        signal(ref, part: part, 9, operations[ref].runs[index].definition.value.killMode)
    }

    /// While the spawn is on its way the rim keeps it in mind; with `KillMode=none` it only starts no further command.
    private mutating func signal(_ ref: OperationRef, part: Int, _ number: Int32, _ mode: KillMode) {
        let id = RunID(operation: operations[ref].id, attempt: Int(operations[ref].progress.attempt), part: part)
        let signal = Action.signal(id, number: number, mode: mode)
        let isStarting = operations[ref].runs.contains { $0.part == part && !$0.hasBegun }
        // Behind its start, which may wait for the store.
        if isStarting { whenSafe(ref, signal) } else { actions.append(signal) }
    }
}
