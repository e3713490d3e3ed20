import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// Connections whose lines come in pieces, or without an end.
@Suite("Durable connections", .ownThread) struct DurableStreamTests {
    enum Family: CaseIterable { case unix, ipv4 }

    private static let maxLength = 4096

    /// A daemon's sources, and what a client of theirs does.
    private struct Setup {
        var rim: Rim
        var set: QueueBound<SourceSet>
        let definition: SourceDefinition

        init(
            _ address: SocketAddress, maxLength: Int, isCommittedByHand: Bool = false, keepsConnections: Int = 10,
            stored: [KeptDescriptor: Int32] = [:], position: [UInt8]? = nil
        ) throws {
            let trigger = DescriptorTrigger(listener: .stream(address), framing: .line, maxLength: maxLength)
            let definition = SourceDefinition(
                id: SourceID(.descriptor, "d"), routes: [], trigger: .descriptor(trigger))
            let rim = try Rim(
                isCommittedByHand: isCommittedByHand, position: position, keepsConnections: keepsConnections)
            let set = try rim.core.queue.sync {
                let set = try SourceSet(rim.parts.value.environment, stored: stored, ownSignals: []) { _ in }
                set.open(definition, isDurable: true)
                return QueueBound(set, to: rim.core)
            }
            (self.rim, self.set, self.definition) = (rim, set, definition)
        }

        /// Copies of what is in the store, as the next daemon gets them.
        func killed() throws -> [KeptDescriptor: Int32] {
            // It does no more.
            rim.core.queue.sync { set.value.hold(definition.id) }
            return try rim.store.mapValues { try Linux.duplicate($0).release() }
        }

        func close() { rim.core.queue.sync { set.value.close(definition.id) } }

        /// What is in the sockets of the connections that are in the store, in the order of their numbers.
        var unread: [Int] {
            let connections = rim.store.filter { $0.key.name.hasPrefix("connection-") }
            return connections.sorted { $0.key.name < $1.key.name }.compactMap { try? Linux.bytesAvailable($0.value) }
        }
    }

    private func with(
        _ family: Family = .unix, maxLength: Int = maxLength, _ body: (SocketAddress, Endpoint) throws -> Void
    ) throws {
        try Folder.with { folder in
            let address: SocketAddress
            switch family {
            case .unix: address = .unix(folder["socket"].pathBytes)
            case .ipv4:
                let free = try Linux.socket(for: .ipv4(address: [127, 0, 0, 1], port: 0), .stream)
                try Linux.bind(free.rawValue, .ipv4(address: [127, 0, 0, 1], port: 0))
                guard case .ipv4(let local, let port) = try Linux.localEndpoint(free.rawValue) else { return }
                free.close()
                address = .ipv4(address: local, port: port)
            }
            try body(address, Endpoint(address))
        }
    }

    private func client(_ endpoint: Endpoint) throws -> Int32 {
        let socket = try Linux.socket(for: endpoint, .stream, nonBlocking: false).release()
        try Linux.connect(socket, endpoint)
        return socket
    }

