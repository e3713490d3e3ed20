import Engine
import EventSources
import LinuxSystem
import WatchFile

/// Sees that a supervised process is ready (`ReadyLine=`, `ReadyPath=`, `NotifyReady=`), and says so once. Confined to
/// the core.
final class ReadinessWatch {
    /// Microseconds between two looks at a path; the kernel tells nobody of one whose folder does not exist.
    private static let lookEvery = 100_000
    private static let longestMessage = 4096

    private let environment: RunEnvironment
    private let readiness: SupervisedCommand.Readiness
    private let pattern: LinePattern?
    private let ready: () -> Void
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var leader: Int32?
    private var isOver = false
    /// For the environment of the process.
    private(set) var socketName: String?

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
        let socket = try Linux.notifySocket()
        socketName = "\(try Linux.localEndpoint(socket.rawValue))"
        self.socket = consume socket
    }

    deinit { socket.take()?.close() }

    /// There is a process.
    func begin(_ processID: Int32) {
        leader = processID
        if case .path(let path) = readiness { look(path) }
        guard let number = socket.number else { return }
        do throws(SystemError) {
            token = try environment.epoll.add(number, .readable) { [unowned self] _ in hear() }
        } catch {
            environment.logger.log(.err, "NOTIFY_SOCKET of a process cannot be read: \(error)")
        }
    }

    /// Takes lines of its output.
    func take(_ lines: [LineFramer.Line]) {
        guard !isOver, let pattern, lines.contains(where: { pattern.match($0.bytes) != nil }) else { return }
        tell()
    }

    /// The process has ended.
    func end() {
        isOver = true
        if let token { environment.epoll.remove(token) }
        token = nil
        socket.take()?.close()
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

    // MARK: Messages

    /// All of them are read, also when it has been said: nobody is to block who goes on talking.
    private func hear() {
        for _ in 0..<16 {
            guard let number = socket.number,
                let message = try? Linux.receiveSigned(number, limit: Self.longestMessage)
            else { return }
            let lines = message.bytes.split(separator: UInt8(ascii: "\n"))
            if lines.contains(where: { $0.elementsEqual("READY=1".utf8) }), isOwn(message) { tell() }
        }
    }

    /// It is of the process itself, or of one of its group: anybody may send to an abstract socket.
    private func isOwn(_ message: Linux.SignedDatagram) -> Bool {
        guard let leader, message.processID > 0 else { return false }
        if message.processID == leader { return true }
        if let place = Linux.place(of: message.processID) { return place.groupID == leader }
        // A short-lived sender, as `systemd-notify` is, still has a user.
        return Linux.user(ofAll: leader) == message.userID
    }
}
