import Engine
import EventSources
import LinuxSystem
import WatchFile

/// The `NOTIFY_SOCKET` of a run, or of a supervised process: takes what its processes send, as `sd_notify(3)` does.
/// Confined to the core.
///
/// Anybody may send to an abstract socket, so that a message counts only if the kernel names a process of the run as its
/// sender. Nobody is made to wait for more than a moment, however much somebody sends.
final class NotificationReceiver {
    /// Bytes of one message; the rest is cut off.
    private static let longestMessage = 4096
    /// Messages that are read in one turn.
    private static let turn = 64
    /// Microseconds from one turn to the next.
    private static let pause = 50_000

    private let environment: RunEnvironment
    private let heard: (_ lines: [ArraySlice<UInt8>]) -> Void
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var leader: Int32?
    private var leaf: ControlGroup?
    /// For the environment of the processes.
    let name: String
    private var bound: QueueBound<NotificationReceiver> { QueueBound(self, to: environment.core) }

    /// Before the spawn: the process finds its socket.
    ///
    /// - Parameter heard: gets the lines of each message of a process of the run.
    init(_ environment: RunEnvironment, heard: @escaping ([ArraySlice<UInt8>]) -> Void) throws(SystemError) {
        let socket = try Linux.notifySocket()
        do throws(SystemError) {
            name = "\(try Linux.localEndpoint(socket.rawValue))"
        } catch {
            socket.close()
            throw error
        }
        self.environment = environment
        self.heard = heard
        self.socket = consume socket
    }

    deinit { socket.take()?.close() }

    /// There is a process; each command of a run is another one.
    func begin(_ processID: Int32, in leaf: ControlGroup?) {
        (leader, self.leaf) = (processID, leaf)
        if token == nil { listen() }
    }

    /// The run has ended. What it has sent before its end is read.
    func end() {
        if socket.number != nil, leader != nil { read() }
        if let token { environment.epoll.remove(token) }
        token = nil
        leader = nil
        socket.take()?.close()
    }

    private func listen() {
        guard let number = socket.number else { return }
        do throws(SystemError) {
            token = try environment.epoll.add(number, .readable) { [weak self] _ in self?.hear() }
        } catch {
            environment.logger.log(.err, "NOTIFY_SOCKET of a process cannot be read: \(error)")
        }
    }

    private func hear() {
        guard read() == Self.turn else { return }
        // One that never stops costs as much as one that says something now and then.
        if let token { environment.epoll.remove(token) }
        token = nil
        environment.core.after(Self.pause) { [bound] in
            if bound.value.leader != nil, bound.value.token == nil { bound.value.listen() }
        }
    }

    /// How many there were.
    @discardableResult
    private func read() -> Int {
        for count in 0..<Self.turn {
            guard let number = socket.number,
                let message = try? Linux.receiveSigned(number, limit: Self.longestMessage)
            else { return count }
            if isOwn(message) { heard(message.bytes.split(separator: UInt8(ascii: "\n"))) }
        }
        return Self.turn
    }

    private func isOwn(_ message: Linux.SignedDatagram) -> Bool {
        guard let leader, message.processID > 0 else { return false }
        if message.processID == leader { return true }
        if let place = Linux.place(of: message.processID) {
            // One that has left the process group is still in the cgroup.
            return place.groupID == leader || leaf.map { $0.processes.contains(message.processID) } ?? false
        }
        // A short-lived sender, as `systemd-notify` is, still has a user.
        return Linux.user(ofAll: leader) == message.userID
    }
}
