import ControlInterface
import JSON
import LinuxSystem
import Varlink

/// One call of a daemon's control socket.
enum ControlCall {
    /// ms in which the reply must come.
    private static let patience: Int32 = 10_000

    private struct Call: Encodable {
        var method: String
        var parameters: Resume.Parameters
    }

    /// Lets a queue or a source go on.
    static func resume(_ name: String, socket: String) throws {
        let call = Call(method: Resume.fullName, parameters: Resume.Parameters(name: name))
        let endpoint = Endpoint.unix(Array(socket.utf8))
        try Linux.socket(for: endpoint, .stream).use { socket in
            try Linux.connect(socket, endpoint)
            try Linux.writeAll(socket, try JSON.encode(call) + [0])
            guard !(try Linux.poll(socket, .readable, timeout: patience).isEmpty) else {
                throw Failure(message: "a call of Resume has had no reply")
            }
            let reply = try Linux.read(socket, atMost: 4096)
            guard reply.starts(with: Array(#"{"parameters":"#.utf8)) else {
                throw Failure(message: "Resume was refused: \(String(decoding: reply.dropLast(), as: UTF8.self))")
            }
        }
    }
}
