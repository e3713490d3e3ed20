import CLinux
import Glibc

package enum SocketType: Hashable, Sendable {
    case stream, datagram, sequentialPacket

    var number: Int32 {
        switch self {
        case .stream: Int32(SOCK_STREAM.rawValue)
        case .datagram: Int32(SOCK_DGRAM.rawValue)
        case .sequentialPacket: Int32(SOCK_SEQPACKET.rawValue)
        }
    }
}

/// The process at the other end of a Unix socket.
package struct PeerCredentials: Hashable, Sendable {
    package var processID: Int32
    package var userID: UInt32
    package var groupID: UInt32

    package init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }
}

/// One datagram.
package struct Datagram: Hashable, Sendable {
    package var bytes: [UInt8]
    /// It was longer than the limit, and the rest is lost.
    package var isTruncated: Bool
    package var sender: Endpoint
}

extension Linux {
    /// `socket(2)`, non-blocking unless said otherwise, for addresses of the same kind as `endpoint`. One for IPv6
    /// serves IPv4 as well (IPV6_V6ONLY off) where it is bound to every address.
    package static func socket(
        for endpoint: Endpoint, _ type: SocketType, nonBlocking: Bool = true
    ) throws(SystemError) -> FileDescriptor {
        var flags = type.number | Int32(SOCK_CLOEXEC.rawValue)
        if nonBlocking { flags |= Int32(SOCK_NONBLOCK.rawValue) }
        let socket = try call("socket", "\(endpoint)") { Glibc.socket(endpoint.family, flags, 0) }
        if endpoint.family == AF_INET6 {
            // Cannot fail on a new socket.
            var off: Int32 = 0
            setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, socklen_t(MemoryLayout<Int32>.size))
        }
        return FileDescriptor(owning: socket)
    }

    /// `bind(2)`. EADDRINUSE: the address, or the file, is taken; ENAMETOOLONG: a path of more than 107 bytes.
    package static func bind(_ socket: Int32, _ endpoint: Endpoint) throws(SystemError) {
        try withAddress("bind", endpoint) { Glibc.bind(socket, $0, $1) }
    }

    /// `connect(2)`. ECONNREFUSED: a socket file that nobody listens behind.
    package static func connect(_ socket: Int32, _ endpoint: Endpoint) throws(SystemError) {
        try withAddress("connect", endpoint) { Glibc.connect(socket, $0, $1) }
    }

    /// `listen(2)`; `somaxconn` bounds the backlog.
    package static func listen(_ socket: Int32, backlog: Int32 = 4096) throws(SystemError) {
        try call("listen") { Glibc.listen(socket, backlog) }
    }

    /// `accept4(2)`: a connection, non-blocking, or `nil` when none waits.
    package static func accept(_ socket: Int32) throws(SystemError) -> FileDescriptor? {
        let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        do throws(SystemError) {
            return FileDescriptor(owning: try call("accept4") { clinux_accept4(socket, flags) })
        } catch let error where error.errno == .wouldBlock || error.errno == Errno(ECONNABORTED) {
            return nil
        }
    }

    /// `socketpair(2)` of Unix sockets, blocking.
    package static func socketPair(_ type: SocketType = .stream) throws(SystemError) -> Pipe {
        var ends: [Int32] = [-1, -1]
        try call("socketpair") {
            socketpair(AF_UNIX, type.number | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        }
        return Pipe(readEnd: FileDescriptor(owning: ends[0]), writeEnd: FileDescriptor(owning: ends[1]))
    }

    /// `send(2)` with MSG_NOSIGNAL: how many bytes were taken. EAGAIN is thrown (`Errno.wouldBlock`).
    package static func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        try call("send") { Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// `sendto(2)` with MSG_NOSIGNAL: one datagram.
    package static func send(_ socket: Int32, _ bytes: [UInt8], to endpoint: Endpoint) throws(SystemError) {
        try withAddress("sendto", endpoint) {
            Int32(clamping: sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1))
        }
    }

    /// `recvmsg(2)`: one datagram of at most `limit` bytes; `nil` when none waits.
    ///
    /// - Parameter peeking: it stays the next one (MSG_PEEK).
    package static func receiveDatagram(
        _ socket: Int32, limit: Int, peeking: Bool = false
    ) throws(SystemError) -> Datagram? {
        var address = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var addressCount = 0
        var flags: Int32 = 0
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var part = iovec(iov_base: buffer.baseAddress, iov_len: limit)
            address.withUnsafeMutableBytes { address in
                withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_name = address.baseAddress
                    message.msg_namelen = socklen_t(address.count)
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    do throws(SystemError) {
                        count = try call("recvmsg") { recvmsg(socket, &message, peeking ? Int32(MSG_PEEK) : 0) }
                    } catch {
                        failure = error
                    }
                    addressCount = Int(message.msg_namelen)
                    flags = message.msg_flags
                }
            }
        }
        if let failure {
            guard failure.errno == .wouldBlock else { throw failure }
            return nil
        }
        return Datagram(
            bytes: bytes, isTruncated: flags & Int32(MSG_TRUNC) != 0,
            sender: Endpoint(address.prefix(addressCount)))
    }

    /// `getsockname(2)`: what the socket is bound to.
    package static func localEndpoint(_ socket: Int32) throws(SystemError) -> Endpoint {
        try endpoint("getsockname") { getsockname(socket, $0, $1) }
    }

    /// `shutdown(2)` of the writing side: the peer reads the end.
    package static func shutdownWriting(_ socket: Int32) throws(SystemError) {
        try call("shutdown") { shutdown(socket, Int32(SHUT_WR)) }
    }

    /// SO_PEERCRED: as they were when the peer connected.
    package static func peerCredentials(_ socket: Int32) throws(SystemError) -> PeerCredentials {
        var peer = PeerCredentials(processID: 0, userID: 0, groupID: 0)
        try call("getsockopt SO_PEERCRED") {
            clinux_peer_credentials(socket, &peer.processID, &peer.userID, &peer.groupID)
        }
        return peer
    }

    /// SO_PEERGROUPS: the peer's supplementary groups when it connected (Linux 4.13).
    package static func peerGroups(_ socket: Int32) throws(SystemError) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 64)
        while true {
            var size = socklen_t(groups.count * 4)
            do throws(SystemError) {
                try call("getsockopt SO_PEERGROUPS") {
                    getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, &groups, &size)
                }
                return Array(groups.prefix(Int(size) / 4))
            } catch let error where error.errno == Errno(ERANGE) && groups.count < 65_536 {
                groups = [UInt32](repeating: 0, count: 65_536)  // NGROUPS_MAX
            }
        }
    }

    /// Whether a descriptor is a listening Unix stream socket (SO_DOMAIN, SO_TYPE, SO_ACCEPTCONN).
    package static func isListeningUnixStream(_ descriptor: Int32) -> Bool {
        option(descriptor, SO_DOMAIN) == AF_UNIX && option(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue)
            && option(descriptor, SO_ACCEPTCONN) == 1
    }

    /// SO_REUSEADDR: a port may be bound anew while connections of before still linger.
    package static func allowReuse(_ socket: Int32) {
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// SO_TYPE; `nil`: no socket, or one of another type.
    package static func socketType(_ descriptor: Int32) -> SocketType? {
        let number = option(descriptor, SO_TYPE)
        return [SocketType.stream, .datagram, .sequentialPacket].first { $0.number == number }
    }

    /// SO_ACCEPTCONN.
    package static func isListening(_ descriptor: Int32) -> Bool { option(descriptor, SO_ACCEPTCONN) == 1 }

    /// `getpeername(2)`; `unnamed` for a Unix socket that was never bound.
    package static func peerEndpoint(_ socket: Int32) throws(SystemError) -> Endpoint {
        try endpoint("getpeername") { getpeername(socket, $0, $1) }
    }

    private static func endpoint(
        _ name: String, _ ask: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>) -> Int32
    ) throws(SystemError) -> Endpoint {
        var address = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
        var size = socklen_t(address.count)
        try call(name) {
            address.withUnsafeMutableBytes { ask($0.assumingMemoryBound(to: sockaddr.self).baseAddress, &size) }
        }
        return Endpoint(address.prefix(Int(size)))
    }

    /// `recv(2)` with MSG_PEEK: what comes next, which stays; empty at the end. EAGAIN is thrown.
    package static func peek(_ socket: Int32, atMost limit: Int) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(SystemError) {
                count = try call("recv") { recv(socket, buffer.baseAddress, limit, Int32(MSG_PEEK)) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// SO_ERROR: what waits on a socket to be told, and is told with this; `nil`: nothing, or it is not a socket.
    package static func takeError(_ socket: Int32) -> SystemError? {
        guard let code = option(socket, SO_ERROR), code != 0 else { return nil }
        return SystemError(call: "SO_ERROR", errno: Errno(code))
    }

    /// `nil`: not a socket.
    static func option(_ descriptor: Int32, _ option: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : nil
    }

    private static func withAddress(
        _ name: String, _ endpoint: Endpoint, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SystemError) {
        guard let bytes = endpoint.bytes else {
            throw SystemError(call: name, detail: "\(endpoint)", errno: .nameTooLong)
        }
        try call(name, "\(endpoint)") {
            bytes.withUnsafeBytes { bytes in
                bytes.baseAddress.map { body($0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
            }
        }
    }
}
