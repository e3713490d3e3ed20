import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A restart: descriptors that outlive the sources that had them.
@Suite("Adopted descriptors") struct AdoptedDescriptorTests {
    // MARK: Names

    @Test func namesSayWhatIsKept() {
        let source = SourceID(.descriptor, "a-1.b_C")
        let run = RunID(operation: 4711, attempt: 2, part: 3)
        let all: [KeptDescriptor] = [.inotify, .fifo(source), .socket(source), .pidfd(run), .output(run)]
        #expect(
            all.map(\.name) == ["inotify", "fifo-a-1.b_C", "socket-a-1.b_C", "pidfd-4711-2-3", "output-4711-2-3"])
        for kept in all { #expect(KeptDescriptor(name: kept.name) == kept) }
        for name in ["", "stored", "fifo", "pidfd-", "pidfd-1-2", "pidfd-01-2-3", "pidfd-1-2-x", "output-1-2-3-4"] {
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
}
