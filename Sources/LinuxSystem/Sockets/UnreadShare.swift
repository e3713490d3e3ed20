import CLinux
import Glibc

/// The unread bytes of a connection, as the kernel counts them: with the room that each piece takes up.
package struct UnreadShare: Equatable, Sendable {
    package var used: Int
    /// Of it the writer gets no more than this.
    package var limit: Int

    /// A writer that waits for room in a Unix socket hears of it at a quarter (`unix_writable` in the kernel); with
    /// less than that in it a TCP buffer always announces room.
    package var mayHoldUpWriter: Bool { used >= limit / 4 }
}

extension Linux {
    /// Of a connected stream socket, seen from the reader; `nil`: the kernel does not tell (`sock_diag(7)` is not
    /// there, or the writer is in another network namespace).
    package static func unreadShare(_ socket: Int32) -> UnreadShare? {
        guard option(socket, SO_DOMAIN) == AF_UNIX else {
            // SK_MEMINFO_RMEM_ALLOC, SK_MEMINFO_RCVBUF.
            return memory(of: socket).map { UnreadShare(used: Int($0[0]), limit: Int($0[1])) }
        }
        // It counts as sent by the peer.
        guard let inode = (try? fstat(socket))?.inode,
            let peer = try? unixDiagnosis(UInt32(truncatingIfNeeded: inode), .peer),
            let peerInode = peer.unsigned(at: 0), let memory = try? unixDiagnosis(peerInode, .memory),
            // SK_MEMINFO_WMEM_ALLOC, SK_MEMINFO_SNDBUF.
            let used = memory.unsigned(at: 8), let limit = memory.unsigned(at: 12)
        else { return nil }
        return UnreadShare(used: Int(used), limit: Int(limit))
    }

    /// Datagrams that the kernel has dropped in all since the socket was made, modulo 2³²: there was no room for them,
    /// mostly. Those of Unix sockets wait at the sender.
    package static func drops(_ socket: Int32) -> UInt32 {
        // SK_MEMINFO_DROPS, Linux 4.12.
        memory(of: socket)?[8] ?? 0
    }

    /// `SO_MEMINFO`: what `linux/sock_diag.h` names, in its order.
    private static func memory(of socket: Int32) -> [UInt32]? {
        var memory = [UInt32](repeating: 0, count: 9)
        var size = socklen_t(4 * memory.count)
        return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, &memory, &size) == 0 ? memory : nil
    }

    /// `linux/unix_diag.h`: what is asked for (UDIAG_SHOW_…), and the attribute that answers.
    private enum UnixDiagnosis {
        case peer, memory

        var show: UInt32 { self == .peer ? 0x4 : 0x20 }
        var attribute: UInt16 { self == .peer ? 2 : 5 }
    }

    /// `sock_diag(7)`: of the Unix socket with this inode; `nil`: there is no answer.
    private static func unixDiagnosis(_ inode: UInt32, _ wanted: UnixDiagnosis) throws(SystemError) -> [UInt8]? {
        let (length, type) = (UInt32(40), UInt16(20))
        var request: [UInt8] = []
        // nlmsghdr with SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST.
        request.append(length)
        request.append(type)
        request.append(UInt16(1))
        request.append(UInt32(0))
        request.append(UInt32(0))
        // unix_diag_req: any state, no cookie.
        request += [UInt8(AF_UNIX), 0, 0, 0]
        for word in [UInt32.max, inode, wanted.show, .max, .max] { request.append(word) }
        // NETLINK_SOCK_DIAG.
        let reply = try descriptor("netlink") { clinux_netlink(4, 0) }.use { socket throws(SystemError) in
            try call("send") { request.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, 0) } }
            return try receiveDatagram(socket, limit: 4096)
        }
        guard let answer = reply?.bytes, answer.short(at: 4) == type else { return nil }
        // unix_diag_msg has 16 bytes as well.
        var offset = 32
        while let size = answer.short(at: offset).map(Int.init), size >= 4, offset + size <= answer.count {
            if answer.short(at: offset + 2) == wanted.attribute { return Array(answer[offset + 4..<offset + size]) }
            offset += (size + 3) & ~3
        }
        return nil
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value) { self += $0 }
    }

    fileprivate func unsigned(at offset: Int) -> UInt32? { load(offset) }

    fileprivate func short(at offset: Int) -> UInt16? { load(offset) }

    private func load<Value: FixedWidthInteger>(_ offset: Int) -> Value? {
        guard offset + MemoryLayout<Value>.size <= count else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) }
    }
}
