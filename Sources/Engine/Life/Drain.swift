import Schedule
import WatchFile

/// A stop: what waits is cancelled and named, what runs is waited for, then terminated, then killed. The fate of the
/// runs that are ended stands in `StoppedRuns.swift`.
extension Engine {
    /// How long a killed process may take to be gone before it is left behind.
    static let killPatience: Int64 = 5_000_000

    /// Nothing is left that a stop waits for.
    var isIdle: Bool {
        guard !supervisor.isWaitedFor, !scheduler.crews.isWaitedFor else { return false }
        return operations.count == 0 || operations.refs.allSatisfy { goesOnBesideStop($0) }
    }

    mutating func beginDrain() {
        guard life.isOpen else { return hurryDrain() }
        while !queueCancellations.isEmpty { cancelNextOfQueue() }
        saveStamps(isLast: true)
        for source in sources.indices {
            if case .source(let id) = sources[source].origin, !sources[source].isRemoved, isInRim(source) {
                actions.append(.close(id))
            }
            sources[source].condition = .closed
            sources[source].timer = TimerState()
            stopSilence(source)
            sources[source].isHeldInRim = false
            if !isDurable(source: source) { cancelHeld(source) }
        }
        // A run that restarts a process is ended by the stop: it is not told that the process was stopped.
        for token in steerings.runs.keys { supervisor.abandon(token) }
        perform(supervisor.stopAll(ids: &journal.ids.lastOperation, at: now))
        // Waiting operations are cancelled and nothing new is started: so the life changes first.
        let reload = life.reload
        life = .draining(Life.Drain())
        // Durable operations wait for the next start: they are set aside before anything else ends, so that they stay
        // as they are.
        for ref in operations.refs where isDurable(ref) && isUnstarted(ref) { setAside(ref) }
        for ref in operations.refs.reversed() where operations.isAlive(ref) && operations[ref].runs.isEmpty {
            if operations.isWaiting(ref) {
                finish(ref, .cancelled, reason: "watchd stopped before it started")
            } else if runsAgain(ref) {
                setAsideForAgain(ref)
            } else {
                finish(ref, .stopped, reason: "watchd stopped before it was tried again")
            }
        }
        for ref in operations.refs { startNoMore(ref, .stopped) }
        // The first of its parts ends all of them.
        for ref in steerings.runs.values.map(\.operation).sorted(by: { $0.id < $1.id }) where operations.isAlive(ref) {
            terminate(ref, .stopped)
        }
        for ref in operations.refs where isOfClient(operations[ref].handler) && !goesOnBesideStop(ref) {
            terminate(ref, .stopped)
        }
        closeWorkers()
        for wait in emitWaits { actions.append(.reply(wait.token, .emitted(wait.event, .unfinished([])))) }
        emitWaits = []
        for call in door.takeCalls() { actions.append(.reply(call.token, .failure(.draining))) }
        if let reload { actions.append(.reply(reload.token, .failure(.draining))) }
        let span = settings.drain.microseconds
        if span < UInt64(Int64.max / 4) { setDrainDeadline(now.monotonic + Int64(span)) }
    }

    func isInRim(_ source: Int) -> Bool {
        switch sources[source].definition?.value.trigger {
        case .process(.command): false
        case .signal, .path, .descriptor, .process, .unit: true
        case .timer, .custom, .group, nil: false
        }
    }

    /// Nothing of it runs; while the store fails, neither does what was to start.
    func isUnstarted(_ ref: OperationRef) -> Bool {
        operations[ref].runs.isEmpty
            || (!journal.isWorking && operations[ref].runs.allSatisfy { !$0.hasBegun })
    }

    private mutating func cancelHeld(_ source: Int) {
        while let event = removeHeld(source) {
            for target in sources[source].targets {
                move(event.count, from: .held, to: .cancelled, source: source, target)
                let refused = refused(event, source: source, target, .cancelled, "watchd stopped")
                actions.append(.report(.refused(refused)))
            }
        }
        if sources[source].isRemoved { releaseRemoved(source) }
    }

    private mutating func setDrainDeadline(_ time: Int64) {
        life.drain?.deadline = time
        deadlines.add(.drain, .monotonic, at: time)
    }

