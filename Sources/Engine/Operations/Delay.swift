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

    /// After a reload that has changed handlers: a shorter delay, or a smaller batch, counts for what waits already; a
    /// longer one for what comes.
    mutating func shortenDelays(of handlers: Set<Int>) {
        if handlers.isEmpty { return }
        for ref in operations.refs where handlers.contains(operations[ref].handler) && isDelayed(ref) {
            let definition = definition(of: ref)
            let delay = min(delay(of: operations[ref], definition), .max / 4)
            endDelay(ref, isBatchFull(ref, definition) ? now.monotonic : operations[ref].times.made + delay)
        }
    }

    /// Of its digests that wait none is to keep back other sources until its span is over.
    mutating func sendDigests(onQueue queue: Int) {
        let areAny = handlers.indices.contains { index in
            handlers[index].operations > 0 && handlers[index].definition.value.constraints.digest > .zero
        }
        guard areAny else { return }
        let digests = operations.oldest(.max / 4) { $0.queue == queue && isDigest(source: $0.source) }
        for ref in digests where isDelayed(ref) { endDelay(ref, now.monotonic) }
    }

    /// It waits for its delay, and for no quiet.
    private func isDelayed(_ ref: OperationRef) -> Bool {
        operations[ref].turn.station == .unsubmitted && operations[ref].times.latest == 0
            && operations[ref].times.wakeUp > now.monotonic
    }

    private mutating func endDelay(_ ref: OperationRef, _ time: Int64) {
        let end = max(time, now.monotonic)
        guard end < operations[ref].times.wakeUp else { return }
        operations[ref].times.wakeUp = end
        deadlines.add(.submission(ref), .monotonic, at: end)
        setStartTimeout(ref)
        if operations[ref].record.isDurable { save(ref) }
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
        // Where it waits for something else, its delay is over after the next start too.
        if operations.isAlive(ref), operations[ref].turn.station == .unsubmitted { save(ref) }
    }

    /// Monotonic microsecond at which its delay is over, or was cut short.
    func endOfDelay(_ ref: OperationRef, _ definition: SharedDefinition) -> Int64 {
        let delay = delay(of: operations[ref], definition)
        let times = operations[ref].times
        let end = times.made + min(delay, .max / 4)
        guard times.latest == 0 else { return end }
        return max(times.made, min(end, times.wakeUp))
    }
}
