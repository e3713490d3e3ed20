import JSON
package import LinuxSystem

/// The client's side of one Varlink connection over a Unix socket. It blocks, one call at a time; for one thread.
package final class Client {
    /// Bytes of one reply, as in systemd's own client.
    package static let maximumReplySize = 16 << 20

    private let socket: Int32
    /// Bytes that are no whole message yet, and how many of them are known to hold no NUL.
    private var received: [UInt8] = []
    private var scanned = 0

    /// Takes over a connected socket.
    package init(owning socket: consuming FileDescriptor) throws(ClientError) {
        let descriptor = socket.release()
        self.socket = descriptor
        do throws(SystemError) {
            try Linux.setNonBlocking(descriptor)
        } catch {
            throw .system(error)
        }
    }

    /// - Throws: `ClientError.cannotConnect`. A service whose line of callers is full does not make this wait.
    package convenience init(connectingTo path: String) throws(ClientError) {
        let endpoint = Endpoint.unix(Array(path.utf8))
        let socket: FileDescriptor
        do throws(SystemError) {
            socket = try Linux.socket(for: endpoint, .stream)
        } catch {
            throw .cannotConnect(path: path, errno: error.errno)
        }
        do throws(SystemError) {
            try Linux.connect(socket.rawValue, endpoint)
        } catch {
            socket.close()
            throw .cannotConnect(path: path, errno: error.errno)
        }
        try self.init(owning: socket)
    }

    deinit { FileDescriptor(owning: socket).close() }

    /// The user at the other end: that of the process that called `listen(2)`.
    package var peerUserID: UInt32 {
        get throws(ClientError) {
            do throws(SystemError) {
                return try Linux.peerCredentials(socket).userID
            } catch {
                throw .system(error)
            }
        }
    }

    /// Calls a method and waits for its one reply.
    /// - Parameters:
    ///   - method: with its interface.
    ///   - timeout: how long nothing may come, in ms; `nil`: for ever.
    package func call(
        _ method: String, _ parameters: some Encodable = NoParameters(), timeout: Int? = nil
    ) throws(ClientError) -> Reply {
        try begin(method, parameters, timeout: timeout)
        let reply = try Reply(message: try nextMessage(timeout))
        if reply.continues { throw .unexpectedReply("several replies to a call that asked for one") }
        return reply
    }

    /// Calls a method whose one reply `nextReply` gives, so that its coming can be waited for in steps.
    package func begin(
        _ method: String, _ parameters: some Encodable = NoParameters(), timeout: Int? = nil
    ) throws(ClientError) {
        try send(OutgoingCall(method: method, parameters: parameters), timeout)
    }

    /// Calls a method that answers with a stream; `nextReply` gives its replies.
    package func start(
        _ method: String, _ parameters: some Encodable = NoParameters(), timeout: Int? = nil
    ) throws(ClientError) {
        try send(OutgoingCall(method: method, parameters: parameters, more: true), timeout)
    }

    /// Waits for the next reply of a stream that was started; not to be called after one that does not continue. After
    /// `timedOut` it can be called again.
    /// Another call needs another connection, unless the stream has ended.
    package func nextReply(timeout: Int? = nil) throws(ClientError) -> Reply {
        try Reply(message: try nextMessage(timeout))
    }
}

extension Client {
    private struct OutgoingCall<Parameters: Encodable>: Encodable {
        var method: String
        var parameters: Parameters
        var more: Bool?
    }

    private func send(_ call: OutgoingCall<some Encodable>, _ timeout: Int?) throws(ClientError) {
        guard let message = try? JSON.encode(call) else {
            throw .unexpectedReply("a parameter that JSON cannot say")
        }
        var rest = (message + [0])[...]
        while !rest.isEmpty {
            let taken = try perform(waitingFor: .writable, timeout) { () throws(SystemError) in
                try rest.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in try Linux.send(socket, bytes) }
                }.get()
            }
            // A service that has hung up may have said why before: read on.
            guard let taken else { return }
            rest = rest.dropFirst(taken)
        }
    }

    private func nextMessage(_ timeout: Int?) throws(ClientError) -> [UInt8] {
        while true {
            if let end = received[scanned...].firstIndex(of: 0) {
                let message = Array(received[..<end])
                received.removeFirst(end + 1)
                scanned = 0
                return message
            }
            scanned = received.count
            guard scanned <= Self.maximumReplySize else {
                throw .unexpectedReply("a reply of more than \(Self.maximumReplySize) bytes")
            }
            let bytes = try perform(waitingFor: .readable, timeout) { () throws(SystemError) in
                try Linux.read(socket, atMost: 65_536)
            }
            guard let bytes, !bytes.isEmpty else { throw .disconnected }
            received += bytes
        }
    }

    /// Makes a system call, again after waiting if it would block; `nil`: the service has hung up.
    private func perform<Value>(
        waitingFor events: PollEvents, _ timeout: Int?, _ body: () throws(SystemError) -> Value
    ) throws(ClientError) -> Value? {
        var isReady = true
        do throws(SystemError) {
            while isReady {
                do throws(SystemError) {
                    return try body()
                } catch {
                    switch error.errno {
                    case .wouldBlock: break
                    case .brokenPipe, .connectionReset: return nil
                    default: throw error
                    }
                }
                isReady = try !Linux.poll(socket, events, timeout: timeout.map { Int32(clamping: $0) } ?? -1).isEmpty
            }
        } catch {
            throw .system(error)
        }
        throw .timedOut(milliseconds: timeout ?? 0)
    }
}
