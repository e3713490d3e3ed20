import ControlInterface
import EventSources
import LinuxSystem
import Varlink

/// One client: its socket, and the protocol's state machine. Confined to the control context; what a call asks for is
/// answered on the core and comes back here.
final class ControlConnection {
    private static let bytesPerTurn = 64 << 10

    let peer: Peer
    private let context: Context
    private let epoll: EpollSet
    private let service: Service
    private let requests: RequestTarget
    private let closed: () -> Void
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var events: EpollEvents = .readable
    private var protocolState = ServerConnection(slowSubscriberError: ManagerError.tooSlow.reply)
    private var isClosing = false
    private var isWaitingForGrace = false
    /// Ends the stream of the current call.
    private var endStream: (() -> Void)?
    private var bound: QueueBound<ControlConnection> { QueueBound(self, to: context) }

    init(
        _ socket: consuming FileDescriptor, peer: Peer, context: Context, epoll: EpollSet, service: Service,
        requests: RequestTarget, closed: @escaping () -> Void
    ) {
        self.peer = peer
        self.context = context
        self.epoll = epoll
        self.service = service
        self.requests = requests
        self.closed = closed
        self.socket = consume socket
    }

    func start() {
        guard let number else { return }
        do throws(SystemError) {
            token = try epoll.add(number, events) { [unowned self] in turn(number, $0) }
        } catch {
            close()
        }
    }

    /// The daemon ends: what is being answered is still sent.
    func finish() {
        isClosing = true
        advance()
    }

    private var number: Int32? {
        switch socket {
        case .some(let socket): socket.rawValue
        case .none: nil
        }
    }

    // MARK: The socket

    private func turn(_ number: Int32, _ events: EpollEvents) {
        if events.contains(.error) { return close() }
        if !events.isDisjoint(with: [.readable, .hangUp]) { read(number) }
        advance()
    }

    private func read(_ number: Int32) {
        guard protocolState.wantsInput else { return }
        do throws(SystemError) {
            let bytes = try Linux.read(number, atMost: Self.bytesPerTurn)
            if bytes.isEmpty { protocolState.receiveEnd() } else { protocolState.receive(bytes) }
        } catch  where error.errno == .wouldBlock {
            return
        } catch {
            close()
        }
    }

    /// Hands out calls, writes what there is to write, and sees what to wait for.
    private func advance() {
        guard let number else { return }
        while let call = protocolState.next() {
            guard !isClosing else { return close() }
            answer(call)
        }
        write(number)
        guard self.number != nil else { return }
        if protocolState.isFinished || (isClosing && protocolState.pendingOutput.isEmpty) { return close() }
        if protocolState.ending != nil { closeAfterGrace() }
        wait()
    }

    private func write(_ number: Int32) {
        do throws(SystemError) {
            while !protocolState.pendingOutput.isEmpty {
                protocolState.consumeOutput(try Self.send(number, protocolState.pendingOutput))
            }
        } catch  where error.errno == .wouldBlock {
            return
        } catch {
            close()
        }
    }

    private static func send(_ number: Int32, _ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        var result = Swift.Result<Int, SystemError>.success(0)
        bytes.withUnsafeBytes { bytes in
            result = Swift.Result { () throws(SystemError) in try Linux.send(number, bytes) }
        }
        return try result.get()
    }

    private func wait() {
        var wanted: EpollEvents = []
        if protocolState.wantsInput { wanted.insert(.readable) }
        if !protocolState.pendingOutput.isEmpty { wanted.insert(.writable) }
        guard wanted != events, let token else { return }
        events = wanted
        do throws(SystemError) { try epoll.modify(token, wanted) } catch { close() }
    }

    private func closeAfterGrace() {
        guard !isWaitingForGrace else { return }
        isWaitingForGrace = true
        context.after(ServerConnection.closingGrace * 1_000_000) { [bound] in bound.value.close() }
    }

    private func close() {
        guard socket != nil else { return }
        endStream?()
        endStream = nil
        if let token { epoll.remove(token) }
        token = nil
        socket.take()?.close()
        closed()
    }

    // MARK: Calls

    private func answer(_ call: Call) {
        switch service.route(call) {
        case .reply(let value): protocolState.reply(to: call.number, with: value)
        case .error(let error): protocolState.fail(call.number, with: error)
        case .method(_, "Follow"): follow(call)
        case .method:
            let bound = bound
            let number = call.number
            let request: Request
            do throws(ErrorReply) {
                request = try Request(call, peer)
            } catch {
                return protocolState.fail(number, with: error)
            }
            requests.core.async { [requests, context] in
                request.perform(requests.runtime.value) { answer in
                    context.async { bound.value.send(answer, to: number) }
                }
            }
        }
    }

    private func send(_ answer: Request.Answer, to call: Int) {
        switch answer {
        case .error(let error): protocolState.fail(call, with: error)
        case .reply(let reply): reply(&protocolState, call)
        }
        advance()
    }

    // MARK: Follow

    private func follow(_ call: Call) {
        let parameters: Follow.Parameters
        do throws(ErrorReply) { parameters = try call.parameters() } catch {
            return protocolState.fail(call.number, with: error)
        }
        let (bound, number, role) = (bound, call.number, peer.role)
        let stream = FollowStream(context: context) { [requests] id in
            requests.core.async { requests.runtime.value.follow.remove(id) }
        }
        endStream = { stream.end() }
        let deliver: @Sendable (Follow.Reply) -> Void = { [context] reply in
            context.async { bound.value.deliver(reply, to: number) }
        }
        requests.core.async { [requests, context] in
            let runtime = requests.runtime.value
            let (id, missed) = runtime.follow.follow(since: parameters.since) { record in
                if let reply = FollowRecord.reply(record, role) { deliver(reply) }
            }
            if let missed { deliver(FollowRecord.gap(missed)) }
            context.async { stream.began(id) }
        }
    }

    private func deliver(_ reply: Follow.Reply, to call: Int) {
        guard number != nil else { return }
        if !protocolState.continueReply(to: call, with: reply) {
            endStream?()
            endStream = nil
        }
        advance()
    }
}

/// A stream's place among the followers, which may end before it has begun. Confined to the control context.
final class FollowStream: Sendable {
    private let state: QueueBound<State>
    private let remove: @Sendable (Int) -> Void

    private final class State {
        var id: Int?
        var hasEnded = false
    }

    init(context: Context, remove: @escaping @Sendable (Int) -> Void) {
        state = QueueBound(State(), to: context)
        self.remove = remove
    }

    func began(_ id: Int) {
        state.value.id = id
        if state.value.hasEnded { remove(id) }
    }

    func end() {
        guard !state.value.hasEnded else { return }
        state.value.hasEnded = true
        if let id = state.value.id { remove(id) }
    }
}
