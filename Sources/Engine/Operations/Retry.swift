import Schedule
import WatchFile

/// The end of a run, and whether another attempt comes: `Retry=`.
extension Engine {
    /// Exit status 75 (`EX_TEMPFAIL`) asks for an attempt that `Retry=` does not count.
    static let temporaryFailure = Exit.exited(75)
    /// As many of those an operation gets at most.
    static let temporaryFailureLimit = 100
    /// A line that has cost so many workers their lives has had a failed attempt.
    static let workersLostLimit = 5

    /// The attempts that an operation has used up. Kept only for those that have failed once.
    struct Attempts: Sendable {
        var counted = 0
        var temporary = 0
        /// Workers that have ended with its line, in this attempt and this life of watchd.
        var workersLost = 0
    }

    /// A run has ended and gives back what it held; with the last one its operation's attempt has ended.
    mutating func attemptEnded(_ ref: OperationRef, part: Int, _ verdict: Verdict) {
        guard let index = operations[ref].runs.firstIndex(where: { $0.part == part }) else { return }
        let run = operations[ref].runs[index]
        giveBack(run)
        scheduler.touch(queue: operations[ref].queue)
        let id = operations[ref].id
        guard splits.isEmpty || splits[id] == nil else { return partEnded(ref, index, part, verdict) }
        allEnded(ref, run, verdict)
    }

    /// The last run of an attempt has ended; it still stands in the operation.
    mutating func allEnded(_ ref: OperationRef, _ run: Run, _ verdict: Verdict) {
        if verdict.result == .superseded { return supersede(ref, verdict) }
        if verdict.result == .stopped, runsAgain(ref) {
            operations[ref].runs = []
            operations[ref].progress.wasStopped = true
            return setAsideForAgain(ref)
        }
        if verdict.isUnknown, isDurable(ref) { return redeliver(ref, verdict) }
        if verdict.result == .done { scheduler.release(run.definition.value.constraints.releases) }
        guard verdict.result == .failed, let pause = pause(ref, run, verdict) else {
            return finish(ref, verdict)
        }
        guard life.isOpen || isTriedAfterStop(ref) else {
            var verdict = verdict
            let why = "watchd stopped before it was tried again"
            verdict.reason = verdict.reason.map { "\($0); \(why)" } ?? why
            return finish(ref, verdict)
        }
        backOff(ref, verdict, pause)
        if life.isStopping { setAsideForAgain(ref) }
    }

    /// Nobody knows whether the run did its work: it is the same attempt that comes once more.
    private mutating func redeliver(_ ref: OperationRef, _ verdict: Verdict) {
        operations[ref].progress.repeats()
        backOff(ref, verdict, 0, isSameAttempt: true)
    }

    /// A run gives back its semaphores and its places.
    mutating func giveBack(_ run: Run) {
        if let seat = run.seat {
            for place in scheduler.give(seat, run.queues, run.held) where queues[place].isRemoved {
                releaseQueueIfUnused(place)
            }
            return lineLeft(seat)
        }
        scheduler.giveBack(run.held)
        for place in run.queues {
            scheduler.giveWidth(place)
            if queues[place].isRemoved { releaseQueueIfUnused(place) }
        }
    }

    // MARK: Another attempt

    /// Microseconds until the next attempt; `nil`: there is none.
    private mutating func pause(_ ref: OperationRef, _ run: Run, _ verdict: Verdict) -> Int64? {
        let (id, policy) = (operations[ref].id, run.definition.value.retry)
        if let exit = verdict.exit, run.ending == nil, policy.preventExitStatus.contains(exit) { return nil }
        var used = attempts[id] ?? Attempts()
        if verdict.wantsRetry || verdict.exit == Self.temporaryFailure, run.ending == nil,
            used.temporary < Self.temporaryFailureLimit
        {
            used.temporary += 1
        } else if policy.limit.map({ used.counted < $0 }) ?? true {
            used.counted += 1
        } else {
            return nil
        }
        attempts[id] = used
        let doublings = min(used.counted + used.temporary - 1, 62)
        let first = Int64(clamping: policy.delay.microseconds)
        let longest = Int64(clamping: policy.maxDelay.microseconds)
        let (doubled, overflows) = first.multipliedReportingOverflow(by: 1 << doublings)
        let span = min(overflows ? longest : doubled, longest, .max / 4)
        return span + Self.jitter(id, attempt: operations[ref].progress.attempt, upTo: span / 10)
    }

    /// The same for the same attempt, different for operations that failed together.
    private static func jitter(_ id: UInt64, attempt: Int32, upTo limit: Int64) -> Int64 {
        guard limit > 0 else { return 0 }
        // SplitMix64 (Steele, Lea, Flood 2014).
        var bits = (id &* 0x9E37_79B9_7F4A_7C15) &+ UInt64(UInt32(bitPattern: attempt))
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int64((bits ^ (bits >> 31)) % UInt64(limit))
    }

    /// Between two attempts it is pending: it keeps its key and its place in the order, and gives everything else back.
    private mutating func backOff(
        _ ref: OperationRef, _ verdict: Verdict, _ pause: Int64, isSameAttempt: Bool = false
    ) {
        let operation = operations[ref]
        var view = view(operation, isEnding: true)
        (view.ended, view.nextAttempt) = (ended(view), now.realtime + pause)
        take(verdict, into: &view)
        let target = SourceState.Target(handler: operation.handler, queue: operation.queue)
        let wasLine = operation.runs.last?.seat != nil
        operations[ref].runs = []
        overdue.ends(ref.id)
        if wasLine { scheduler.returnToLine(ref) }
        operations[ref].progress.isRunning = false
        loopRunEnded(ref)
        scheduler.countBarrier(ref, -1)
        if handling.isWaiting(for: operation.id) { noteTold(operation) }
        if !isSameAttempt {
            operations[ref].progress.startsAgain = false
            if operations[ref].progress.attempt < .max { operations[ref].progress.attempt += 1 }
        }
        operations[ref].progress.toStart = nextParts(operation.id)
        operations[ref].turn.station = .backingOff
        operations[ref].times.wakeUp = now.monotonic + pause
        queues[operation.queue].running -= 1
        queues[operation.queue].waiting += 1
        move(operation.entries.deliveries, from: .running, to: .pending, source: operation.source, target)
        changeLoad(operation.entries.load, queue: operation.queue)
        deadlines.add(.retry(ref), .monotonic, at: operations[ref].times.wakeUp)
        followDelay(ref)
        save(ref)
        actions.append(.report(.retrying(view)))
        report(ref)
        note(
            .retried, ref,
            detail: .text(
                "attempt \(operation.progress.attempt) failed, the next in \(SpanText.remaining(pause))"
            ))
        scheduler.areRestartsMoved = true
        let completions = definition(toEnd: operation).value.completions
        if completions.isEmpty { return }
        startCompletions(completions.retry, .retry, operation, view)
        releaseAwaited(completions.all)
    }

    mutating func pauseIsOver(_ ref: OperationRef) {
        guard operations.isAlive(ref), operations[ref].turn.station == .backingOff,
            operations[ref].times.wakeUp <= now.monotonic
        else { return }
        if scheduler.setStation(ref) { reportReady(ref) }
        // The pause is over after the next start too.
        save(ref)
        scheduler.touch(queue: operations[ref].queue)
    }
}
