import Dispatch
import EventSources
import Handlers
import LinuxSystem
import Synchronization
import Systemd
import WatchFile

/// The messages to the service manager. Its socket may be full and block (`net.unix.max_dgram_qlen`), so that happens
/// on a context of its own; without a manager nothing happens at all.
final class ServiceManager: Sendable {
    private let context = Context("watchd.notify")
    private let sender: QueueBound<NotificationSender>
    private let logger: Logger
    /// A service manager wants to hear from this process.
    let isManaged: Bool
    private let state = Mutex(State())

    private struct State {
        var isReady = false
        var lastStatus = ""
        var isStatusPlanned = false
        var isStatusLate = false
        /// Extensions of a time-out that were begun.
        var extensions = 0
        var isExtending = false
        /// Rounds of the watchdog: the last begun, and the last that came back.
        var round = 0
        var returned = 0
        /// Copies on their way into the store.
        var keeping: [KeptDescriptor: Int32] = [:]
    }

    init(logger: Logger) {
        self.logger = logger
        isManaged = Linux.environment("NOTIFY_SOCKET") != nil
        sender = QueueBound(NotificationSender(isManaged: isManaged), to: context)
        markReady(false)
    }

    /// By it the unit's `ExecStopPost=` tells a stop that took too long, which leaves no handler behind, from a start
    /// that did after a crash: then they are to be found again.
    private func markReady(_ isReady: Bool) {
        guard isManaged, let folder = Linux.environment("RUNTIME_DIRECTORY") else { return }
        let path = folder + Array("/ready".utf8)
        context.async {
            if isReady {
                (try? Linux.open(path, [.writing, .creating], mode: 0o644))?.close()
            } else {
                try? Linux.unlink(path)
            }
        }
    }

    /// Processes that go on beside a stop: the unit's `ExecStopPost=` leaves their process groups alone, and the cgroups
    /// of their runs.
    func leave(_ processes: [Int32], _ groups: [String]) {
        guard isManaged, !processes.isEmpty, let folder = Linux.environment("RUNTIME_DIRECTORY") else { return }
        do {
            let options: OpenOptions = [.writing, .creating, .truncating]
            let file = try Linux.open(folder + Array("/left-running".utf8), options, mode: 0o644).release()
            defer { FileDescriptor(owning: file).close() }
            try Linux.writeAll(file, (processes.map(String.init) + groups).map { "\($0)\n" }.joined().utf8)
        } catch {
            logger.log(.err, "the service manager ends what OnStop=leave or KillMode=none lets run: \(error)")
        }
    }

    /// Whether it keeps the descriptors that it has been given when this process ends now. It is asked, at most for a
    /// second; one that does not answer may start watchd again.
    var keepsDescriptors: Bool {
        guard isManaged else { return false }
        return OwnService.keepsDescriptors(ControlGroup.own?.isOfUserManager == true ? .user : .system) ?? true
    }

    private func send(_ notification: @autoclosure @escaping @Sendable () -> Notification) {
        guard isManaged else { return }
        context.async { [sender] in sender.value.send(notification()) }
    }

    func ready(_ status: String) {
        markReady(true)
        state.withLock {
            $0.isReady = true
            $0.isExtending = false
            $0.lastStatus = status
        }
        send(.ready + .status(status))
    }

    /// READY waits for the sources that `status` names. From the first time on the start may take as long as it does.
    func starting(_ status: String) {
        let (isNew, isFirst) = state.withLock { state in
            let before = state.lastStatus
            state.lastStatus = status
            return (before != status, before.isEmpty)
        }
        if isFirst { extendTimeout(atMost: .max) }
        if isNew { send(.status(status)) }
    }

    /// A reload before READY, or after STOPPING, is nobody's business.
    func reloading() {
        guard state.withLock({ $0.isReady }) else { return }
        send(.reloading(now: Linux.now(.monotonic)))
    }

    func reloaded(_ status: String) {
        let isReady = state.withLock { state in
            if state.isReady { state.lastStatus = status }
            return state.isReady
        }
        guard isReady else { return }
        send(.ready + .status(status))
    }

    func stopping(_ status: String) {
        state.withLock { $0.isReady = false }
        send(.stopping + .status(status))
    }

    // MARK: Time-outs

    private static let extensionPace = 3_000_000
    /// Each extension, from when it is sent (microseconds); more than the pace, for a busy machine.
    private static let extensionLength = 15_000_000

