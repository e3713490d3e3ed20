import Engine
import EventSources
import LinuxSystem
import WatchFile

/// Sees that a supervised process is ready (`ReadyLine=`, `ReadyPath=`, `NotifyReady=`), and says so once. Confined to
/// the core.
final class ReadinessWatch {
    /// Microseconds between two looks at a path; the kernel tells nobody of one whose folder does not exist.
    private static let lookEvery = 100_000

    private let environment: RunEnvironment
    private let readiness: SupervisedCommand.Readiness
    private let pattern: LinePattern?
    private let ready: () -> Void
    private var receiver: NotificationReceiver?
    private var isOver = false
    /// For the environment of the process.
    var socketName: String? { receiver?.name }

    /// `nil`: it is ready as soon as it runs. Before the spawn: the process finds its socket.
    init?(
        _ readiness: SupervisedCommand.Readiness, _ environment: RunEnvironment, ready: @escaping () -> Void
    ) throws(SystemError) {
        if readiness == .running { return nil }
        self.environment = environment
        self.readiness = readiness
        self.ready = ready
        if case .line(let expression) = readiness { pattern = try? LinePattern(expression) } else { pattern = nil }
        guard case .notification = readiness else { return }
        receiver = try NotificationReceiver(environment) { [weak self] lines in
            if lines.contains(where: { $0.elementsEqual("READY=1".utf8) }) { self?.tell() }
        }
    }

    /// There is a process.
    func begin(_ processID: Int32, in leaf: ControlGroup?) {
        if case .path(let path) = readiness { look(path) }
        receiver?.begin(processID, in: leaf)
    }

    /// Takes lines of its output.
    func take(_ lines: [LineFramer.Line]) {
        guard !isOver, let pattern, lines.contains(where: { pattern.match($0.bytes) != nil }) else { return }
        tell()
    }

    /// The process has ended.
    func end() {
        isOver = true
        receiver?.end()
    }

    private func tell() {
        guard !isOver else { return }
        isOver = true
        ready()
    }

    // MARK: A path

    private func look(_ path: [UInt8]) {
        guard !isOver else { return }
        let bound = QueueBound(self, to: environment.core)
        environment.slow.submit("ReadyPath=") { [core = environment.core] in
            let isThere = (try? Linux.stat(path)) != nil
            core.async { bound.value.looked(path, isThere) }
        }
    }

    private func looked(_ path: [UInt8], _ isThere: Bool) {
        if isThere { return tell() }
        let bound = QueueBound(self, to: environment.core)
        environment.core.after(Self.lookEvery) { bound.value.look(path) }
    }
}
