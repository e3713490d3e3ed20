import Engine
import LinuxSystem
import WatchFile

/// The socket of a source: bound and, unless it is for datagrams, listening; or the one that was left of it. Confined
/// to the context of its source.
final class SocketOpening {
    private let id: SourceID
    private let address: SocketAddress
    private let type: SocketType
    private let environment: SourceEnvironment
    private let spare: SpareDescriptors
    /// Of the socket that was opened last.
    private var file: SocketFile?

    init(
        id: SourceID, address: SocketAddress, type: SocketType, environment: SourceEnvironment, spare: SpareDescriptors
    ) {
        self.id = id
        self.address = address
        self.type = type
        self.environment = environment
        self.spare = spare
    }

    private var endpoint: Endpoint { Endpoint(address) }

    /// The file of a Unix socket.
    var path: [UInt8]? { if case .unix(let path) = address { path } else { nil } }

    func takeOrBind(_ owner: FileOwner) throws(SystemError) -> FileDescriptor {
        if let taken = spare.take(.socket(id), where: isBound) {
            do throws(SystemError) {
                // A handler may have had it before (`Framing=ready`).
                try Linux.setNonBlocking(taken.rawValue)
                if let path { file = try take(path, owner) }
            } catch {
                // It stays in use, and nobody could bind another one beside it.
                spare.put(.socket(id), taken)
                throw error
            }
            return taken
        }
        try DescriptorRoom.check()
        let bound = try bind(owner)
        environment.keep(.socket(id), bound.rawValue)
        return bound
    }

    /// For whoever opens the source anew; else it is closed, and its file goes.
    func leave(_ socket: consuming FileDescriptor) {
        spare.put(.socket(id), socket) { [file] in
            // Nobody can reach it any more; left behind it would only be in the way.
            file?.remove()
        }
    }

    /// The file of a socket that is bound already.
    private func take(_ path: [UInt8], _ owner: FileOwner) throws(SystemError) -> SocketFile {
        try Linux.open(path, [.pathOnly, .noFollow]).use { place throws(SystemError) in
            try owner.check(try Linux.fstat(place), .socket, path)
            try owner.apply(to: place)
        }
        return try SocketFile(at: path)
    }

    /// Whether it is a socket of this kind that has the address, and can be reached there.
    private func isBound(_ number: Int32) -> Bool {
        guard Linux.socketType(number) == type, type == .datagram || Linux.isListening(number),
            (try? Linux.localEndpoint(number)) == endpoint
        else { return false }
        guard let path else { return true }
        return (try? Linux.lstat(path))?.kind == .socket
    }

    private func bind(_ owner: FileOwner) throws(SystemError) -> FileDescriptor {
        let made = try Linux.socket(for: endpoint, type)
        do throws(SystemError) {
            if let path {
                try removeStale(path, owner)
                file = try SocketFile.bind(made.rawValue, to: path) { place throws(SystemError) in
                    try owner.apply(to: place)
                }
            } else {
                if type == .stream { Linux.allowReuse(made.rawValue) }
                try Linux.bind(made.rawValue, endpoint)
            }
            if type != .datagram { try Linux.listen(made.rawValue, backlog: Self.waitingInKernel) }
        } catch {
            made.close()
            throw path.map(error.making) ?? error
        }
        return made
    }

    /// `somaxconn` bounds it (`listen(2)`).
    static let waitingInKernel: Int32 = 4096

    /// Removes the socket file of a process that is gone; one that is in use stays, and so does anything else.
    private func removeStale(_ path: [UInt8], _ owner: FileOwner) throws(SystemError) {
        guard let status = try? Linux.lstat(path), status.kind == .socket else { return }
        try owner.check(status, .socket, path)
        let isStale = try Linux.socket(for: endpoint, type).use { probe throws(SystemError) in
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
