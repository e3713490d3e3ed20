import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Sockets") struct SocketTests {
    private func withServer(_ folder: String, _ body: (Int32, Endpoint) throws -> Void) throws {
        let endpoint = Endpoint.unix((folder + "/socket").pathBytes)
        try Linux.socket(for: endpoint, .stream).use { server throws in
            try Linux.bind(server, endpoint)
            #expect(!Linux.isListeningUnixStream(server))
            try Linux.listen(server)
            #expect(Linux.isListeningUnixStream(server))
            try body(server, endpoint)
        }
    }

    @Test func thePeerOfAConnectionIsKnown() throws {
        try withTemporaryFolder { folder throws in
            try withServer(folder) { server, endpoint throws in
                #expect(try accepted(server) == nil)
                try Linux.socket(for: endpoint, .stream, nonBlocking: false).use { client throws in
                    try Linux.connect(client, endpoint)
                    let connection = try #require(try accepted(server))
                    try FileDescriptor(owning: connection).use { connection throws in
                        #expect(
                            try Linux.peerCredentials(connection)
                                == PeerCredentials(
                                    processID: Linux.processID, userID: Linux.effectiveUserID,
                                    groupID: Linux.effectiveGroupID))
                        #expect(try Set(Linux.peerGroups(connection)) == ownGroups())
                        let sent = try "ping".withUTF8Copy { try Linux.send(client, $0) }
                        #expect(sent == 4)
                        #expect(try Linux.read(connection, atMost: 10) == "ping".pathBytes)
                        try Linux.shutdownWriting(client)
                        #expect(try Linux.read(connection, atMost: 10).isEmpty)
                    }
                    let error = #expect(throws: SystemError.self) {
                        try "x".withUTF8Copy { try Linux.send(client, $0) }
                    }
                    #expect(error?.errno == .brokenPipe)
                }
            }
        }
    }

    private func accepted(_ server: Int32) throws -> Int32? {
        guard let connection = try Linux.accept(server) else { return nil }
        return connection.release()
    }

    private func ownGroups() throws -> Set<UInt32> {
        var groups = [gid_t](repeating: 0, count: 65_536)
        return Set(groups.prefix(Int(max(0, getgroups(Int32(groups.count), &groups)))))
    }

    @Test func aStaleSocketFileRefusesAndALivingOneIsTaken() throws {
        try withTemporaryFolder { folder throws in
            try withServer(folder) { _, endpoint throws in
                try Linux.socket(for: endpoint, .stream).use { second throws in
                    let error = #expect(throws: SystemError.self) { try Linux.bind(second, endpoint) }
                    #expect(error?.description == "bind \(folder)/socket: Address already in use (EADDRINUSE)")
                }
            }
            let endpoint = Endpoint.unix((folder + "/socket").pathBytes)
            // A program that another test starts may have the listener for a moment.
            try wait(for: "a refusal") {
                try Linux.socket(for: endpoint, .stream).use { client throws in
                    do throws(SystemError) { try Linux.connect(client, endpoint) } catch {
                        return error.errno == .connectionRefused
                    }
                    return false
                }
            }
        }
    }

    @Test func datagramsKeepTheirBordersTheirSenderAndSayWhenTheyAreCut() throws {
        let pair = [
            Endpoint.abstract("watchd-test-\(Linux.processID)".pathBytes), .abstract("b-\(Linux.processID)".pathBytes),
        ]
        try Linux.socket(for: pair[0], .datagram).use { receiver throws in
            try Linux.bind(receiver, pair[0])
            #expect(try Linux.receiveDatagram(receiver, limit: 10) == nil)
            try Linux.socket(for: pair[1], .datagram).use { sender throws in
                try Linux.send(sender, [9], to: pair[0])
                // The kernel looks the sender's address up when the datagram is received.
                let first = try Linux.receiveDatagram(receiver, limit: 4)
                #expect(first?.bytes == [9] && first?.sender == .unnamed)
                try Linux.bind(sender, pair[1])
                try Linux.send(sender, [], to: pair[0])
                try Linux.send(sender, [1, 2, 3, 4], to: pair[0])
                try Linux.send(sender, [5, 6, 7, 8, 9], to: pair[0])
            }
            var received: [Datagram] = []
            while let datagram = try Linux.receiveDatagram(receiver, limit: 4) { received.append(datagram) }
            #expect(received.map(\.bytes) == [[], [1, 2, 3, 4], [5, 6, 7, 8]])
            #expect(received.map(\.isTruncated) == [false, false, true])
            #expect(received.map(\.sender) == [pair[1], pair[1], pair[1]])
        }
    }

    @Test func internetDatagramsTellTheirSender() throws {
        let receiverAddress = Endpoint.ipv4(address: [127, 0, 0, 1], port: 0)
        try Linux.socket(for: receiverAddress, .datagram).use { receiver throws in
            try Linux.bind(receiver, receiverAddress)
            let bound = try Linux.localEndpoint(receiver)
            try Linux.socket(for: bound, .datagram).use { sender throws in
                try Linux.send(sender, "hello".pathBytes, to: bound)
                #expect(try Linux.poll(receiver, .readable, timeout: 10_000) == .readable)
                let datagram = try #require(try Linux.receiveDatagram(receiver, limit: 100))
                #expect(datagram.bytes == "hello".pathBytes)
                #expect(
                    try datagram.sender.description.split(separator: ":").last
                        == Linux.localEndpoint(sender).description.split(separator: ":").last)
                #expect(datagram.sender.description.hasPrefix("127.0.0.1:"))
            }
        }
    }

    static let hasIPv6 = (try? Linux.access("/proc/net/if_inet6", .exists)) != nil

    @Test(.enabled(if: hasIPv6, "this machine has no IPv6")) func everyAddressMeansBothProtocols() throws {
        let everywhere = Endpoint.ipv6(address: [UInt8](repeating: 0, count: 16), port: 0)
        try Linux.socket(for: everywhere, .datagram).use { receiver throws in
            try Linux.bind(receiver, everywhere)
            guard case .ipv6(_, let port) = try Linux.localEndpoint(receiver) else {
                Issue.record("not bound")
                return
            }
            let target = Endpoint.ipv4(address: [127, 0, 0, 1], port: port)
            try Linux.socket(for: target, .datagram).use { sender throws in
                try Linux.send(sender, [1], to: target)
            }
            #expect(try Linux.poll(receiver, .readable, timeout: 10_000) == .readable)
            #expect(try Linux.receiveDatagram(receiver, limit: 10)?.bytes == [1])
        }
    }

    @Test func addressesArePrintedAsSystemdWritesThem() {
        let loopback = [UInt8](repeating: 0, count: 15) + [1]
        #expect("\(Endpoint.ipv6(address: loopback, port: 514))" == "[::1]:514")
        #expect("\(Endpoint.ipv4(address: [10, 0, 0, 255], port: 1))" == "10.0.0.255:1")
        #expect("\(Endpoint.ipv4(address: [1], port: 1))" == "?:1")
        #expect("\(Endpoint.abstract([0, 65]))" == #"@\x00A"#)
        #expect("\(Endpoint.unnamed)".isEmpty)
    }

    @Test func anAddressThatDoesNotFitIsAnError() throws {
        let long = "/" + String(repeating: "x", count: 107)
        for endpoint: Endpoint in [
            .unix(long.pathBytes), .abstract(long.pathBytes), .unix([]), .unix([47, 0]), .unnamed,
            .ipv4(address: [], port: 1), .ipv6(address: [1], port: 1),
        ] {
            try Linux.socket(for: endpoint, .datagram).use { socket throws in
                #expect(throws: SystemError.self) { try Linux.bind(socket, endpoint) }
                #expect(throws: SystemError.self) { try Linux.send(socket, [1], to: endpoint) }
            }
        }
    }

    @Test func whatIsNoSocketIsNone() {
        #expect(!Linux.isListeningUnixStream(0))
        #expect(!Linux.isListeningUnixStream(-1))
        #expect(throws: SystemError.self) { try Linux.peerCredentials(-1) }
        #expect(throws: SystemError.self) { try Linux.peerGroups(-1) }
    }
}

extension String {
    fileprivate func withUTF8Copy<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(utf8).withUnsafeBytes(body)
    }
}
