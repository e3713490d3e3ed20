import Schedule

/// Due entries of each clock are handled, and each clock is armed for the next one.
extension Engine {
    mutating func passDeadlines() {
        for clock in Clock.allCases where !deadlines.isEmpty(clock) {
            while let kind = deadlines.next(clock, due: now[clock]) { pass(kind, clock) }
        }
    }

    private mutating func pass(_ kind: Deadlines.Kind, _ clock: Clock) {
        switch kind {
        case .timer(let source): timerElapsed(source)
        case .silence(let source): silenceDeadline(source)
        case .run(let ref, let part): runDeadline(ref, part: part)
        case .submission(let ref): submissionIsDue(ref, clock)
        case .loop(let ref): loopFound(ref)
        case .storedDelay(let ref): storeDelay(ref)
        case .startTimeout(let ref): startTimedOut(ref)
        case .late(let ref): becameLate(ref)
        case .slow(let ref): becameSlow(ref)
        case .retry(let ref): pauseIsOver(ref)
        case .queueRate(let queue): scheduler.rateMayBeBack(queue)
        case .sourceRate(let source): sourceRateMayBeBack(source)
        case .wait(let token): waitTimedOut(token)
        case .supervised(let source, let copy):
            perform(supervisor.elapsed(source, copy, ids: &journal.ids.lastOperation, at: now))
        case .worker(let seat): workerElapsed(seat)
        case .resumeSource(let source): endSuspensions(ofSource: source)
        case .resumeQueue(let queue): endSuspensions(ofQueue: queue)
        case .reload: if let reload = life.reload, reload.deadline <= now.monotonic { applyPendingReload() }
        case .problems: tellProblems()
        case .queueCancellation: cancelNextOfQueue()
        case .drain: drainDeadline()
        }
    }

    /// Whether a deadline is still meant. Inlined, it would cost a copy of the engine for every input.
    @inline(never)
    private func holds(_ kind: Deadlines.Kind, _ time: Int64, _ clock: Clock) -> Bool {
        switch kind {
        case .timer(let source):
            return sources.isInUse(source) && sources[source].timer.deadline(clock) == time
        case .silence(let source):
            return sources.isInUse(source) && sources[source].silence.deadline == time
        case .run(let ref, let part):
            return operations.isAlive(ref)
                && operations[ref].runs.contains { $0.part == part && $0.deadline == time }
        case .submission(let ref):
            guard operations.isAlive(ref), operations[ref].turn.station == .unsubmitted else { return false }
            if clock == .realtime { return clocks.windowEnds[ref.id] == time }
            // The quiet of a key may have begun anew.
            return time <= operations[ref].times.wakeUp
        case .loop(let ref): return isLoopDeadline(ref, time)
        case .storedDelay(let ref): return operations.isAlive(ref) && operations[ref].times.wakeUp > time
        case .startTimeout(let ref): return operations.isWaiting(ref) && startDeadline(ref) == time
        case .late(let ref): return isLateDeadline(ref) && overdue[ref.id]?.lateAt == time
        case .slow(let ref): return isSlowDeadline(ref) && overdue[ref.id]?.slowAt == time
        case .retry(let ref):
            return operations.isAlive(ref) && operations[ref].turn.station == .backingOff
                && operations[ref].times.wakeUp == time
        case .queueRate(let queue): return queues.isInUse(queue) && scheduler[queue].rate.deadline == time
        case .sourceRate(let source): return sources.isInUse(source) && sources[source].rateDeadline == time
        case .wait(let token):
            return calls.deadline(of: token) == time || drains.byToken[token]?.deadline == time
        case .supervised(let source, let copy): return supervisor.isDeadline(time, source, copy)
        case .worker(let seat): return scheduler.crews.contains(seat) && workerDeadlines(seat).contains(time)
        case .resumeSource(let source):
            return sources.isInUse(source) && sources[source].suspensions.contains { $0.resumesAt == time }
        case .resumeQueue(let queue):
            return queues.isInUse(queue) && queues[queue].suspensions.contains { $0.resumesAt == time }
        case .reload: return life.reload?.deadline == time
        case .problems: return problemWatch.deadline == time
        case .queueCancellation: return !queueCancellations.isEmpty
        case .drain: return life.isDraining && life.drain?.deadline == time
        }
    }

    mutating func armClocks() {
        for clock in Clock.allCases where !deadlines.isEmpty(clock) {
            while let first = deadlines.first(clock), !holds(first.kind, first.time, clock) {
                deadlines.removeFirst(clock)
            }
            while let first = deadlines.firstWithLeeway(clock), !holds(first.kind, first.due, clock) {
                deadlines.removeFirstWithLeeway(clock)
            }
            if deadlines.needsTrim(clock) { trimDeadlines(clock) }
            if let time = deadlines.toArm(clock, now: now[clock]) { actions.append(.arm(clock, at: time)) }
        }
    }

    @inline(never)
    private mutating func trimDeadlines(_ clock: Clock) {
        var trimmed = deadlines
        trimmed.trim(clock) { holds($0, $1, clock) }
        deadlines = trimmed
    }
}
