import ControlInterface
import Engine
import EventSources
import Handlers
import LinuxSystem
import Varlink
import WatchFile

/// Accepts clients of the control socket. Lives on a context of its own, so that a client can delay only clients.
final class ControlServer {
    /// Connections at once.
    static let connectionLimit = 256
    /// Of one user other than root and the daemon's own.
    static let connectionsPerUser = 32
    /// Kept for root out of all.
    static let keptForRoot = 16

    let context: Context
    private let server: QueueBound<Acceptor>

    /// `runtime` is reached on `core` only.
    init(
        _ listener: ControlListener, answers: Answers, core: Context, runtime: QueueBound<Runtime>, logger: Logger
    ) {
        context = answers.control
        let lookups = PeerLookups(core: core, processes: Context("watchd.peers"))
        let target = RequestTarget(core: core, runtime: runtime, lookups: QueueBound(lookups, to: core))
        let requests = RequestLine(to: target, answers: answers)
        let server = Acceptor(listener.descriptor, context: context, requests: requests, logger: logger)
        self.server = QueueBound(server, to: context)
        context.async { [bound = self.server] in bound.value.start() }
    }

    /// Lets clients in by another socket from now on, and closes the former one.
    func listen(on listener: Int32, insteadOf former: Int32) {
        context.async { [bound = server] in
            bound.value.listen(on: listener)
            FileDescriptor(owning: former).close()
        }
    }

    /// Sends what has been answered, for at most a second, then calls `done` on the control context.
    func close(_ done: @escaping () -> Void) {
        let done = QueueBound(done, to: context)
        context.async { [bound = server] in bound.value.close { done.value() } }
    }
}

/// The listening side, confined to the control context.
final class Acceptor {
    private var listener: Int32
    /// So that a client can be let in when everything else is used up.
    private var reserve = DescriptorReserve(8)
    /// Nobody can be let in, and that was said.
    private var isPaused = false
    private let context: Context
    private let requests: RequestLine
    private let logger: Logger
    private let service = Service(
        Service.Identity(
            vendor: "watchd", product: "watchd", version: Manager.softwareVersion,
            url: ""),
        interfaces: [Manager.interface, .systemdService])
    private var epoll: EpollSet?
    private var token: UInt64?
    private var connections: [Int: ControlConnection] = [:]
    private var lastConnection = 0
    /// Of the administrators. Asked once, for the first client whose rights depend on it: the answer may come over the
    /// network, and the libraries of the name service stay in memory.
    private lazy var group = try? Linux.groupID(named: "watchd")
    private var refusals = Complaints()
    private var complaints = Complaints()
    private var closing: (() -> Void)?
    private var bound: QueueBound<Acceptor> { QueueBound(self, to: context) }

    init(_ listener: Int32, context: Context, requests: RequestLine, logger: Logger) {
        self.listener = listener
        self.context = context
        self.requests = requests
        self.logger = logger
    }

    func start() {
        do {
            epoll = try EpollSet(on: context) { [requests] turn in requests.collect(turn) }
            try listen()
        } catch {
            logger.log(.crit, "the control socket cannot be watched: \(error)")
        }
    }

    private func listen() throws(SystemError) {
        guard token == nil, closing == nil else { return }
        token = try epoll?.add(listener, .readable) { [unowned self] _ in acceptAll(atMost: Self.acceptedInTurn) }
    }

    func listen(on new: Int32) {
        // Clients that have come by the former socket are let in first.
        acceptAll()
        if let token { epoll?.remove(token) }
        token = nil
        listener = new
        do throws(SystemError) { try listen() } catch { pause(error) }
    }

    private func acceptAll(atMost limit: Int = .max) {
        do throws(SystemError) {
            for _ in 0..<limit {
                guard let socket = try accept() else { break }
                take(socket)
            }
            isPaused = false
        } catch {
            pause(error)
        }
    }

    /// The others come in the next turn: those that are let in already are not to wait for them.
    private static let acceptedInTurn = 64

    /// A connection, or `nil` when none waits. EMFILE: there is nothing left.
    private func accept() throws(SystemError) -> FileDescriptor? {
        while true {
            do throws(SystemError) {
                if let connection = try Linux.accept(listener) { return connection }
                reserve.refill()
                return nil
            } catch {
                guard error.errno == .descriptorsExhausted, reserve.release() else { throw error }
            }
        }
    }

    /// The listener stays readable while nobody can be accepted: out of the set, or it would spin.
    private func pause(_ error: SystemError) {
        if !isPaused { logger.log(.warning, "clients cannot be accepted: \(error); trying again each second") }
        isPaused = true
        if let token { epoll?.remove(token) }
        token = nil
        context.after(Self.pauseMicroseconds) { [bound] in
            do throws(SystemError) { try bound.value.listen() } catch { bound.value.pause(error) }
        }
    }

    /// Until it is tried again to accept, after descriptors were used up.
    private static let pauseMicroseconds = 1_000_000

    private func take(_ socket: consuming FileDescriptor) {
        lastConnection += 1
        let number = lastConnection
        guard let epoll, let peer = try? Peer(socket.rawValue, group: group, connection: number), mayConnect(peer)
        else {
            socket.close()
            noteRefusal()
            return reserve.refill()
        }
        connections[number] = ControlConnection(
            socket, peer: peer, context: context, epoll: epoll, service: service, requests: requests,
            misbehaved: { [unowned self] in complain(of: peer, $0) }
        ) { [unowned self] in
            connections[number] = nil
            reserve.refill()
            closeIfIdle()
        }
        connections[number]?.start()
    }

    private func complain(of peer: Peer, _ reason: String) {
        guard let untold = complaints.next(at: Linux.now(.monotonic)) else { return }
        let others = untold == 0 ? "" : "; \(counted(untold, "other")) before it, too"
        logger.log(
            .notice,
            "a client (\(peer.name), process \(peer.processID)) of the control socket is cut off: \(reason)\(others)")
    }

    private func noteRefusal() {
        guard closing == nil, let untold = refusals.next(at: Linux.now(.monotonic)) else { return }
        let others = untold == 0 ? "" : "; \(counted(untold, "other")) before it, too"
        let most = "at most \(ControlServer.connectionLimit), \(ControlServer.connectionsPerUser) of one user"
        logger.log(.warning, "a client was refused: \(connections.count) connections are open (\(most))\(others)")
    }

    private func mayConnect(_ peer: Peer) -> Bool {
        guard closing == nil, connections.count < ControlServer.connectionLimit else { return false }
        if peer.userID == 0 { return true }
        guard connections.count < ControlServer.connectionLimit - ControlServer.keptForRoot else { return false }
        if peer.userID == Linux.effectiveUserID { return true }
        // The rest is for who can do something about it.
        if reserve.count <= reserve.size / 2 { return false }
        return connections.values.count { $0.peer.userID == peer.userID } < ControlServer.connectionsPerUser
    }

    // MARK: The end

    func close(_ done: @escaping () -> Void) {
        closing = done
        if let token { epoll?.remove(token) }
        token = nil
        for connection in Array(connections.values) { connection.finish() }
        closeIfIdle()
        context.after(1_000_000) { [bound] in bound.value.closed() }
    }

    private func closeIfIdle() {
        if closing != nil, connections.isEmpty { closed() }
    }

    private func closed() {
        closing?()
        closing = {}
    }
}
