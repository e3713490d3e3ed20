import ControlInterface
import JSON
import LinuxSystem
import Varlink

/// Clients of a daemon that fire a custom source, each one event after the other: it calls, waits for the reply, and
/// calls again. What they send is made once, so that they cost as little as they can.
final class EmitClients {
    /// ms in which some reply must come.
    private static let patience = 60_000

    private let message: [UInt8]
    private let epoll: Int32
    private var sockets: [Int32] = []
    /// Calls without a reply.
    private var open = 0

    /// Clients that fire `source` with a payload of 200 bytes; with `events` above 1 so many in one call.
    init(_ count: Int, of source: String, events: Int = 1, socket: String, bed: Bed) throws {
        message = try Self.message(source, events)
        epoll = try Linux.epollCreate().release()
        try bed.addStop(to: epoll)
        let endpoint = Endpoint.unix(Array(socket.utf8))
        for index in 0..<count {
            let number = try Linux.socket(for: endpoint, .stream).release()
            sockets.append(number)
            try Linux.connect(number, endpoint)
            try Linux.epollAdd(epoll, number, .readable, token: UInt64(index))
        }
    }

    deinit {
        for socket in sockets + [epoll] { FileDescriptor(owning: socket).close() }
    }

    /// Makes so many calls; µs from the first to the last reply.
    /// - Throws: `Failure`, when one is refused or no reply comes.
    func run(calls: Int) throws -> Int64 {
        let began = Bed.now
        var rest = calls
        while rest > 0, open < sockets.count {
            try send(sockets[open])
            rest -= 1
        }
        while open > 0 {
            for report in try replies() where rest > 0 {
                try send(sockets[report])
                rest -= 1
            }
        }
        return Bed.now - began
    }

    /// Each of them calls, and nobody waits yet for the replies.
    func start() throws {
        for socket in sockets { try send(socket) }
    }

    /// Waits for the replies to `start`.
    func finish() throws {
        while open > 0 { _ = try replies() }
    }

    private func send(_ socket: Int32) throws {
        // A message is far shorter than what a socket takes when nothing is in it.
        let sent = try message.withUnsafeBytes { try Linux.send(socket, $0) }
        guard sent == message.count else { throw Failure(message: "a call could not be sent as a whole") }
        open += 1
    }

    /// Waits for the next replies; whose they are.
    private func replies() throws -> [Int] {
        let reports = try Linux.epollWait(epoll, atMost: 64, timeout: Int32(Self.patience))
        if reports.isEmpty {
            throw Failure(message: "\(open) calls of Emit have had no reply for \(Self.patience / 1000) s")
        }
        return try reports.map { report in
            if report.token == Bed.stopToken { throw Failure(message: "stopped", exitCode: 1) }
            let index = Int(report.token)
            var reply: [UInt8] = []
            while reply.last != 0 {
                let bytes = try Linux.read(sockets[index], atMost: 4096)
                if bytes.isEmpty { throw Failure(message: "watchd has hung up") }
                reply += bytes
            }
            // Its members stand in the order of the alphabet, and one that is no error has no other before them.
            guard reply.starts(with: Self.success) else {
                throw Failure(message: "Emit was refused: \(String(decoding: reply.dropLast(), as: UTF8.self))")
            }
            open -= 1
            return index
        }
    }

    private static let success = Array(#"{"parameters":"#.utf8)

    private struct Call<Parameters: Encodable>: Encodable {
        var method: String
        var parameters: Parameters
    }

    private static func message(_ source: String, _ events: Int) throws -> [UInt8] {
        let text = String(repeating: "x", count: 200 - #"{"text":""}"#.utf8.count)
        let one = Emit.Parameters(name: source, payload: .object(["text": .string(text)]))
        let call =
            events == 1
            ? try JSON.encode(Call(method: Emit.fullName, parameters: one))
            : try JSON.encode(
                Call(
                    method: EmitAll.fullName,
                    parameters: EmitAll.Parameters(events: Array(repeating: one, count: events))))
        return call + [0]
    }
}
