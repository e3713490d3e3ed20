import Engine
import LinuxSystem
package import WatchFile

/// `ListenDatagram=`: datagrams sent to a socket, whole or cut into lines. Confined to its context.
package final class DatagramSource: EventSource {
    private let id: SourceID
    private let address: SocketAddress
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private var socket: HeldDescriptor<LineFact>?
    private var retry = Retry()

    package init(
        _ id: SourceID, _ address: SocketAddress, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment
    ) {
        self.id = id
        self.address = address
        self.trigger = trigger
        self.environment = environment
        socket = HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [unowned self] number throws(SystemError) in
            try read(number)
        } tell: { [unowned self] fact in
            self.environment.send(.event(id, .line(fact)))
        } ended: {
            // A socket has no end.
        } failed: { [unowned self] error in
            failed(error)
        }
    }

    package func open() {
        guard let socket else { return }
        do throws(SystemError) {
            // One that is bound already only wants its place in the epoll set.
            if socket.isOpen { try socket.watch() } else { try socket.open(try bind()) }
            retry.reset()
            environment.send(.source(id, .armed))
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: SystemError) {
        guard socket != nil else { return }
        retry.schedule(on: environment.core) { [weak self] in self?.open() }
        environment.send(.source(id, .failed("\(error); trying again in \(retry.description)")))
    }

    package func close() {
        retry.cancel()
        guard let socket, socket.isOpen else { return }
        socket.close()
        self.socket = nil
        // Nobody can send to it any more; left behind it would only be in the way.
        if case .unix(let path) = address { try? Linux.unlink(path) }
    }

    package func hold() { socket?.hold() }

    package func release() {
        do throws(SystemError) { try socket?.release() } catch { failed(error) }
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

    private func read(_ number: Int32) throws(SystemError) -> HeldDescriptor<LineFact>.Reading {
        // An error that waits on the socket (an ICMP answer to nobody) is taken by the read, and is no event.
        guard let datagram = try? Linux.receiveDatagram(number, limit: trigger.maxLength) else { return .empty }
        return .items(facts(datagram), bytes: datagram.bytes.count)
    }

    private func facts(_ datagram: Datagram) -> [LineFact] {
        let peer = datagram.sender == .unnamed ? nil : datagram.sender.description
        guard trigger.framing == .line else {
            return [LineFact(datagram.bytes, isIncomplete: datagram.isTruncated, peer: peer)]
        }
        var framer = LineFramer(maxLength: trigger.maxLength)
        var lines = framer.push(datagram.bytes)
        if var rest = framer.finish() {
            rest.isIncomplete = datagram.isTruncated
            lines.append(rest)
        }
        return lines.map { LineFact($0.bytes, isIncomplete: $0.isIncomplete, peer: peer) }
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
