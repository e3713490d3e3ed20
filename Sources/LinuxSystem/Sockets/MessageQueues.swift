import CLinux
import Glibc

extension Linux {
    /// A netlink socket (`netlink(7)`), non-blocking, of a family by its number, that hears a mask of multicast groups.
    package static func netlinkSocket(family: Int32, groups: UInt32) throws(SystemError) -> FileDescriptor {
        try descriptor("netlink") { clinux_netlink(family, groups) }
    }

    /// `mq_open(3)`, non-blocking, for both directions. The descriptor can be waited for as any other.
    package static func openMessageQueue(_ name: [UInt8]) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try call("mq_open", name) { clinux_mq_open($0) })
    }

    /// The same of a new one with these permissions (cut by the umask) and the system's attributes. EEXIST: it is
    /// there.
    package static func makeMessageQueue(_ name: [UInt8], mode: UInt32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try call("mq_open", name) { clinux_mq_make($0, mode) })
    }

    /// `mq_unlink(3)`.
    package static func unlinkMessageQueue(_ name: [UInt8]) throws(SystemError) {
        try call("mq_unlink", name) { clinux_mq_unlink($0) }
    }

    /// `mq_receive(3)`: the next message, of which no more than `limit` bytes are kept; `nil` when none waits.
    package static func receiveMessage(_ queue: Int32, limit: Int) throws(SystemError) -> Datagram? {
        // A smaller buffer is refused, whatever the message.
        let size = try call("mq_getattr") { clinux_mq_message_size(queue) }
        var message = [CChar](repeating: 0, count: max(1, size))
        do throws(SystemError) {
            let count = try call("mq_receive") { clinux_mq_receive(queue, &message, message.count) }
            let bytes = message.prefix(min(count, limit)).map { UInt8(bitPattern: $0) }
            return Datagram(bytes: bytes, isTruncated: count > limit, sender: .unnamed)
        } catch  where error.errno == .wouldBlock {
            return nil
        }
    }
}
