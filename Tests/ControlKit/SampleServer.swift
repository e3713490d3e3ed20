import Dispatch
package import JSON
import LinuxSystem
package import Varlink

/// A service on a socket of its own that gives each call the answer it is told to; a queue for each connection.
package final class SampleServer: Sendable {
    package enum Answer: Sendable {
        case reply(JSONValue)
        case error(ErrorReply)
        /// All of them continue but the last.
        case stream([JSONValue])
        /// Hangs up without a word.
        case nothing
    }

    /// The socket file.
    package let path: String

    private let service: Service
    private let answer: @Sendable (Call) -> Answer
    /// Its end is the sign to stop.
    private let stopReader: Int32
    private let stopWriter: Int32

    package init(
        interfaces: [Interface], answer: @escaping @Sendable (Call) -> Answer
    ) throws {
        let folder = "/tmp/watchd-test-\(Linux.processID)-\(UInt32.random(in: .min ... .max))"
        try Linux.mkdir(folder, mode: 0o700)
        self.path = folder + "/socket"
        self.answer = answer
        service = Service(
            .init(vendor: "watchd", product: "sample", version: "1", url: "https://example.org"),
            interfaces: interfaces)
        let pipe = try Linux.pipe()
        stopReader = pipe.readEnd.release()
        stopWriter = pipe.writeEnd.release()
        let endpoint = Endpoint.unix(Array(self.path.utf8))
        let listener = try Linux.socket(for: endpoint, .stream)
        try Linux.bind(listener.rawValue, endpoint)
        try Linux.listen(listener.rawValue)
        let descriptor = listener.release()
        DispatchQueue(label: "sample.listener").async { [self] in accept(descriptor) }
    }

    /// Ends all threads and removes the socket.
    package func stop() {
        FileDescriptor(owning: stopWriter).close()
        try? Linux.unlink(path)
        try? Linux.rmdir(String(path.dropLast("/socket".count)))
    }

    private func accept(_ listener: Int32) {
        defer { FileDescriptor(owning: listener).close() }
        while wait(listener, .readable) {
            guard let connection = try? Linux.accept(listener) else { continue }
            let descriptor = connection.release()
            DispatchQueue(label: "sample.connection").async { [self] in serve(descriptor) }
        }
    }

    private func serve(_ socket: Int32) {
        defer { FileDescriptor(owning: socket).close() }
        var connection = ServerConnection(slowSubscriberError: .system(105, "ENOBUFS"))
        while !connection.isFinished {
            while let call = connection.next() {
                guard perform(call, on: &connection) else { return }
            }
            var events: PollEvents = connection.wantsInput ? .readable : []
            if !connection.pendingOutput.isEmpty { events.insert(.writable) }
            if events.isEmpty { continue }
            guard wait(socket, events) else { return }
            let pending = Array(connection.pendingOutput)
            if !pending.isEmpty, let count = try? pending.withUnsafeBytes({ try Linux.send(socket, $0) }) {
                connection.consumeOutput(count)
            }
            guard connection.wantsInput, let bytes = try? Linux.read(socket, atMost: 4096) else { continue }
            if bytes.isEmpty { connection.receiveEnd() } else { connection.receive(bytes) }
        }
    }

    /// False: hang up.
    private func perform(_ call: Call, on connection: inout ServerConnection) -> Bool {
        switch service.route(call) {
        case .reply(let reply): connection.reply(to: call.number, with: reply)
        case .error(let error): connection.fail(call.number, with: error)
        case .method:
            switch answer(call) {
            case .reply(let reply): connection.reply(to: call.number, with: reply)
            case .error(let error): connection.fail(call.number, with: error)
            case .stream(let replies):
                for reply in replies.dropLast() {
                    guard connection.continueReply(to: call.number, with: reply) else { return true }
                }
                connection.reply(to: call.number, with: replies.last ?? .object([:]))
            case .nothing: return false
            }
        }
        return true
    }

    /// False: stop.
    private func wait(_ descriptor: Int32, _ events: PollEvents) -> Bool {
        let reports = try? Linux.poll([(descriptor, events), (stopReader, .readable)], timeout: -1)
        return reports?[1].isEmpty == true
    }
}
