import ControlInterface
import EventSources
import LinuxSystem
import Schedule
import Varlink

/// One client: its socket, and the protocol's state machine. Confined to the control context; what a call asks for is
/// answered on the core and comes back here.
final class ControlConnection {
    private static let bytesPerTurn = 64 << 10
    /// Records of a stream fetched at once.
    private static let recordsPerFetch = 32

    let peer: Peer
    private let context: Context
    private let epoll: EpollSet
    private let service: Service
    private let requests: RequestLine
    private let misbehaved: (String) -> Void
    private let closed: () -> Void
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var events: EpollEvents = .readable
    private var protocolState = ServerConnection(slowSubscriberError: ManagerError.tooSlow.reply)
    private var isClosing = false
    private var isWaitingForGrace = false
    /// The message whose end is waited for.
    private var timedMessage: Int?
    private var stream: Stream?
    /// A call is being answered, and somebody waits for that.
    private var isAwaited = false
    /// It has closed its side too: nobody reads answers any more.
    private var isPeerGone = false
    private var target: RequestTarget { requests.target }
    private var bound: QueueBound<ControlConnection> { QueueBound(self, to: context) }

    init(
        _ socket: consuming FileDescriptor, peer: Peer, context: Context, epoll: EpollSet, service: Service,
        requests: RequestLine, misbehaved: @escaping (String) -> Void, closed: @escaping () -> Void
    ) {
        self.peer = peer
        self.context = context
        self.epoll = epoll
        self.service = service
        self.requests = requests
        self.misbehaved = misbehaved
        self.closed = closed
        self.socket = consume socket
    }

    func start() {
        guard let number else { return }
        do throws(SystemError) {
            token = try epoll.add(number, events) { [unowned self] in turn(number, $0) }
        } catch {
            return close()
        }
        // A call that is there already has its turn before the next message of a crowd.
        read(number)
        advance()
    }

    /// The daemon ends: what is being answered is still sent.
    func finish() {
        isClosing = true
        advance()
    }

    private var number: Int32? { socket.number }

    // MARK: The socket