    mutating func drainDeadline() {
        guard case .draining(let drain) = life, let deadline = drain.deadline, deadline <= now.monotonic else { return }
        if drain.step == .killing {
            let left = operations.refs.filter { !goesOnBesideStop($0) }.map { operations[$0].id }
            return finishDrain(leftBehind: left + supervisor.starts + scheduler.crews.starts)
        }
        hurryDrain()
    }

    /// The next, harder step.
    mutating func hurryDrain() {
        guard let step = life.drain?.step else { return }
        // A finalizer that has not started has lost its time.
        for ref in operations.refs where operations.isAlive(ref) && operations[ref].runs.isEmpty {
            if isDurable(ref) {
                setAside(ref)
                continue
            }
            finish(ref, .cancelled, reason: "watchd had no time left for it")
        }
        life.drain?.step = step == .waiting ? .terminating : .killing
        let refs = operations.refs.filter { !goesOnBesideStop($0) }
        switch step {
        case .waiting:
            for ref in refs where operations.isAlive(ref) { terminate(ref, .stopped) }
            endWorkers(isKilled: false)
            let patience = max(
                refs.compactMap { operations[$0].runs.map(\.definition.value.timeoutStop.microseconds).max() }.max()
                    ?? 0, supervisor.patience, scheduler.crews.patience)
            if patience < UInt64(Int64.max / 4) { setDrainDeadline(now.monotonic + Int64(patience) + 1_000_000) }
        case .terminating, .killing:
            for ref in refs where operations.isAlive(ref) {
                terminate(ref, .stopped)
                if operations.isAlive(ref) { kill(ref) }
            }
            endWorkers(isKilled: true)
            perform(supervisor.killAll(ids: &journal.ids.lastOperation, at: now))
            setDrainDeadline(now.monotonic + Self.killPatience)
        }
    }

    /// An operation has ended that others wait for which are left to the next start: by then nobody may remember it.
    mutating func resolveLeft(behind id: UInt64, _ result: Result, successor: UInt64?) {
        for stored in journal.setAside.resolve(id, isSuccess: isSuccess(result), successor: successor) {
            actions.append(.store(.update(stored)))
        }
    }

    /// Of those that the stop leaves to the next start.
    mutating func cancelSetAside(_ id: UInt64) -> Bool {
        guard let stored = journal.setAside.remove(id) else { return false }
        var view = view(stored)
        (view.state, view.result, view.ended) = (.cancelled, .cancelled, now.realtime)
        view.reason = "cancelled while watchd stopped"
        if let handler = handlers.index(of: stored.handler), let queue = queues.index(of: stored.queue),
            let source = sources.index(of: stored.origin)
        {
            let target = SourceState.Target(handler: handler, queue: queue)
            move(view.deliveries, from: .pending, to: .cancelled, source: source, target)
        } else {
            retired.move(view.deliveries, from: .pending, to: .cancelled)
        }
        actions.append(.report(.ended(view)))
        resolveLeft(behind: id, .cancelled, successor: nil)
        return true
    }

    /// Why a run is asked to end, and what comes of it, for the log of a stop; `nil`: it is not.
    package func whyEnding(_ id: RunID) -> String? {
        guard let ref = operations.ref(id: id.operation),
            let ending = operations[ref].runs.first(where: { $0.part == id.part })?.ending
        else { return nil }
        switch ending {
        case .timedOut: return "TimeoutSec= is over"
        case .cancelled: return "cancelled"
        case .superseded: return "newer events take its place"
        case .stopped:
            return "watchd stops" + (runsAgain(ref) ? "; it runs again after the next start" : "")
        }
    }

    mutating func finishDrain(leftBehind: [UInt64]) {
        let leftRunning = leaveRunning() + supervisor.leftRunning
        life = .drained(life.drain ?? Life.Drain())
        saveTallies()
        for (token, reply) in calls.takeCallers() { actions.append(.reply(token, reply)) }
        for token in supervisor.takeCallers() { actions.append(.reply(token, .failure(.draining))) }
        // Ids go on where they are.
        reserve(0)
        actions.append(.drained(leftBehind: leftBehind, leftRunning: leftRunning))
    }
}
