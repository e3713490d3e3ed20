import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A restart: descriptors that outlive the sources that had them.
@Suite("Adopted descriptors", .ownThread) struct AdoptedDescriptorTests {
    // MARK: Names

    @Test func namesSayWhatIsKept() {
        let source = SourceID(.descriptor, "a-1.b_C")
        let run = RunID(operation: 4711, attempt: 2, part: 3)
        let all: [KeptDescriptor] = [
            .inotify, .fifo(source), .socket(source), .connection(source, 12), .pidfd(run), .output(run),
        ]
        #expect(
            all.map(\.name) == [
                "inotify", "fifo-a-1.b_C", "socket-a-1.b_C", "connection-12-a-1.b_C", "pidfd-4711-2-3",
                "output-4711-2-3",
            ])
        for kept in all { #expect(KeptDescriptor(name: kept.name) == kept) }
        for name in [
            "", "stored", "fifo", "pidfd-", "pidfd-1-2", "pidfd-01-2-3", "pidfd-1-2-x", "output-1-2-3-4",
            "connection-a", "connection-01-a",
        ] {
            #expect(KeptDescriptor(name: name) == nil, "\(name)")
        }
    }

    // MARK: FIFOs and sockets

    private func definition(_ listener: DescriptorTrigger.Listener) -> SourceDefinition {
        SourceDefinition(
            id: SourceID(.descriptor, "d"), routes: [],
            trigger: .descriptor(DescriptorTrigger(listener: listener, framing: .line)))
    }

    private func sources(_ rim: Rim, stored: [KeptDescriptor: Int32] = [:]) throws -> QueueBound<SourceSet> {
        try rim.core.queue.sync {
            let set = try SourceSet(rim.parts.value.environment, stored: stored, ownSignals: []) { _ in }
            return QueueBound(set, to: rim.core)
        }
    }

