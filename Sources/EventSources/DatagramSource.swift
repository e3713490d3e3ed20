import Engine
import LinuxSystem
package import WatchFile

/// `ListenDatagram=`: datagrams sent to a socket, whole or cut into lines. A durable one takes no datagram out of the
/// socket before what it said is safely stored. Confined to its context.
package final class DatagramSource: EventSource {
    private let id: SourceID
    private let address: SocketAddress
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let spare: SpareDescriptors
    private var socket: (any DescriptorReader)?
    private var retry = Retry()

    /// - Parameters:
    ///   - isDurable: what it tells is stored.
    ///   - spare: where it finds, and leaves, its socket.
    package init(
        _ id: SourceID, _ address: SocketAddress, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        isDurable: Bool = false, spare: SpareDescriptors = SpareDescriptors()
    ) {
        self.id = id
        self.address = address
        self.trigger = trigger
        self.environment = environment
        self.spare = spare
        socket = isDurable ? durableSocket() : plainSocket()
    }

    private func plainSocket() -> any DescriptorReader {
        HeldDescriptor(on: environment.core, epoll: environment.epoll) {
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

    private func durableSocket() -> any DescriptorReader {
        DurableDescriptor(on: environment) { [unowned self] number throws(SystemError) in
            look(number)
        } consume: { number, count throws(SystemError) in
            for _ in 0..<count { _ = try Linux.receiveDatagram(number, limit: 0) }
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
            if socket.isOpen { try socket.watch() } else { try socket.open(try takeOrBind()) }
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

    package func close() { close {} }

    package func close(then left: @escaping () -> Void) {
        retry.cancel()
        let isOpen = socket?.isOpen ?? false
        socket?.close { [spare, id, address] in
            spare.put(.socket(id), $0) {
                // Nobody can send to it any more; left behind it would only be in the way.
                if case .unix(let path) = address { try? Linux.unlink(path) }
            }
            left()
        }
        socket = nil
        if !isOpen { left() }
    }

    package func hold() { socket?.hold() }

    package func release() {
        do throws(SystemError) { try socket?.release() } catch { failed(error) }
    }

    // MARK: The socket

    private func takeOrBind() throws(SystemError) -> FileDescriptor {
        if let taken = spare.take(.socket(id), where: isBound) { return taken }
        let bound = try bind()
        environment.keep(.socket(id), bound.rawValue)
        return bound
    }

    /// Whether it is a socket that has the address, and can be reached there.
    private func isBound(_ number: Int32) -> Bool {
        guard Linux.isDatagramSocket(number), (try? Linux.localEndpoint(number)) == Endpoint(address) else {
            return false
        }
        guard case .unix(let path) = address else { return true }
        return (try? Linux.lstat(path))?.kind == .socket
    }

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

    /// Waiting errors that are passed over to see whether a datagram is behind them.
    private static let errorsPerLook = 16

    /// The next datagram, left where it is.
    private func look(_ number: Int32) -> DurableDescriptor<LineFact>.Batch {
        var errors = 0
        while errors < Self.errorsPerLook {
            do throws(SystemError) {
                let limit = trigger.maxLength
                guard let datagram = try Linux.receiveDatagram(number, limit: limit, peeking: true) else { break }
                let facts = facts(datagram)
                // An empty one that is cut into lines says nothing.
                if facts.isEmpty { _ = try Linux.receiveDatagram(number, limit: 0) }
                let last = facts.count - 1
                if last >= 0 { return .init(items: facts.enumerated().map { ($1, $0 == last ? 1 : 0) }) }
            } catch {
                // An ICMP answer to nobody, which is taken by the look.
                errors += 1
            }
        }
        return .init()
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
