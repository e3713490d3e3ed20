import Engine
import EventSources
import Handlers
import LinuxSystem
import WatchFile

/// The engine's actions are performed here, in the order of its decisions.
extension Runtime {
    func perform(_ decided: [Action]) {
        let actions = attempts.isEmpty ? decided : decided.map(withLastOutput)
        // A start goes first: what is told of it takes a processor too.
        for case .start(let request) in actions { start(request) }
        persistence?.write(actions)
        for action in actions { perform(action) }
        membersMayHaveChanged(by: actions)
        waitingMayHaveChanged(by: actions)
        sourcesMayBeReady()
    }

    /// An operation that ends between two attempts ends with the output of the last one.
    private func withLastOutput(_ action: Action) -> Action {
        guard case .report(.ended(var view)) = action, [.cancelled, .stopped].contains(view.result),
            view.started == nil, let output = attempts.output(of: view.id, attempt: view.attempt - 1)
        else { return action }
        view.output = output
        return .report(.ended(view))
    }

    /// An action that had to wait for the store.
    private func performOne(_ action: Action) {
        switch action {
        case .start(let request):
            guard engine.isStarting(request.run) else { return }
            // A run that was cancelled meanwhile never begins.
            if engine.isUnwanted(request.run) { return handle(.runEnded(request.run, nil)) }
            start(request)
        case .hand(let line, let worker):
            guard let pid = engine.holder(of: line.run, worker) else { return }
            hand(line, worker)
            handle(.handed(line.run, pid: pid))
        default: perform(action)
        }
    }

    private func start(_ request: StartRequest) {
        if request.startsAgain { EventLog.redelivered(request, logger) }
        runs?.start(request)
    }

    private func hand(_ line: StartRequest, _ worker: RunID) {
        if line.startsAgain { EventLog.redelivered(line, logger) }
        runs?.hand(line, to: worker)
    }

    /// Does it when all that was told to the store is safe.
    func whenSafe(_ work: @escaping () -> Void) {
        if let persistence { persistence.whenSafe(work) } else { work() }
    }

    private func perform(_ action: Action) {
        switch action {
        case .open(let definition):
            readiness.wait(for: definition)
            sources?.open(definition, isDurable: engine.isDurable(definition.id))
        case .close(let id):
            stands.forget(id)
            readiness.forget(id)
            processOutputs.forget(id)
            stoppedProcesses.forget(id)
            close(id)
        case .watch(let condition): holds?.watch(condition)
        case .unwatch(let condition): holds?.unwatch(condition)
        case .hold(let id): sources?.hold(id)
        case .release(let id): sources?.release(id)
        case .arm(.realtime, let time): arm(.realtime, at: time)
        case .arm(.boottime, let time): arm(.boottime, at: time)
        case .arm(.monotonic, let time): arm(.monotonic, at: time)
        case .store(.position(let id, let position, _)): positions[id] = position
        case .start, .store: break
        case .began(let operation): begun?.began(operation)
        case .handled(let id, let moments, _): handled?.note(id, moments)
        case .startWorker(let request): runs?.startWorker(request)
        case .hand(let line, let worker): hand(line, worker)
        case .takeBack(let run, let worker): runs?.takeBack(run, from: worker)
        case .closeInput(let worker): runs?.closeInput(of: worker)
        case .adopt(let request): adopt(request)
        case .committed(let action): whenSafe { [unowned self] in performOne(action) }
        case .stored(let action):
            guard let persistence else { return performOne(action) }
            persistence.whenSafe(orFailing: true) { [unowned self] in performOne(action) }
        case .signal(let run, let number, let mode):
            if engine.phase == .draining { logEnding(run, number, mode) }
            runs?.signal(run, number: number, mode: mode)
        case .log(let handler, let operation, let text):
            let fields = [("WATCHD_HANDLER", handler), ("WATCHD_OPERATION", "\(operation)")]
            logger.write(.notice, "\(handler): \(String(decoding: text, as: UTF8.self))", fields)
        case .reply(let token, let reply): answer(token, reply)
        case .report(let report): take(report)
        case .reloaded(let token, let change): reloaded(token, change)
        case .drained(let leftBehind, let leftRunning): drained(leftBehind, leftRunning)
        }
    }

    /// At a stop, what the service manager keeps for the next start is left as it is.
    private func close(_ id: SourceID) {
        // Where nobody is waited for it is over at once.
        let isStopping = engine.phase == .draining || engine.phase == .drained
        guard isStopping, manager.isManaged, id.kind == .descriptor || id.kind == .path,
            sources?.isCommand(id) == false
        else {
            sources?.close(id)
            return
        }
        sources?.rest(id)
        // Changes from here on are read after the next start.
        inotify?.close()
    }

    /// Descriptors that the service manager kept for runs that are over.
    func forgetKept() {
        for name in kept.closeRest() { manager.forget(name) }
        runs?.sweep(but: Set(engine.orphanRuns.map(\.run)))
    }

    private func arm(_ clock: LinuxSystem.Clock, at time: Int64) {
        do {
            try timers?.arm(clock, at: time)
        } catch {
            logger.log(.err, "a timer could not be set: \(error)")
        }
    }

    /// Whether the process of an earlier watchd still runs.
    func runs(_ run: RunID, _ pid: Int32) -> Bool {
        if let pidfd = kept.numbers[.pidfd(run)] {
            return (try? Linux.poll(pidfd, .readable, timeout: 0))?.isEmpty ?? false
        }
        return Linux.place(of: pid).map { !$0.isZombie } ?? false
    }

    private func adopt(_ request: AdoptRequest) {
        // Else it is told next how it ended, or that nobody knows.
        if request.seen != nil || runs(request.run, request.pid) { EventLog.adopted(request, logger) }
        let started = Input.runStarted(request.run, pid: request.pid)
        running.note(started)
        noteProcessOutput(started)
        runs?.adopt(request, pidfd: kept.take(.pidfd(request.run)), output: kept.take(.output(request.run)))
    }
}