    @Test func linesWrittenWhileNoDaemonRunsCome() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            try Linux.mkfifo(path, mode: 0o600)
            let stored = try Linux.open(path, [.reading, .nonBlocking]).release()
            // Nobody else has it open any more when the daemon comes.
            try folder.append("fifo", "one\ntwo\n")
            let definition = definition(.fifo(path))
            for isDurable in [false, true] {
                let rim = try Rim()
                let copy = try Linux.duplicate(stored).release()
                let set = try sources(rim, stored: [.fifo(definition.id): copy])
                rim.core.queue.sync { set.value.open(definition, isDurable: isDurable) }
                try wait(for: "the lines") { rim.texts == ["one", "two"] }
                try folder.append("fifo", "three\n")
                try wait(for: "the next writer") { rim.texts == ["one", "two", "three"] }
                rim.core.queue.sync { set.value.close(definition.id) }
                rim.core.queue.sync {}
                #expect(rim.kept.last == "forget fifo-d")
                try folder.append("fifo", "one\ntwo\n")
            }
            FileDescriptor(owning: stored).close()
        }
    }

    /// It is known later than everything else whose file it is to be.
    @Test func whatIsKeptWaitsForANameToBeLookedUp() throws {
        try Folder.with { folder in
            let (fifo, socket) = (folder["fifo"].pathBytes, folder["socket"].pathBytes)
            try Linux.mkfifo(fifo, mode: 0o600)
            let stored = try Linux.open(fifo, [.reading, .nonBlocking]).release()
            try folder.append("fifo", "one\n")
            let bound = try Linux.socket(for: .unix(socket), .datagram).release()
            try Linux.bind(bound, .unix(socket))
            try Linux.socket(for: .unix(socket), .datagram).use {
                try Linux.send($0, "two".pathBytes, to: .unix(socket))
            }
            let listeners: [(DescriptorTrigger.Listener, Int32, (SourceID) -> KeptDescriptor)] = [
                (.fifo(fifo), stored, { .fifo($0) }), (.datagram(.unix(socket)), bound, { .socket($0) }),
            ]
            for (listener, number, name) in listeners {
                let rim = try Rim()
                var trigger = DescriptorTrigger(listener: listener, framing: .line)
                trigger.user = "root"
                let definition = SourceDefinition(
                    id: SourceID(.descriptor, "d"), routes: [], trigger: .descriptor(trigger))
                let set = try sources(rim, stored: [name(definition.id): number])
                rim.core.queue.sync {
                    set.value.open(definition, isDurable: true)
                    set.value.closeUnclaimed()
                }
                try wait(for: "what was kept") { rim.lines.count == 1 }
                #expect(rim.kept.isEmpty, "\(rim.kept)")
                rim.core.queue.sync { set.value.close(definition.id) }
            }
        }
    }

    @Test func aStoredFifoThatStandsNoMoreAtThePathIsForgotten() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            try Linux.mkfifo(path, mode: 0o600)
            let stored = try Linux.open(path, [.reading, .nonBlocking]).release()
            try Linux.unlink(path)
            let rim = try Rim()
            let definition = definition(.fifo(path))
            let other = KeptDescriptor.socket(SourceID(.descriptor, "nobody"))
            let set = try sources(
                rim, stored: [.fifo(definition.id): stored, other: try Linux.open("/dev/null").release()])
            rim.core.queue.sync {
                set.value.open(definition)
                set.value.closeUnclaimed()
            }
            #expect(rim.kept == ["forget fifo-d", "keep fifo-d true", "forget socket-nobody"])
            try folder.append("fifo", "line\n")
            try wait(for: "the line") { rim.texts == ["line"] }
            rim.core.queue.sync { set.value.close(definition.id) }
        }
    }

    @Test func datagramsSentWhileNoDaemonRunsCome() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let endpoint = Endpoint.unix(path)
            let stored = try Linux.socket(for: endpoint, .datagram).release()
            try Linux.bind(stored, endpoint)
            try Linux.socket(for: endpoint, .datagram).use { try Linux.send($0, "early".pathBytes, to: endpoint) }
            let rim = try Rim()
            let definition = definition(.datagram(.unix(path)))
            let set = try sources(rim, stored: [.socket(definition.id): stored])
            rim.core.queue.sync { set.value.open(definition) }
            try wait(for: "it") { rim.texts == ["early"] }
            // A reload: what is sent in between is not lost, and the file stays.
            rim.core.queue.sync {
                set.value.close(definition.id)
                try? Linux.socket(for: endpoint, .datagram).use { try Linux.send($0, "late".pathBytes, to: endpoint) }
                set.value.open(definition, isDurable: true)
            }
            try wait(for: "the other one") { rim.texts == ["early", "late"] }
            rim.core.queue.sync { set.value.close(definition.id) }
            rim.core.queue.sync {}
            #expect(!folder.exists("socket"))
        }
    }

    @Test func aReloadTellsNothingTwiceAndLosesNothing() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            let rim = try Rim(isCommittedByHand: true)
            let definition = definition(.fifo(path))
            let set = try sources(rim)
            rim.core.queue.sync { set.value.open(definition, isDurable: true) }
            try folder.append("fifo", "one\ntwo\n")
            try wait(for: "two lines") { rim.lines.count == 2 }
            rim.core.queue.sync {
                set.value.close(definition.id)
                set.value.open(definition, isDurable: false)
            }
            try folder.append("fifo", "three\n")
            rim.core.queue.sync {}
            #expect(rim.lines.count == 2, "what was told is not yet consumed")
            rim.commit()
            try wait(for: "the third") { rim.lines.count == 3 }
            try folder.append("fifo", "four\n")
            try wait(for: "the fourth") { rim.lines.count == 4 }
            #expect(rim.texts == ["one", "two", "three", "four"])
            rim.core.queue.sync { set.value.close(definition.id) }
        }
    }

    // MARK: Connections

    private func connect(_ path: [UInt8], _ text: String) throws {
        try Linux.socket(for: .unix(path), .stream, nonBlocking: false).use { socket in
            try Linux.connect(socket, .unix(path))
            try Linux.writeAll(socket, text.utf8)
        }
    }

    /// Copies of what is in the store, as the next daemon gets them.
    private func stored(_ rim: Rim) throws -> [KeptDescriptor: Int32] {
        try rim.store.mapValues { try Linux.duplicate($0).release() }
    }

    @Test func whatNobodyHasReadOfAConnectionIsReadByTheNextDaemonFromThatByteOn() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let definition = definition(.stream(.unix(path)))
            let first = try Rim(isCommittedByHand: true)
            let set = try sources(first)
            // As a queue does that is full after two.
            first.core.queue.sync {
                set.value.open(definition, isDurable: true)
                first.parts.value.safety.onEvent = { if $0 == 2 { set.value.hold(definition.id) } }
            }
            try connect(path, "one\ntwo\nthree\nfour")
            try wait(for: "two lines") { first.texts == ["one", "two"] }
            first.commit()
            // It is killed here.
            let second = try Rim()
            let next = try sources(second, stored: try stored(first))
            second.core.queue.sync {
                next.value.open(definition, isDurable: true)
                next.value.closeUnclaimed()
            }
            try wait(for: "the others") { second.texts == ["three", "four"] }
            #expect(second.lines.allSatisfy { $0.peer?.hasPrefix("pid=\(Linux.processID),") == true })
            try wait(for: "it to be forgotten") { second.kept.contains { $0.hasPrefix("forget connection-") } }
            try connect(path, "five\n")
            try wait(for: "the fifth") { second.texts.last == "five" }
            second.core.queue.sync { next.value.close(definition.id) }
            #expect(second.gap == 0)
        }
    }

    @Test func aReloadOfASourceLosesNothingOfItsConnections() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let definition = definition(.stream(.unix(path)))
            let rim = try Rim()
            let set = try sources(rim)
            rim.core.queue.sync { set.value.open(definition, isDurable: true) }
            let socket = try Linux.socket(for: .unix(path), .stream, nonBlocking: false).release()
            try Linux.connect(socket, .unix(path))
            try Linux.writeAll(socket, "one\ntw".utf8)
            try wait(for: "one") { rim.texts == ["one"] }
            rim.core.queue.sync {
                set.value.close(definition.id)
                set.value.open(definition, isDurable: true)
            }
            try Linux.writeAll(socket, "o\n".utf8)
            FileDescriptor(owning: socket).close()
            try wait(for: "two") { rim.texts == ["one", "two"] }
            rim.core.queue.sync { set.value.close(definition.id) }
        }
    }

    @Test func whatIsClosedUnreadIsNamed() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let definition = definition(.stream(.unix(path)))
            let rim = try Rim()
            let set = try sources(rim)
            rim.core.queue.sync {
                set.value.open(definition, isDurable: true)
                rim.parts.value.safety.onEvent = { _ in set.value.hold(definition.id) }
            }
            try connect(path, "one\ntwo\n")
            try wait(for: "one") { rim.texts == ["one"] }
            try connect(path, "late\n")
            try connect(path, "")
            rim.core.queue.sync { set.value.close(definition.id) }
            rim.core.queue.sync {}
            #expect(
                rim.warnings.sorted() == [
                    "a connection is closed with 4 bytes that nobody has read",
                    "closing its socket; 1 pending connection had sent data that was never read",
                ])
            #expect(rim.gap == 2)
        }
    }

    /// What is in the store stays as it is; what had no place in it is named.
    @Test(arguments: [1, 0]) func whatRestsForTheNextDaemonIsLeftAlone(room: Int) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let definition = definition(.stream(.unix(path)))
            let rim = try Rim(keepsConnections: room)
            let set = try sources(rim)
            rim.core.queue.sync {
                set.value.open(definition, isDurable: true)
                rim.parts.value.safety.onEvent = { _ in set.value.hold(definition.id) }
            }
            try connect(path, "one\ntwo\n")
            try wait(for: "one") { rim.texts == ["one"] }
            rim.core.queue.sync { set.value.rest(definition.id) }
            rim.core.queue.sync {}
            #expect(rim.warnings.count == 1 - room)
            #expect(rim.gap == 1 - room)
            let unread = rim.store.filter { $0.key.name.hasPrefix("connection-") }.values.map {
                try? Linux.bytesAvailable($0)
            }
            #expect(unread == Array(repeating: 4, count: room))
            rim.core.queue.sync { set.value.close(definition.id) }
        }
    }
}
