import Schedule
import WatchFile

/// `TimeoutSec=`: a run that takes longer is asked to end (`Termination`), and is killed when it has not after
/// `TimeoutStopSec=`.
extension Engine {
    mutating func setDeadline(_ ref: OperationRef, part: Int, after span: UInt64) {
        guard let index = operations[ref].runs.firstIndex(where: { $0.part == part }) else { return }
        let deadline = span < UInt64(Int64.max / 4) ? now.monotonic + Int64(span) : nil
        operations[ref].runs[index].deadline = deadline
        if let deadline { deadlines.add(.run(ref, part: part), .monotonic, at: deadline) }
    }

    mutating func runDeadline(_ ref: OperationRef, part: Int) {
        guard operations.isAlive(ref), let run = operations[ref].runs.first(where: { $0.part == part }),
            let deadline = run.deadline, deadline <= now.monotonic
        else { return }
        if run.ending == nil { terminate(ref, part: part, .timedOut) } else { kill(ref, part: part) }
    }
}