    private func turn(_ number: Int32, _ events: EpollEvents) {
        if events.contains(.error) { return close() }
        // Behind a stream nothing is reached any more, and nobody is there to read it.
        if !events.isDisjoint(with: [.hangUp, .peerHangUp]), stream != nil { return close() }
        if !events.isDisjoint(with: [.readable, .hangUp]) { read(number) }
        if events.contains(.hangUp) { peerHasGone() }
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

    /// It is this connection's turn: one call is handed out.
    func takeTurn() {
        guard number != nil else { return }
        if !isClosing, let call = protocolState.next() { answer(call) }
        if case .malformed(let reason) = protocolState.ending { misbehaved("it has sent \(reason)") }
        advance()
    }

    /// Writes what there is to write, asks for a turn if a call is at hand, and sees what to wait for.
    private func advance() {
        guard let number else { return }
        repeat {
            tellRecords()
            write(number)
            guard self.number != nil else { return }
        } while stream?.records.isEmpty == false && !protocolState.isOutputFull
        if protocolState.isFinished || (isClosing && protocolState.pendingOutput.isEmpty) { return close() }
        if protocolState.ending != nil || isClosing { closeAfterGrace() }
        if !isClosing, protocolState.hasNext { requests.wantsTurn(self) }
        fetch()
        timeHalfMessage()
        wait()
    }

    /// A client that stops in the middle of a message would keep its connection for ever.
    private func timeHalfMessage() {
        guard let half = protocolState.halfMessage, half != timedMessage else { return }
        timedMessage = half
        context.after(ServerConnection.messagePatience * 1_000_000) { [bound] in bound.value.timeIsUp(half) }
    }

    private func timeIsUp(_ half: Int) {
        guard number != nil, protocolState.halfMessage == half else { return }
        misbehaved("half a message has come, and for \(ServerConnection.messagePatience)s no more")
        close()
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

    /// Waiting for nothing means being out of the epoll set, where a hang-up would be reported again and again.
    private func wait() {
        guard let number else { return }
        var wanted: EpollEvents = []
        if protocolState.wantsInput { wanted.insert(.readable) }
        if !protocolState.pendingOutput.isEmpty { wanted.insert(.writable) }
        // A stream's client may go at any time, and then nothing else would tell.
        if stream != nil { wanted.insert(.peerHangUp) }
        // A hang-up is reported without being asked for, as long as the socket is in the set.
        let mustStay = isAwaited && !isPeerGone
        guard wanted != events || (wanted.isEmpty && mustStay == (token == nil)) else { return }
        events = wanted
        do throws(SystemError) {
            if wanted.isEmpty, !mustStay {
                if let token { epoll.remove(token) }
                token = nil
            } else if let token {
                try epoll.modify(token, wanted)
            } else {
                token = try epoll.add(number, wanted) { [unowned self] in turn(number, $0) }
            }
        } catch {
            close()
        }
    }

    /// The requested change still happens, but nothing waits for it any more.
    private func peerHasGone() {
        isPeerGone = true
        guard isAwaited else { return }
        requests.tell(of: peer.connection) { [connection = peer.connection] in $0.abandonCall(of: connection) }
    }

    private func closeAfterGrace() {
        guard !isWaitingForGrace else { return }
        isWaitingForGrace = true
        context.after(ServerConnection.closingGrace * 1_000_000) { [bound] in bound.value.close() }
    }

    private func close() {
        guard socket != nil else { return }
        endStream()
        requests.tell(of: peer.connection) { [connection = peer.connection, isAwaited] in
            $0.clientHasGone(connection, abandoning: isAwaited)
        }
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
            let number = call.number
            let request: Request
            do throws(ErrorReply) {
                request = try Request(call, peer)
            } catch {
                return protocolState.fail(number, with: error)
            }
            isAwaited = !call.isOneway
            requests.perform(request, of: peer, call: number, on: bound)
            if isPeerGone { peerHasGone() }
        }
    }

    /// The answer to what was asked for.
    func send(_ answer: Request.Answer, to call: Int) {
        isAwaited = false
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
        let time = parameters.sinceTime.flatMap { try? Timestamp(parsing: $0).microseconds }
        if parameters.sinceTime != nil, time == nil || parameters.since != nil {
            return protocolState.fail(call.number, with: .invalidParameter("since_time"))
        }
        if parameters.output == true, peer.role != .administrator {
            return protocolState.fail(call.number, with: .permissionDenied)
        }
        protocolState.beginStream(call.number)
        let (bound, number) = (bound, call.number)
        target.core.async { [target, context] in
            let runtime = target.runtime.value
            let filter: FollowFilter
            do throws(ManagerError) {
                filter = try runtime.filter(parameters)
            } catch {
                return context.async { bound.value.refused(number, error) }
            }
            let hub = runtime.follow
            let follower = hub.begin(
                since: time.map { hub.sequence(before: $0) } ?? parameters.since, wantsOutput: filter.wantsOutput
            ) { context.async { bound.value.cutOff(number) } }
            context.async { bound.value.began(Stream(call: number, follower: follower, filter: filter)) }
        }
    }

    /// A stream that cannot begin.
    private func refused(_ call: Int, _ error: ManagerError) {
        protocolState.fail(call, with: error.reply)
        advance()
    }

    private func began(_ stream: Stream) {
        guard number != nil else { return end(stream) }
        self.stream = stream
        fetch()
    }

    /// Asks for the next records once the client has read what there was.
    private func fetch() {
        guard var stream, !stream.isFetching, stream.records.isEmpty, !protocolState.isOutputFull else { return }
        stream.isFetching = true
        self.stream = stream
        let (bound, follower) = (bound, stream.follower)
        target.core.async { [target, context] in
            target.runtime.value.follow.next(follower, limit: Self.recordsPerFetch) { batch in
                context.async { bound.value.fetched(batch) }
            }
        }
    }

    private func fetched(_ batch: FollowHub.Batch) {
        guard var stream, number != nil else { return }
        if let missed = batch.missed {
            // The hub had forgotten these records before the stream began.
            send(FollowRecord.gap(missed))
        }
        stream.isFetching = false
        stream.records = batch.records[...]
        self.stream = stream
        advance()
    }

    /// Sends what was fetched, as fast as the client reads.
    private func tellRecords() {
        while !protocolState.isOutputFull, let record = stream?.records.popFirst() {
            guard stream?.filter.contains(record.content) == true else { continue }
            if let reply = FollowRecord.reply(record, peer.role) { send(reply) }
        }
    }

    private func send(_ reply: Follow.Reply) {
        guard let stream else { return }
        if !protocolState.continueReply(to: stream.call, with: reply) { endStream() }
    }

    /// Records are gone that the client has not read.
    private func cutOff(_ call: Int) {
        guard stream?.call == call else { return }
        endStream()
        protocolState.fail(call, with: ManagerError.tooSlow.reply)
        isClosing = true
        advance()
    }

    private func endStream() {
        if let stream { end(stream) }
        stream = nil
    }

    private func end(_ stream: Stream) {
        target.core.async { [target] in target.runtime.value.follow.end(stream.follower) }
    }

    /// A `Follow` that is going on.
    private struct Stream: Sendable {
        let call: Int
        let follower: Int
        let filter: FollowFilter
        var isFetching = false
        /// Fetched and not yet sent.
        var records: ArraySlice<FollowHub.Record> = []
    }
}