    /// Keeps the time-out from ending that runs now (of the start, of the stop), until `extendNoMore` or this many
    /// microseconds have passed; READY ends it too. It goes on while the core is blocked.
    func extendTimeout(atMost limit: Int) {
        let extensions = state.withLock { state in
            state.extensions += 1
            state.isExtending = true
            return state.extensions
        }
        let (end, overflow) = Linux.now(.monotonic).addingReportingOverflow(Int64(limit))
        guard isManaged else { return }
        context.async { [self] in extendTimeout(extensions, until: overflow ? .max : end) }
    }

    func extendNoMore() { state.withLock { $0.isExtending = false } }

    /// On the context.
    private func extendTimeout(_ number: Int, until end: Int64) {
        let left = end - Linux.now(.monotonic)
        guard left > 0, state.withLock({ $0.isExtending && $0.extensions == number }) else { return }
        let length = min(left, Int64(Self.extensionLength))
        sender.value.send(.extendTimeout(microseconds: length))
        context.after(min(Self.extensionPace, Int(length))) { [self] in extendTimeout(number, until: end) }
    }

    // MARK: STATUS

    /// Sends the status line if it has changed, at most once a second; what changes in between is sent after it. Called
    /// on the core, like `refresh`, which calls it again.
    func statusMayHaveChanged(_ status: () -> String, refresh: @escaping @Sendable () -> Void) {
        guard isManaged else { return }
        let isDue = state.withLock { state in
            guard state.isReady, !state.isStatusPlanned else {
                state.isStatusLate = true
                return false
            }
            (state.isStatusPlanned, state.isStatusLate) = (true, false)
            return true
        }
        guard isDue else { return }
        sendStatus(status())
        context.after(1_000_000) { [self] in
            let isLate = state.withLock { state in
                state.isStatusPlanned = false
                return state.isStatusLate
            }
            if isLate { refresh() }
        }
    }

    private func sendStatus(_ text: String) {
        let isNew = state.withLock { state in
            guard state.lastStatus != text else { return false }
            state.lastStatus = text
            return true
        }
        if isNew { send(.status(text)) }
    }

    // MARK: Watchdog

    /// Answers the watchdog only when a token has passed through the core and the control context: what hangs there
    /// hangs for everybody.
    func watch(core: Context, control: Context?) {
        guard let interval = try? Watchdog.interval(), let control else { return }
        beat(interval: Int(interval), core: core, control: control)
    }

    private func beat(interval: Int, core: Context, control: Context) {
        let round = state.withLock { state in
            if state.returned < state.round {
                logger.log(.err, "watchdog: the token of round \(state.returned + 1) has not come back")
            }
            state.round += 1
            return state.round
        }
        core.async { [self] in
            control.async { [self] in
                state.withLock { $0.returned = max($0.returned, round) }
                send(.watchdog)
            }
        }
        context.after(interval / 3) { [self] in beat(interval: interval, core: core, control: control) }
    }

    // MARK: Descriptors

    /// Puts a copy of a descriptor into the manager's store.
    func keep(_ name: KeptDescriptor, _ descriptor: Int32) {
        guard isManaged, let copy = try? Linux.duplicate(descriptor).release() else { return }
        let older = state.withLock { $0.keeping.updateValue(copy, forKey: name) }
        if let older { FileDescriptor(owning: older).close() }
        context.async { [self] in
            guard let copy = state.withLock({ $0.keeping.removeValue(forKey: name) }) else { return }
            DescriptorStore.put(name.name, [copy], polls: false)
            FileDescriptor(owning: copy).close()
        }
    }

    /// Keeps a copy of the control socket over restarts, in the place of an earlier one.
    func keep(_ listener: ControlListener) {
        guard isManaged else { return }
        context.async {
            DescriptorStore.remove(ControlListener.keptName)
            guard listener.isKept else { return }
            DescriptorStore.put(ControlListener.keptName, [listener.descriptor], polls: false)
        }
    }

    /// Of what comes and goes faster than the manager listens it hears nothing, and no copy waits for it.
    func forget(_ name: KeptDescriptor) {
        guard isManaged else { return }
        let unsent = state.withLock { $0.keeping.removeValue(forKey: name) }
        if let unsent { FileDescriptor(owning: unsent).close() }
        if unsent == nil || !name.isUnique { remove(name.name) }
    }

    func remove(_ name: String) {
        guard isManaged, DescriptorStore.isName(name) else { return }
        context.async { DescriptorStore.remove(name) }
    }
}

/// Sends notifications, though every descriptor is used up: `sd_notify` opens a socket for each. Confined to its context.
private final class NotificationSender {
    private var reserve: DescriptorReserve

    init(isManaged: Bool) { reserve = DescriptorReserve(isManaged ? 1 : 0) }

    func send(_ notification: Notification) {
        guard Notifier.send(notification) == .failed(.descriptorsExhausted), reserve.release() else { return }
        Notifier.send(notification)
        reserve.refill()
    }
}
