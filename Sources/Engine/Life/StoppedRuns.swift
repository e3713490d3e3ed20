import WatchFile

/// `OnStop=`: what becomes of the runs that a stop finds.
///
/// A run that the stop ends has failed (`Result.stopped`), or its operation runs again after the next start, as every
/// durable one does; or the run goes on beside the stop.
extension Engine {
    /// Its definition when it was started, or as it would be started next.
    private func stopPolicy(_ ref: OperationRef) -> StopPolicy? {
        let definition = operations[ref].runs.last?.definition ?? self.definition(of: ref)
        return definition.value.onStop
    }

    /// After the next start, when this stop ends its run or keeps its next attempt from coming.
    func runsAgain(_ ref: OperationRef) -> Bool {
        guard !operations[ref].progress.isCancelled else { return false }
        return switch stopPolicy(ref) {
        case .again: true
        case .fail: false
        case .leave, nil: isDurable(ref)
        }
    }

    /// A run that fails during the stop is tried again after the next start, as one that the stop leaves alone is which
    /// fails behind it.
    func isTriedAfterStop(_ ref: OperationRef) -> Bool {
        runsAgain(ref) || (stopPolicy(ref) == .leave && !operations[ref].progress.isCancelled)
    }

    /// Leaves it to the next start; from now on it is durable.
    mutating func setAsideForAgain(_ ref: OperationRef) {
        operations[ref].record.isDurable = true
        save(ref)
        setAside(ref)
    }

    /// `OnStop=leave`: the stop neither waits for its run nor ends it, unless something else ends it already, or it still
    /// asks a condition. One that nobody can end (`KillMode=none`) is waited for, and then goes on too.
    func goesOnBesideStop(_ ref: OperationRef) -> Bool {
        let runs = operations[ref].runs
        guard !runs.isEmpty, runs.allSatisfy({ $0.pid != nil && !$0.isAsking }) else { return false }
        if isPatienceOver, runs.allSatisfy(\.isLeftAlone) { return true }
        return stopPolicy(ref) == .leave && !operations[ref].progress.isCancelled
            && runs.allSatisfy { $0.ending == nil }
    }

    /// A stop has waited `DrainSec=`.
    private var isPatienceOver: Bool { life.drain.map { $0.step != .waiting } ?? false }

    /// Runs, and workers with lines, that a stop waits for.
    package var waitedForAtStop: Int {
        let runs = operations.refs.filter { !goesOnBesideStop($0) }.flatMap { operations[$0].runs }
        return runs.count { $0.seat == nil } + Set(runs.compactMap(\.seat)).count
    }

    /// Leaves those to the next start, which finds their processes by what the store says.
    mutating func leaveRunning() -> [AdoptRequest] {
        var left: [AdoptRequest] = []
        for ref in operations.refs where goesOnBesideStop(ref) {
            let attempt = Int(operations[ref].progress.attempt)
            left += operations[ref].runs.compactMap { run in
                let id = RunID(operation: ref.id, attempt: attempt, part: run.part)
                return run.pid.map { AdoptRequest(run: id, definition: run.definition, pid: $0, started: run.started) }
            }
            operations[ref].record.isLong = true
            save(ref)
            setAside(ref)
        }
        return left
    }
}
