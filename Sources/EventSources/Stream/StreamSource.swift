import Engine
package import LinuxSystem
package import WatchFile

/// `ListenStream=` and `ListenSequentialPacket=`: connections. Each is read by the framing, or handed over with
/// `Accept=yes`. So many are open at once; more wait in the kernel, and while the source is held nobody is let in and
/// nobody is read, so that the writers wait. Those of a durable one are kept by the service manager, with what nobody
/// has read of them, as far as there is room (`KeptConnections`). Confined to its context.
package final class StreamSource: EventSource {
    /// Let in in one turn, so that other sources of the context get theirs.
    private static let acceptedPerTurn = 64

    /// Where the listening socket comes from, and where it is left.
    struct Origin {
        var open: (FileOwner) throws(SystemError) -> FileDescriptor
        var leave: (consuming FileDescriptor) -> Void
        /// A file that somebody may take away.
        var path: [UInt8]?
        /// Under which `open` looks for one that was kept.
        var keptName: KeptDescriptor?
    }

    private let id: SourceID
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let isDurable: Bool
    /// Of all its connections.
    private let untaken: UntakenBytes?
    private let isPackets: Bool
    private let origin: Origin
    private let spare: SpareDescriptors
    private var guardian: FileGuard?
    private var listener: FileDescriptor?
    private var token: UInt64?
    private var connections: [UInt64: StreamConnection] = [:]
    /// Higher than any of an earlier daemon's, as far as the clock can tell.
    private var lastConnection = UInt64(max(0, Linux.now(.realtime)))
    private var handedOver = 0
    /// Wall clock, microseconds.
    private var fullSince: Int64?
    private var isHeld = false
    private var isClosed = false
    private var hasToldOfRoom = false
    /// `retry` is of letting in, not of opening.
    private var isExhausted = false
    private var retry = Retry()

    init(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment, type: SocketType,
        isDurable: Bool, origin: Origin, spare: SpareDescriptors
    ) {
        self.id = id
        self.trigger = trigger
        self.environment = environment
        isPackets = type == .sequentialPacket
        self.isDurable = isDurable
        untaken = isDurable ? environment.untaken[id] : nil
        self.origin = origin
        self.spare = spare
        guardian = origin.path.map { path in
            FileGuard(path, hub: environment.inotify) { [weak self] in self?.lost(path) }
        }
    }

    package convenience init(
        _ id: SourceID, _ address: SocketAddress, _ type: SocketType, _ trigger: DescriptorTrigger,
        _ environment: SourceEnvironment, isDurable: Bool = false, spare: SpareDescriptors = SpareDescriptors()
    ) {
        let opening = SocketOpening(id: id, address: address, type: type, environment: environment, spare: spare)
        let origin = Origin(
            open: { owner throws(SystemError) in try opening.takeOrBind(owner) }, leave: { opening.leave($0) },
            path: opening.path, keptName: .socket(id))
        self.init(id, trigger, environment, type: type, isDurable: isDurable, origin: origin, spare: spare)
    }

    package var watchCount: Int { guardian?.watchCount ?? 0 }

    package var descriptorCount: Int { (listener.number == nil ? 0 : 1) + connections.count + handedOver }

    package var keptName: KeptDescriptor? { origin.keptName }

    package var connectionLimit: ConnectionLimit? {
        guard let fullSince, isFull, !isHeld, let number = listener.number else { return nil }
        let events = try? Linux.poll(number, .readable, timeout: 0)
        return ConnectionLimit(
            open: connections.count + handedOver, limit: trigger.maxConnections, since: fullSince,
            hasWaiting: events?.contains(.readable) ?? false)
    }

    package func open() {
        takeUpConnections()
        FileOwner.of(id, trigger, environment) { [weak self] owner in
            guard let self, !isClosed else { return }
            do throws(SystemError) {
                try open(owner.get())
            } catch {
                failed(error)
            }
        }
    }

    private func open(_ owner: FileOwner) throws(SystemError) {
        if listener == nil { listener = try origin.open(owner) }
        try watch()
        retry.reset()
        environment.send(.source(id, .armed))
        guardian?.watch()
    }

    private func failed(_ error: SystemError) {
        guard !isClosed else { return }
        isExhausted = false
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.open() }
        environment.send(.source(id, retry.condition(error.reason)))
    }

    /// Nobody finds it any more: it is made anew. Connected clients stay, and waiting ones are let in as far as there
    /// is room.
    private func lost(_ path: [UInt8]) {
        guard !isClosed else { return }
        environment.send(.source(id, .waiting("\(path.printable) was removed; watchd makes it again")))
        unwatch()
        letInWhoWaits()
        guard !isClosed else { return }
        environment.forget(.socket(id))
        if let listener = listener.take() {
            environment.tellUnread(.socket(id), listener.rawValue)
            listener.close()
        }
        open()
    }

    package func close() { close {} }

    package func close(then left: @escaping () -> Void) {
        isClosed = true
        retry.cancel()
        unwatch()
        guardian?.close()
        guardian = nil
        if let listener = listener.take() { origin.leave(listener) }
        let closing = connections.map(\.self)
        connections = [:]
        var open = closing.count
        if open == 0 { return left() }
        for (number, connection) in closing {
            close(connection, number) {
                open -= 1
                if open == 0 { left() }
            }
        }
    }

    /// It is for the source that is opened in this one's place.
    private func close(_ connection: StreamConnection, _ number: UInt64, then left: @escaping () -> Void) {
        let name = KeptDescriptor.connection(id, number)
        connection.close({ [spare] in spare.put(name, $0, unfinished: $1) }, then: left)
    }

    package func hold() {
        isHeld = true
        unwatch()
        for connection in connections.values { connection.hold() }
    }

    package func rest() {
        retry.cancel()
        hold()
        for (number, connection) in connections {
            if environment.connections.contains(.connection(id, number)) {
                connection.rest()
                continue
            }
            connections[number] = nil
            close(connection, number) { [spare, id] in spare.discard(.connection(id, number)) }
        }
    }

    package func positionsCame() {
        lookFirst()
        for connection in connections.values { connection.lookAgain() }
    }

    /// The notes of the daemon before about its connections are found before the first of them tells anything.
    private func lookFirst() { for connection in connections.values { connection.lookFirst() } }

    package func release() {
        isHeld = false
        do throws(SystemError) { try watch() } catch { failed(error) }
        for connection in connections.values.map(\.self) { connection.release() }
    }

    // MARK: Connections

    private var isFull: Bool { connections.count + handedOver >= trigger.maxConnections }

    private func noteRoom() { fullSince = isFull ? fullSince ?? Linux.now(.realtime) : nil }

    private func watch() throws(SystemError) {
        guard token == nil, !isHeld, !isFull, let number = listener.number else { return }
        token = try environment.epoll.add(number, .readable) { [weak self] _ in self?.accept() }
    }

    private func unwatch() {
        if let token { environment.epoll.remove(token) }
        token = nil
    }

    private func accept() {
        do throws(SystemError) { try acceptSome() } catch { exhausted(error) }
    }

    private func acceptSome() throws(SystemError) {
        for _ in 0..<Self.acceptedPerTurn {
            guard !isHeld, let number = listener.number else { return }
            guard !isFull else { return unwatch() }
            try DescriptorRoom.check()
            guard let connection = try Linux.accept(number) else { return }
            take(connection)
        }
    }

    /// Nobody comes behind them. While it is held nobody is read either, but a handler would be started.
    private func letInWhoWaits() {
        while !isFull, !(isHeld && trigger.accepts), let number = listener.number,
            let connection = try? Linux.accept(number)
        {
            take(connection)
        }
    }

    /// Something is used up, and will be given back. Until then it would be reported again at once.
    private func exhausted(_ error: SystemError) {
        unwatch()
        isExhausted = true
        retry.schedule(on: environment.core) { [weak self] in self?.acceptAgain() }
        environment.send(.source(id, retry.condition(error.reason)))
    }

    /// It is armed again when those who have waited are let in.
    private func acceptAgain() {
        guard !isClosed else { return }
        isExhausted = false
        retry.cancel()
        do throws(SystemError) {
            try acceptSome()
            try watch()
        } catch {
            return exhausted(error)
        }
        retry.reset()
        environment.send(.source(id, .armed))
    }

    private func take(_ connection: consuming FileDescriptor) {
        defer { noteRoom() }
        let peer = Self.peer(connection.rawValue)
        if trigger.accepts { return handOver(connection, peer) }
        lastConnection += 1
        keep(connection.rawValue, lastConnection)
        read(connection, lastConnection, peer)
    }

    private func read(
        _ connection: consuming FileDescriptor, _ number: UInt64, _ peer: String?,
        unfinished: Unfinished = Unfinished(), isFound: Bool = false
    ) {
        let new = StreamConnection(
            id, trigger, environment, peer: peer, isPackets: isPackets, isDurable: isDurable, untaken: untaken,
            isFound: isFound
        ) { [weak self] in
            self?.hungUp(number)
        }
        connections[number] = new
        if isHeld { new.hold() }
        new.open(connection, unfinished: unfinished)
        if connections[number] == nil { environment.send(.gap(id, 1)) }
    }

    private func hungUp(_ number: UInt64) {
        connections[number] = nil
        let name = KeptDescriptor.connection(id, number)
        if environment.connections.remove(name) { environment.forget(name) }
        mayLetIn()
    }

    private func keep(_ descriptor: Int32, _ number: UInt64) {
        guard isDurable else { return }
        let name = KeptDescriptor.connection(id, number)
        if environment.connections.insert(name) { return environment.keep(name, descriptor) }
        guard environment.connections.isFull, !hasToldOfRoom else { return }
        hasToldOfRoom = true
        environment.warn(
            id,
            "\(KeptConnections.limit) connections are kept by the service manager, and there is no room for more: what "
                + "is unread in the others would be lost if watchd were killed")
    }

    /// Those of an earlier daemon, or of the source before this one.
    private func takeUpConnections() {
        guard !trigger.accepts else { return }
        let type: SocketType = isPackets ? .sequentialPacket : .stream
        let taken = spare.takeConnections(of: id) { Linux.socketType($0) == type && !Linux.isListening($0) }
        for (number, descriptor, unfinished) in taken {
            lastConnection = max(lastConnection, number)
            if !environment.connections.contains(.connection(id, number)) { keep(descriptor, number) }
            read(
                FileDescriptor(owning: descriptor), number, Self.peer(descriptor), unfinished: unfinished,
                isFound: true)
        }
        lookFirst()
        noteRoom()
    }

    private func handOver(_ connection: consuming FileDescriptor, _ peer: String?) {
        // The handler knows nothing of it being otherwise.
        try? Linux.setNonBlocking(connection.rawValue, false)
        handedOver += 1
        let number = environment.handovers.add(connection) { [weak self] _ in
            self?.handedOver -= 1
            self?.mayLetIn()
        }
        environment.send(.event(id, .line(LineFact([], form: .connection, peer: peer, handover: number))))
    }

    private func mayLetIn() {
        guard !isClosed else { return }
        noteRoom()
        // A client that left may have given back a resource that was used up.
        if isExhausted { return acceptAgain() }
        do throws(SystemError) { try watch() } catch { failed(error) }
    }

    /// The address of who connected; of a Unix socket the process, as it was then.
    static func peer(_ number: Int32) -> String? {
        switch try? Linux.peerEndpoint(number) {
        case .ipv4(let address, let port): return "\(Endpoint.ipv4(address: address, port: port))"
        case .ipv6(let address, let port): return "\(Endpoint.ipv6(address: address, port: port))"
        case .unix, .abstract, .unnamed, nil:
            guard let peer = try? Linux.peerCredentials(number) else { return nil }
            return "pid=\(peer.processID),uid=\(peer.userID),gid=\(peer.groupID)"
        }
    }
}
