import Engine
import LinuxSystem
package import WatchFile

/// `ListenDatagram=`: datagrams sent to a socket, whole or cut into lines. Confined to its context.
package final class DatagramSource: EventSource {
    private static let datagramsPerTurn = 1000
    private static let bytesPerTurn = 256 << 10

    private let id: SourceID
    private let address: SocketAddress
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var isHeld = false
    private var retry = Retry()

    package init(
        _ id: SourceID, _ address: SocketAddress, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment
    ) {
        self.id = id
        self.address = address
        self.trigger = trigger
        self.environment = environment
    }

    package func open() {
        do throws(SystemError) {
            socket = try bind()
            try watch()
            retry.reset()
            environment.send(.source(id, .armed))
        } catch {
            retry.schedule(on: environment.core) { [weak self] in self?.open() }
            environment.send(.source(id, .failed("\(error); trying again in \(retry.description)")))
        }
    }

    package func close() {
        retry.cancel()
        unwatch()
        guard let socket = socket.take() else { return }
        socket.close()
        // Nobody can send to it any more; left behind it would only be in the way.
        if case .unix(let path) = address { try? Linux.unlink(path) }
    }

    package func hold() {
        isHeld = true
        unwatch()
    }

    package func release() {
        isHeld = false
        do throws(SystemError) { try watch() } catch {
            environment.send(.source(id, .failed("\(error)")))
        }
    }

    // MARK: The socket

    private func bind() throws(SystemError) -> FileDescriptor {
        let endpoint = Endpoint(address)
        let made = try Linux.socket(for: endpoint, .datagram)
        do throws(SystemError) {
            try bind(made.rawValue, endpoint)
        } catch {
            made.close()
            throw error
        }
        return made
    }

    private func bind(_ number: Int32, _ endpoint: Endpoint) throws(SystemError) {
        guard case .unix(let path) = endpoint else { return try Linux.bind(number, endpoint) }
        try removeStale(path, endpoint)
        try Linux.bind(number, endpoint)
        try Linux.chmod(path, trigger.mode)
    }

    /// Removes the socket file of a process that is gone; one that is in use stays, and so does anything else.
    private func removeStale(_ path: [UInt8], _ endpoint: Endpoint) throws(SystemError) {
        guard let status = try? Linux.lstat(path), status.kind == .socket else { return }
        let isStale = try Linux.socket(for: endpoint, .datagram).use { probe throws(SystemError) in
            do throws(SystemError) {
                try Linux.connect(probe, endpoint)
                return false
            } catch  where error.errno == .connectionRefused {
                return true
            }
        }
        guard isStale else { throw SystemError(call: "bind", detail: path.printable, errno: .addressInUse) }
        try Linux.unlink(path)
    }

    private func watch() throws(SystemError) {
        guard token == nil, !isHeld, let number = rawValue else { return }
        token = try environment.epoll.add(number, .readable) { [unowned self] _ in turn(number) }
    }

    private func unwatch() {
        if let token { environment.epoll.remove(token) }
        token = nil
    }

    private var rawValue: Int32? {
        switch socket {
        case .some(let socket): socket.rawValue
        case .none: nil
        }
    }

    private func turn(_ number: Int32) {
        var (count, bytes) = (0, 0)
        while count < Self.datagramsPerTurn, bytes < Self.bytesPerTurn, !isHeld, token != nil {
            // An error that waits on the socket (an ICMP answer to nobody) is taken by the read, and is no event.
            guard let datagram = try? Linux.receiveDatagram(number, limit: trigger.maxLength) else { return }
            count += 1
            bytes += datagram.bytes.count
            send(datagram)
        }
    }

    private func send(_ datagram: Datagram) {
        let peer = datagram.sender == .unnamed ? nil : datagram.sender.description
        switch trigger.framing {
        case .datagram:
            let fact = LineFact(datagram.bytes, isIncomplete: datagram.isTruncated, peer: peer)
            environment.send(.event(id, .line(fact)))
        case .line:
            var framer = LineFramer(maxLength: trigger.maxLength)
            var lines = framer.push(datagram.bytes)
            if var rest = framer.finish() {
                rest.isIncomplete = datagram.isTruncated
                lines.append(rest)
            }
            for line in lines {
                let fact = LineFact(line.bytes, isIncomplete: line.isIncomplete, peer: peer)
                environment.send(.event(id, .line(fact)))
            }
        }
    }
}

extension Endpoint {
    init(_ address: SocketAddress) {
        switch address {
        case .unix(let path): self = .unix(path)
        case .abstract(let name): self = .abstract(name)
        case .ipv4(let address, let port): self = .ipv4(address: address, port: port)
        case .ipv6(let address, let port): self = .ipv6(address: address, port: port)
        }
    }
}
