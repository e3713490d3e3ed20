import Engine
import EventSources
import Handlers
import LinuxSystem
import Systemd
import WatchFile

/// The end: by a signal, by a client, in steps that each end harder.
extension Runtime {
    func drain() {
        switch engine.phase {
        case .running, .reloading:
            manager.stopping("stopping, \(statusLine)")
            manager.extendTimeout(atMost: drainLimit)
            handle(.drain)
        case .draining:
            sources?.killCommands()
            handle(.hurry)
        case .drained: sources?.killCommands()
        }
    }

    /// At a stop nobody else tells why a handler has to end.
    func logEnding(_ run: RunID, _ number: Int32) {
        guard let view = engine.operation(run.operation), let why = engine.whyEnding(run) else { return }
        logger.log(.notice, "\(view.handler) \(run.operation)  gets \(LinuxSignal.name(number)): \(why)")
    }

    func drained(leftBehind: [UInt64]) {
        if !leftBehind.isEmpty {
            let list = leftBehind.map(String.init).joined(separator: ", ")
            logger.log(.err, "could not end operations \(list); they are left behind")
        }
        guard let sources else { return stopped() }
        sources.whenCommandsHaveEnded { [self] in
            for id in $0 { logger.log(.err, "could not end the command of \(id); it is left behind") }
            stopped()
        }
    }

    private func stopped() {
        let kept = engine.setAsideCount
        let later = kept == 0 ? "" : "; \(kept) durable operation\(kept == 1 ? "" : "s") kept for the next start"
        logger.log(.notice, "stopped: \(CountersText.sentence(engine.totals))\(later)", id: .stopped)
        let close = { [control, exit, manager, sources] in
            // Nobody keeps anything for the next start: what is lost of it is named.
            if !manager.isManaged { sources?.closeUnclaimed() }
            control.map { $0.close(exit) } ?? exit()
        }
        if let persistence { persistence.close(close) } else { close() }
    }

    func signalReceived(_ info: SignalInfo) {
        let sender = "process \(info.senderProcess) of user \(info.senderUser)"
        switch info.number {
        case 1:
            logger.log(.notice, "SIGHUP from \(sender): reloading")
            reload { _ in }
        default:
            guard engine.phase != .drained || sources?.hasCommands == true else { return }
            logger.log(.notice, "\(LinuxSignal.name(info.number)) from \(sender): \(stopText)", id: .stopping)
            drain()
        }
    }

    private var stopText: String {
        [.draining, .drained].contains(engine.phase)
            ? "hurrying" : "stopping, waiting for \(Self.count(engine.processesRunning, "handler"))"
    }
}
