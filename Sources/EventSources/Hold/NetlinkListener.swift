import LinuxSystem

/// Hears from the kernel that something may have changed: any message of a netlink family (`netlink(7)`) is a reason to
/// look again. Where there is no such socket it is looked at from time to time. Confined to its context.
final class NetlinkListener {
    /// Messages of one turn.
    private static let turn = 256
    private static let longest = 16_384
    /// Microseconds between two looks where nobody says anything.
    private static let interval = 10_000_000

    private let environment: HoldEnvironment
    private let changed: () -> Void
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var isOver = false

    /// - Parameters:
    ///   - family: by its number.
    ///   - groups: the mask of the multicast groups.
    init(_ environment: HoldEnvironment, family: Int32, groups: UInt32, changed: @escaping () -> Void) {
        self.environment = environment
        self.changed = changed
        do throws(SystemError) {
            let socket = try Linux.netlinkSocket(family: family, groups: groups)
            let number = socket.rawValue
            self.socket = consume socket
            token = try environment.epoll.add(number, .readable) { [weak self] _ in self?.hear() }
        } catch {
            socket.take()?.close()
            look()
        }
    }

    deinit { socket.take()?.close() }

    func end() {
        isOver = true
        if let token { environment.epoll.remove(token) }
        token = nil
        socket.take()?.close()
    }

    private func hear() {
        guard let number = socket.number else { return }
        // ENOBUFS says that some were lost: a reason to look, too.
        for _ in 0..<Self.turn {
            guard let message = try? Linux.receiveDatagram(number, limit: Self.longest), !message.bytes.isEmpty else {
                break
            }
        }
        changed()
    }

    private func look() {
        let bound = QueueBound(self, to: environment.core)
        environment.core.after(Self.interval) {
            guard !bound.value.isOver else { return }
            bound.value.changed()
            bound.value.look()
        }
    }
}
