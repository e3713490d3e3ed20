import Schedule
import WatchFile

/// `StartTimeoutSec=`: an operation that has not started in time fails.
extension Engine {
    /// Anew after a reload.
    mutating func setStartTimeout(_ ref: OperationRef) {
        if let time = startDeadline(ref) { deadlines.add(.startTimeout(ref), .monotonic, at: time) }
    }

    /// Monotonic microsecond by which it has to start (`StartTimeoutSec=`), counted from its delay on, or from when its
    /// key is quiet.
    func startDeadline(_ ref: OperationRef) -> Int64? {
        let definition = definition(of: ref)
        let timeout = definition.value.constraints.startTimeout.microseconds
        guard timeout < UInt64(Int64.max / 4) else { return nil }
        let times = operations[ref].times
        return max(endOfDelay(ref, definition), times.latest == 0 ? 0 : times.wakeUp) + Int64(timeout)
    }

    mutating func startTimedOut(_ ref: OperationRef) {
        guard operations.isWaiting(ref), let time = startDeadline(ref), time <= now.monotonic else { return }
        let span = handlers[operations[ref].handler].definition.value.constraints.startTimeout
        let cause = waitSentence(ref).map { " (\($0))" } ?? ""
        finish(ref, Verdict(result: .failed, reason: "waited too long for its start: StartTimeoutSec=\(span)\(cause)"))
    }
}
