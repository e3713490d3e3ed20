import LinuxSystem
import ProgramKit
import Testing

@Suite("What is unread of a connection") struct UnreadShareTests {
    private func fill(_ socket: Int32, in size: Int) throws -> Int {
        let piece = [UInt8](repeating: 1, count: size)
        var sent = 0
        while let taken = try? piece.withUnsafeBytes({ bytes throws(SystemError) in try Linux.send(socket, bytes) }) {
            sent += taken
        }
        return sent
    }

    private func accepted(_ listener: Int32) throws -> Int32? {
        guard let connection = try Linux.accept(listener) else { return nil }
        return connection.release()
    }

    @Test func ofAUnixSocketEachPieceCounts() throws {
        let pair = try Linux.socketPair(.stream)
        let (reader, writer) = (
            try Linux.duplicate(pair.readEnd.rawValue).release(), try Linux.duplicate(pair.writeEnd.rawValue).release()
        )
        pair.readEnd.close()
        pair.writeEnd.close()
        defer { for socket in [reader, writer] { FileDescriptor(owning: socket).close() } }
        try Linux.setNonBlocking(writer)
        // Without sock_diag(7) in the kernel, nothing is known.
        guard let empty = Linux.unreadShare(reader) else { return }
        #expect(empty.used < 1000 && !empty.mayHoldUpWriter)
        let sent = try fill(writer, in: 1)
        let full = try #require(Linux.unreadShare(reader))
        #expect(sent < 2000 && full.used >= full.limit && full.mayHoldUpWriter)
        _ = try Linux.skip(reader, sent)
        #expect(try #require(Linux.unreadShare(reader)).mayHoldUpWriter == false)
    }

    @Test func ofATCPSocketItIsTheReadersBuffer() throws {
        let local = Endpoint.ipv4(address: [127, 0, 0, 1], port: 0)
        try Linux.socket(for: local, .stream).use { listener throws in
            try Linux.bind(listener, local)
            try Linux.listen(listener)
            let writer = try Linux.socket(for: local, .stream, nonBlocking: false).release()
            defer { FileDescriptor(owning: writer).close() }
            try Linux.connect(writer, try Linux.localEndpoint(listener))
            let reader = try #require(try accepted(listener))
            defer { FileDescriptor(owning: reader).close() }
            #expect(try #require(Linux.unreadShare(reader)).mayHoldUpWriter == false)
            try Linux.setNonBlocking(writer)
            try wait(for: "it to be full") {
                _ = try fill(writer, in: 1000)
                return Linux.unreadShare(reader)?.mayHoldUpWriter == true
            }
        }
    }
}
