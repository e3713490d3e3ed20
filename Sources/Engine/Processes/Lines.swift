import Schedule
import WatchFile

/// The lines of `Stream=` handlers: an operation's way to a worker, and what comes back.
extension Engine {
    /// Gives an operation to the worker that has a place for it.
    mutating func hand(_ ref: OperationRef, _ run: Run, to seat: Seat) {
        guard let worker = scheduler.crews[seat.crew].members[seat.copy].worker.process else { return }
        let next = actions.count
        whenSafe(ref, .hand(request(ref, run), to: worker.run))
        // Else the rim tells when it has it.
        guard case .hand = actions[next], let pid = worker.pid else { return }
        operations[ref].runs[0].phase = .running(pid: pid)
        setDeadline(ref, part: run.part, after: run.definition.value.timeout.microseconds)
        expectEnd(ref, run.definition.value)
    }

    /// Whether a line that had to wait for the store is still meant for that worker; its process.
    package func holder(of run: RunID, _ worker: RunID) -> Int32? {
        guard !life.isDrained, let (ref, index) = running(run), operations[ref].runs[index].pid == nil,
            let seat = operations[ref].runs[index].seat, scheduler.crews.seats[worker.operation] == seat
        else { return nil }
        return scheduler.crews[seat.crew].members[seat.copy].worker.process?.pid
    }

    mutating func handed(_ id: RunID, pid: Int32) {
        guard let (ref, index) = running(id), operations[ref].runs[index].seat != nil else { return }
        operations[ref].runs[index].phase = .running(pid: pid)
        let definition = operations[ref].runs[index].definition.value
        setDeadline(ref, part: id.part, after: definition.timeout.microseconds)
        expectEnd(ref, definition)
    }

    /// The operations that a worker holds, in the order in which it got them.
    func lines(of seat: Seat) -> [OperationRef] {
        guard scheduler.crews[seat.crew].members[seat.copy].held > 0 else { return [] }
        var found: [(started: Int64, place: UInt64, ref: OperationRef)] = []
        operations.forEachRef { ref, operation in
            guard let run = operation.runs.first, run.seat == seat else { return }
            found.append((run.started, operation.turn.place, ref))
        }
        return found.sorted { ($0.started, $0.place) < ($1.started, $1.place) }.map(\.ref)
    }

    // MARK: Lines that come back

    mutating func answered(_ worker: RunID, _ answers: [LineAnswer]) {
        guard let seat = scheduler.crews.seats[worker.operation] else { return }
        for answer in answers { take(answer, from: seat) }
    }

    private mutating func take(_ answer: LineAnswer, from seat: Seat) {
        guard let (ref, index) = running(answer.run), operations[ref].runs[index].seat == seat else { return }
        let run = operations[ref].runs[index]
        if run.ending == nil, answer.outcome == .withdrawn { return putBack(ref) }
        scheduler.crews[seat.crew].members[seat.copy].hasServed = true
        attemptEnded(ref, part: run.part, Self.judge(run, answer.outcome))
    }

    private static func judge(_ run: Run, _ outcome: LineAnswer.Outcome) -> Verdict {
        if run.ending != nil { return judge(run, nil, nil) }
        switch outcome {
        case .written, .ok, .withdrawn: return Verdict(result: .done)
        case .fail: return Verdict(result: .failed, reason: "its worker answered fail")
        case .retry:
            var verdict = Verdict(result: .failed, reason: "its worker answered retry")
            verdict.wantsRetry = true
            return verdict
        }
    }

    /// Its worker has ended before it was through with the line. Nobody knows what it did of it, so it is the same
    /// attempt that comes once more.
    ///
    /// - Parameter isOldest: the worker had it longest, so it is the one that may have cost it its life.
    mutating func cameBack(_ ref: OperationRef, isOldest: Bool, _ outcome: String) {
        guard let run = operations[ref].runs.first else { return }
        if run.ending != nil { return attemptEnded(ref, part: run.part, Self.judge(run, nil, nil)) }
        let isHanded = run.pid != nil
        if isHanded, run.definition.value.stream?.isAcknowledged ?? false {
            operations[ref].progress.repeats()
        }
        if life.isStopping {
            guard runsAgain(ref) else {
                let reason = "its worker ended while watchd stopped: \(outcome)"
                return attemptEnded(ref, part: run.part, Verdict(result: .failed, reason: reason))
            }
            giveBack(run)
            operations[ref].runs = []
            return setAsideForAgain(ref)
        }
        if isHanded, isOldest {
            var used = attempts[ref.id] ?? Attempts()
            used.workersLost += 1
            let isItsFault = used.workersLost >= Self.workersLostLimit
            if isItsFault { used.workersLost = 0 }
            attempts[ref.id] = used
            if isItsFault {
                let reason = "its worker ended \(Self.workersLostLimit) times while it had it: \(outcome)"
                return attemptEnded(ref, part: run.part, Verdict(result: .failed, reason: reason))
            }
        }
        putBack(ref)
    }

    /// The attempt has not begun after all: the operation is ready again, in the place that it had.
    private mutating func putBack(_ ref: OperationRef) {
        guard let run = operations[ref].runs.first else { return }
        giveBack(run)
        let operation = operations[ref]
        let target = SourceState.Target(handler: operation.handler, queue: operation.queue)
        operations[ref].runs = []
        scheduler.returnToLine(ref)
        overdue.ends(ref.id)
        operations[ref].progress.isRunning = false
        operations[ref].progress.toStart = 1
        scheduler.countBarrier(ref, -1)
        queues[operation.queue].running -= 1
        queues[operation.queue].waiting += 1
        move(operation.entries.deliveries, from: .running, to: .pending, source: operation.source, target)
        changeLoad(operation.entries.load, queue: operation.queue)
        save(ref)
        let worker = run.pid.map { "its worker (pid \($0)) gave it back" } ?? "its worker is gone"
        note(.retried, ref, detail: .text(worker))
        if scheduler.setStation(ref) { reportReady(ref) }
        scheduler.touch(queue: operation.queue)
        scheduler.areRestartsMoved = true
    }

    // MARK: Ended before its time

    /// A line is to be given up.
    mutating func takeBack(_ ref: OperationRef, _ seat: Seat, _ ending: Run.Ending) {
        guard let run = operations[ref].runs.first else { return }
        guard run.pid != nil, let worker = scheduler.crews[seat.crew].members[seat.copy].worker.process else {
            // It waits for the store still.
            return attemptEnded(ref, part: run.part, Self.judge(run, nil, nil))
        }
        operations[ref].runs[0].deadline = nil
        switch ending {
        case .timedOut: endWorker(seat, .late(ref.id))
        case .stopped: endWorker(seat, .stopping)
        case .cancelled, .superseded:
            let id = RunID(operation: ref.id, attempt: Int(operations[ref].progress.attempt), part: run.part)
            actions.append(.takeBack(id, from: worker.run))
            setDeadline(ref, part: run.part, after: run.definition.value.timeoutStop.microseconds)
        }
    }
}
