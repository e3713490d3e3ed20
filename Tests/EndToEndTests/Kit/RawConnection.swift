import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// A connection to the control socket that may send anything.
final class RawConnection {
    private let socket: Int32

    init(_ path: String) throws {
        socket = try Linux.socket(for: .unix(path.pathBytes), .stream).release()
        try connect(path)
    }

    /// Again while the line of those who wait to be accepted is full.
    private func connect(_ path: String) throws {
        try ProgramKit.wait(for: "a place in line") {
            switch (Result { () throws(SystemError) in try Linux.connect(socket, .unix(path.pathBytes)) }) {
            case .success: return true
            case .failure(let error) where error.errno == .wouldBlock: return false
            case .failure(let error): throw error
            }
        }
    }

    deinit { FileDescriptor(owning: socket).close() }

    /// Sends all, or until the other end has closed.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch Self.send(socket, rest) {
            case .success(let sent): rest = rest.dropFirst(sent)
            case .failure(let error) where error.errno == .wouldBlock: try wait(.writable)
            case .failure(let error) where [.brokenPipe, .connectionReset].contains(error.errno): return
            case .failure(let error): throw error
            }
        }
    }

    /// Sends nothing more; still reads.
    func endOfInput() { _ = shutdown(socket, Int32(SHUT_WR)) }

    func send(message: String) throws { try send(message.pathBytes + [0]) }

    /// What comes until a message ends.
    func receive() throws -> [UInt8] {
        var all: [UInt8] = []
        while all.last != 0 {
            switch Self.read(socket) {
            case .success(let bytes) where bytes.isEmpty: return all
            case .success(let bytes): all += bytes
            case .failure(let error) where error.errno == .wouldBlock: try wait(.readable)
            case .failure(let error): throw error
            }
        }
        return all
    }

    /// Waits, without reading, until the other end has closed.
    func waitForHangUp() throws { try wait(.peerHangUp) }

    /// What comes until the other end closes.
    func readToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            switch Self.read(socket) {
            case .success(let bytes) where bytes.isEmpty: return all
            case .success(let bytes): all += bytes
            case .failure(let error) where error.errno == .wouldBlock: try wait(.readable)
            case .failure(let error) where error.errno == .connectionReset: return all
            case .failure(let error): throw error
            }
        }
    }

    private func wait(_ events: PollEvents) throws {
        guard try !Linux.poll(socket, events, timeout: 30_000).isEmpty else {
            throw TimedOut(description: "the daemon neither answers nor closes")
        }
    }

    private static func send(_ socket: Int32, _ bytes: ArraySlice<UInt8>) -> Result<Int, SystemError> {
        bytes.withUnsafeBytes { bytes in Result { () throws(SystemError) in try Linux.send(socket, bytes) } }
    }

    private static func read(_ socket: Int32) -> Result<[UInt8], SystemError> {
        Result { () throws(SystemError) in try Linux.read(socket, atMost: 1 << 16) }
    }
}
