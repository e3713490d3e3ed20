import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// The end: by a signal, by a client, in steps that each end harder.
extension Runtime {
    func drain() {
        switch engine.phase {
        case .running, .reloading:
            manager.stopping("stopping, \(statusLine)")
            manager.extendTimeout(atMost: drainLimit)
            handled?.sourcesClose()
            stopBegan = Linux.now(.realtime)
            handle(.drain)
            // A stop may be ended by a kill.
            noteCancelled()
            runs?.giveUp()
        case .draining:
            sources?.killCommands()
            handle(.hurry)
        case .drained: sources?.killCommands()
        }
    }

    /// At a stop nobody else tells why a handler has to end.
    func logEnding(_ run: RunID, _ number: Int32, _ mode: KillMode) {
        guard let view = engine.operation(run.operation), let why = engine.whyEnding(run), let runs else { return }
        logger.log(
            .notice, "\(view.handler) \(run.operation)  \(runs.ending(run, number: number, mode: mode)): \(why)")
    }

    func drained(_ leftBehind: [UInt64], _ leftRunning: [AdoptRequest]) {
        for request in leftRunning { EventLog.left(request, logger) }
        let unwatched = engine.orphanRuns.filter { AdoptableProcess.isAlive($0.pid, startedAt: $0.started) }
        let left = leftRunning + unwatched
        manager.leave(left.map(\.pid), left.map { Containment.name(of: $0.run) })
        if !leftBehind.isEmpty {
            let list = leftBehind.map(String.init).joined(separator: ", ")
            logger.log(.err, "could not end operations \(list); they are left behind")
        }
        guard let sources else { return closeStore() }
        sources.whenCommandsHaveEnded { [self] in
            for id in $0 { logger.log(.err, "could not end the command of \(id); it is left behind") }
            closeStore()
        }
    }

    /// The next watchd names what this stop has cancelled.
    private func noteCancelled() {
        persistence?.write([.cancelledByStop(cancelled.text(at: Linux.now(.realtime)))])
    }

    private func closeStore() {
        refused.closeAll()
        guard let handled else { return closeWrittenStore() }
        handled.close { [self] in closeWrittenStore() }
    }

    private func closeWrittenStore() {
        writeMembers()
        forgetWaiting()
        noteCancelled()
        guard let persistence else { return stopped(Unstored([])) }
        var isOver = false
        let end = { [self] (unstored: Unstored) in
            if isOver { return }
            isOver = true
            stopped(unstored)
        }
        // When it is safe, sources have taken out of their descriptors what they told: that is what their notes say now.
        persistence.whenSafe(orFailing: true) { [self] in
            let notes = sources?.notes ?? []
            persistence.write(notes.map { .position($0.id, $0.note) })
            // The number of those that are kept is known when they are written.
            persistence.close(end)
        }
        let late = QueueBound(
            { [logger] in
                if isOver { return }
                logger.log(.crit, "the store has not been written for a minute: ending without it")
                end(persistence.unstored)
            }, to: core)
        core.after(Int(Self.storePatience.microseconds)) { late.value() }
    }

    /// A disk that does not answer ends in its own time: what was accepted is on it already.
    static let storePatience = TimeSpan.seconds(60)
    /// For the last replies (microseconds), longer than `ControlServer.close` takes unless a client hangs it.
    private static let controlPatience = 3_000_000

    private func stopped(_ unstored: Unstored) {
        let lost = unstored.operations.count
        let kept = max(0, engine.setAsideCount - lost)
        let parts = [
            "stopped: \(CountersText.sentence(engine.totals))",
            kept == 0 ? nil : "\(counted(kept, "operation")) kept for the next start",
            lost == 0 ? nil : "\(counted(lost, "operation")) not stored",
        ]
        logger.log(.notice, parts.compactMap { $0 }.joined(separator: "; "), id: .stopped)
        let reason = persistence?.failure.map { ": \($0.error)" } ?? ""
        let areKept = manager.keepsDescriptors
        let comesAgain: (String) -> Bool = { [self] in self.comesAgain($0, descriptorsAreKept: areKept) }
        for sentence in unstored.sentences(comesAgain: comesAgain) {
            logger.log(.err, sentence + reason, id: .storeFailing)
        }
        // Where nobody keeps the descriptors for the next start, what is lost in them is named.
        if areKept { sources?.closeUnkept() } else { sources?.closeAll() }
        guard let control else { return exit() }
        control.close(exit)
        core.after(Self.controlPatience) { [bound] in bound.value.exit() }
    }

    /// Whether what a source has told, and nobody has stored, is told by it again after the next start.
    private func comesAgain(_ name: String, descriptorsAreKept: Bool) -> Bool {
        guard let source = SourceID(description: name).flatMap({ engine.definition(of: $0) }) else { return false }
        guard case .descriptor(let trigger) = source.trigger else { return source.id.kind == .path }
        return switch trigger.listener {
        case .tail: true
        // It is taken out of them only when it is stored.
        case .fifo, .datagram, .stream, .sequentialPacket: descriptorsAreKept && trigger.framing != .ready
        case .special, .netlink, .messageQueue, .passed, .command, .pressure: false
        }
    }

    func signalReceived(_ info: SignalInfo) {
        let sender = "process \(info.senderProcess) (uid \(info.senderUser))"
        switch info.number {
        case 1:
            logger.log(.notice, "SIGHUP from \(sender)\(isStopping ? " ignored: watchd stops" : ": reloading")")
            if !isStopping { reload { _ in } }
        case 18 where info.senderProcess == Linux.parentProcessID:
            // The service manager sends it after SIGTERM (`systemd.kill(5)`), and a shell at `fg`.
            break
        case let number where number != 2 && number != 15:
            guard unclaimedSignals.insert(number).inserted else { return }
            logger.log(
                .notice,
                "\(LinuxSignal.name(number)) from \(sender) ignored: no [Signal] source claims it; further ones are "
                    + "not logged")
        default:
            guard engine.phase != .drained || sources?.hasCommands == true else { return }
            logger.log(.notice, "\(LinuxSignal.name(info.number)) from \(sender): \(stopText)", id: .stopping)
            drain()
        }
    }

    private var stopText: String {
        if [.draining, .drained].contains(engine.phase) { return "hurrying" }
        let count = max(0, engine.waitedForAtStop - delayedRuns.count - engine.processesWaitingForStore)
        return "stopping, waiting for \(counted(count, "handler"))"
    }
}
