import Schedule
import WatchFile

/// `DelaySec=`: an operation is submitted a while after it was made. `BatchSize=` cuts that short; `SettleSec=` and
/// `DigestSec=` are waits of the same kind.
extension Engine {
    /// The delay of an operation before its submission.
    func delay(of operation: Operation, _ definition: SharedDefinition) -> Int64 {
        let constraints = definition.value.constraints
        guard constraints.digest > .zero, !operation.descent.isOwn, isDigest(source: operation.source) else {
            return Int64(clamping: constraints.delay.microseconds)
        }
        return Int64(clamping: constraints.digest.microseconds)
    }

    mutating func setStartDeadlines(_ ref: OperationRef, _ definition: SharedDefinition) {
        let delay = delay(of: operations[ref], definition)
        if delay > 0, !isBatchFull(ref, definition) {
            operations[ref].times.wakeUp = now.monotonic + min(delay, .max / 4)
        }
        beginSettling(ref)
        if operations[ref].times.wakeUp > now.monotonic {
            deadlines.add(.submission(ref), .monotonic, at: operations[ref].times.wakeUp)
            followDelay(ref)
        }
        setStartTimeout(ref)
        expectStart(ref)
    }

    /// Its delay, or the quiet of its key, may be over.
    mutating func submissionIsDue(_ ref: OperationRef, _ clock: Clock) {
        guard operations.isAlive(ref), operations[ref].turn.station == .unsubmitted else { return }
        if operations[ref].times.latest != 0, clock == .monotonic {
            let time = operations[ref].times.wakeUp
            if time > now.monotonic { return deadlines.add(.submission(ref), .monotonic, at: time) }
            setStartTimeout(ref)
        }
        submitIfFree(ref)
    }

    /// Monotonic microsecond at which its delay is over, or was cut short.
    func endOfDelay(_ ref: OperationRef, _ definition: SharedDefinition) -> Int64 {
        let delay = delay(of: operations[ref], definition)
        let times = operations[ref].times
        let end = times.made + min(delay, .max / 4)
        guard definition.value.constraints.batchSize != nil, times.latest == 0 else { return end }
        return max(times.made, min(end, times.wakeUp))
    }
}