    /// Waits whenever the kernel has no room, as any client does.
    private func write(_ text: String, in size: Int, to socket: Int32) -> DispatchGroup {
        let (bytes, group) = (text.pathBytes, DispatchGroup())
        DispatchQueue(label: "test.client").async(group: group) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                try? Linux.writeAll(socket, bytes[start..<min(start + size, bytes.count)])
            }
        }
        return group
    }

    @Test(arguments: Family.allCases) func linesThatAreWrittenByteByByteCome(family: Family) throws {
        try with(family) { address, endpoint in
            let setup = try Setup(address, maxLength: Self.maxLength)
            try setup.rim.waitUntilArmed()
            let socket = try client(endpoint)
            // Of the third a byte is cut off; its writer is not to notice.
            let lines = [300, Self.maxLength, Self.maxLength + 1, 5, 3 * Self.maxLength, 300].map {
                String(repeating: "x", count: $0)
            }
            let group = write(lines.map { $0 + "\n" }.joined(), in: 1, to: socket)
            try wait(for: "all") { setup.rim.lines.count == lines.count }
            #expect(setup.rim.texts == lines.map { String($0.prefix(Self.maxLength)) })
            #expect(setup.rim.lines.map(\.isIncomplete) == [false, false, true, false, true, false])
            #expect(setup.rim.gap == 2)
            group.wait()
            FileDescriptor(owning: socket).close()
            setup.close()
        }
    }

    @Test(arguments: Family.allCases) func aLineThatNoSocketHoldsComes(family: Family) throws {
        try with(family) { address, endpoint in
            let setup = try Setup(address, maxLength: 12 << 20)
            try setup.rim.waitUntilArmed()
            let socket = try client(endpoint)
            let line = String(repeating: "0123456789abcdef", count: 512 << 10)
            let group = write("a\n" + line + "\nb\n", in: 1000, to: socket)
            try wait(for: "all") { setup.rim.lines.count == 3 }
            #expect(setup.rim.lines[1].bytes == line.pathBytes)
            #expect(setup.rim.texts.last == "b")
            group.wait()
            FileDescriptor(owning: socket).close()
            setup.close()
        }
    }

    /// In pieces of one byte there is no room for much more of it.
    private static let beginning = String(repeating: "x", count: 200)

    /// The beginning of a line is taken out of the socket; then `body`.
    private func withABeginning(
        keepsConnections: Int = 10, _ body: (Setup, SocketAddress, Int32) throws -> Void
    ) throws {
        try with { address, endpoint in
            let setup = try Setup(address, maxLength: Self.maxLength, keepsConnections: keepsConnections)
            try setup.rim.waitUntilArmed()
            let socket = try client(endpoint)
            defer { FileDescriptor(owning: socket).close() }
            try Linux.writeAll(socket, "one\n".utf8)
            write(Self.beginning, in: 1, to: socket).wait()
            try wait(for: "it to be taken out") {
                // Without a copy the writer tells.
                try setup.unread == [0] || Linux.bytesUnsent(socket) == 0
            }
            #expect(setup.rim.texts == ["one"])
            try body(setup, address, socket)
        }
    }

    /// Whether the kernel tells of Unix sockets how much room there is.
    private static let isRoomKnown: Bool = {
        guard let (one, two) = try? Linux.socketPair(.stream).split() else { return false }
        defer { for socket in [one, two] { FileDescriptor(owning: socket).close() } }
        return Linux.unreadShare(one) != nil
    }()

    /// A kill takes nothing of it.
    @Test(.enabled(if: isRoomKnown)) func whoHasRoomToGoOnLeavesTheBeginningOfALineInTheSocket() throws {
        try with { address, endpoint in
            let setup = try Setup(address, maxLength: Self.maxLength)
            try setup.rim.waitUntilArmed()
            let (one, two) = (try client(endpoint), try client(endpoint))
            defer { for socket in [one, two] { FileDescriptor(owning: socket).close() } }
            try Linux.writeAll(one, Self.beginning.utf8)
            try wait(for: "it to come") { setup.unread.first == 200 }
            write(Self.beginning, in: 1, to: two).wait()
            // It is looked at later than the first one.
            try wait(for: "the other one to be taken out") { setup.unread == [200, 0] }
            let next = try Setup(address, maxLength: Self.maxLength, stored: setup.killed())
            for socket in [one, two] { try Linux.writeAll(socket, "y\n".utf8) }
            try wait(for: "both") { next.rim.lines.count == 1 && next.rim.gap == 1 }
            #expect(next.rim.texts == [Self.beginning + "y"])
            for setup in [next, setup] { setup.close() }
        }
    }

    @Test func whatWasTakenOutOutlivesAReload() throws {
        try withABeginning { setup, _, socket in
            setup.rim.core.queue.sync {
                setup.set.value.close(setup.definition.id)
                setup.set.value.open(setup.definition, isDurable: true)
            }
            try Linux.writeAll(socket, "ing\nthree\n".utf8)
            try wait(for: "the others") { setup.rim.texts == ["one", Self.beginning + "ing", "three"] }
            // Also one that makes it a source that keeps nothing.
            write(Self.beginning, in: 1, to: socket).wait()
            try wait(for: "it to be taken out") { setup.unread == [0] }
            setup.rim.core.queue.sync {
                setup.set.value.close(setup.definition.id)
                setup.set.value.open(setup.definition)
            }
            try Linux.writeAll(socket, "the end\n".utf8)
            try wait(for: "the fourth") { setup.rim.texts.last == Self.beginning + "the end" }
            #expect(setup.rim.gap == 0 && setup.rim.warnings.isEmpty)
            setup.close()
        }
    }

    @Test func ofALineThatAKillTookTheBeginningOfTheEndIsNoLine() throws {
        try withABeginning { setup, address, socket in
            let next = try Setup(address, maxLength: Self.maxLength, stored: setup.killed())
            try Linux.writeAll(socket, "ing".utf8)
            try Linux.writeAll(socket, "\nthree\nfour".utf8)
            try wait(for: "the next line") { next.rim.texts == ["three"] }
            #expect(next.rim.gap == 1)
            #expect(next.rim.warnings == ["the beginning of a line is lost, and what follows of it is skipped"])
            try Linux.writeAll(socket, "\n".utf8)
            try wait(for: "the fourth") { next.rim.texts == ["three", "four"] }
            #expect(next.rim.gap == 1)
            for setup in [next, setup] { setup.close() }
        }
    }

    @Test func atAStopWhatWasTakenOutIsNamedOnce() throws {
        try withABeginning { setup, address, socket in
            setup.rim.core.queue.sync { setup.set.value.rest(setup.definition.id) }
            #expect(
                setup.rim.warnings == [
                    "the beginning of a line is lost (200 bytes): its end has not come in time"
                ])
            #expect(setup.rim.gap == 1)
            let next = try Setup(address, maxLength: Self.maxLength, stored: setup.killed())
            try Linux.writeAll(socket, "ing\nthree\n".utf8)
            try wait(for: "the next line") { next.rim.texts == ["three"] }
            #expect(next.rim.gap == 0 && next.rim.warnings.isEmpty)
            for setup in [next, setup] { setup.close() }
        }
    }

    /// Nothing keeps the connection.
    @Test func withoutAStoreWhatWasTakenOutIsNamedWithTheRest() throws {
        try withABeginning(keepsConnections: 0) { setup, _, socket in
            setup.rim.core.queue.sync {
                setup.set.value.hold(setup.definition.id)
                try? Linux.writeAll(socket, "ing\n".utf8)
                setup.set.value.rest(setup.definition.id)
            }
            setup.rim.core.queue.sync {}
            #expect(setup.rim.warnings == ["a connection is closed with 204 bytes that nobody has read"])
            #expect(setup.rim.gap == 1)
            setup.close()
        }
    }

    @Test func whoHangsUpLeavesAnIncompleteLine() throws {
        try with { address, endpoint in
            let setup = try Setup(address, maxLength: Self.maxLength, isCommittedByHand: true)
            try setup.rim.waitUntilArmed()
            let socket = try client(endpoint)
            write(Self.beginning, in: 1, to: socket).wait()
            try wait(for: "it to be taken out") { setup.unread == [0] }
            FileDescriptor(owning: socket).close()
            try wait(for: "the rest") { setup.rim.texts == [Self.beginning] }
            #expect(setup.rim.lines.map(\.isIncomplete) == [true])
            try wait(for: "it to be forgotten") {
                setup.rim.commit()
                return setup.rim.kept.contains { $0.hasPrefix("forget connection-") }
            }
            setup.close()
            setup.rim.commit()
            #expect(setup.rim.texts == [Self.beginning] && setup.rim.gap == 0)
        }
    }

    /// Of a line that was cut the rest is skipped by the next daemon, too.
    @Test func aKillBehindWhatWasCutMakesNoLineOfTheRest() throws {
        try with { address, endpoint in
            let setup = try Setup(address, maxLength: 4)
            try setup.rim.waitUntilArmed()
            let socket = try client(endpoint)
            defer { FileDescriptor(owning: socket).close() }
            try Linux.writeAll(socket, "abcdef".utf8)
            try wait(for: "the line") { setup.rim.texts == ["abcd"] && setup.unread == [0] }
            let next = try Setup(address, maxLength: 4, stored: setup.killed())
            try Linux.writeAll(socket, "ghi\nxy\n".utf8)
            try wait(for: "the next line") { next.rim.texts == ["xy"] }
            #expect(setup.rim.gap == 1 && next.rim.gap == 0)
            for setup in [next, setup] { setup.close() }
        }
    }
    @Test func whatWasToldAndNotTakenOutSaysThatItIsARepeatWhicheverConnectionItIsOf() throws {
        try with { address, endpoint in
            let setup = try Setup(address, maxLength: 100, isCommittedByHand: true)
            try setup.rim.waitUntilArmed()
            let sockets = [try client(endpoint), try client(endpoint)]
            defer { for socket in sockets { FileDescriptor(owning: socket).close() } }
            for (index, socket) in sockets.enumerated() {
                try Linux.writeAll(socket, "a\(index)\nb\(index)\n".utf8)
                try wait(for: "its lines") { setup.rim.lines.count == 2 * index + 2 }
            }
            let stored = try setup.killed()
            for socket in sockets { try Linux.writeAll(socket, "new\n".utf8) }
            let next = try Setup(address, maxLength: 100, stored: stored, position: setup.rim.position)
            let other = try client(endpoint)
            defer { FileDescriptor(owning: other).close() }
            // Of a connection that is new nothing can be a repeat.
            try Linux.writeAll(other, "a0\nb0\n".utf8)
            try wait(for: "all of it") { next.rim.lines.count == 8 }
            let repeated = next.rim.lines.filter(\.isRepeated).map { String(decoding: $0.bytes, as: UTF8.self) }
            #expect(repeated.sorted() == ["a0", "a1", "b0", "b1"])
            for setup in [next, setup] { setup.close() }
            setup.rim.commit()
        }
    }
}
