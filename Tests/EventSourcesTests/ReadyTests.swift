import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// `Framing=ready`; the handler is played by the test.
@Suite("Descriptors that are ready", .ownThread) struct ReadyTests {
    /// A source that has been told of, and what it has handed over.
    private struct Setup {
        var rim: Rim
        var handed: [UInt64] { rim.lines.compactMap(\.handover) }

        func waitForHandover(_ count: Int) throws -> UInt64 {
            try wait(for: "\(count) handovers, got \(handed.count)") { handed.count >= count }
            #expect(handed.count == count && rim.lines.allSatisfy { $0.form == .ready })
            return handed[count - 1]
        }

        /// A handler gets the descriptor, does this with it, and ends.
        func handle(_ number: UInt64, hasFailed: Bool = false, _ body: (Int32) throws -> Void = { _ in }) throws {
            let handover = try rim.core.queue.sync {
                let handovers = rim.parts.value.environment.handovers
                handovers.accepted(number, deliveries: 1)
                handovers.settle(number)
                return try #require(try handovers.duplicate(number)?.release())
            }
            defer { FileDescriptor(owning: handover).close() }
            try body(handover)
            rim.core.queue.sync { rim.parts.value.environment.handovers.ended(number, hasFailed: hasFailed) }
        }

        /// The reasons why it has waited, the first one first.
        var waits: [String] {
            rim.inputs.compactMap { if case .source(_, .waiting(let reason)) = $0 { reason } else { nil } }
        }
    }

    private func with(
        _ listener: DescriptorTrigger.Listener, _ readiness: DescriptorTrigger.Readiness = .writable,
        passed: [String: [Int32]] = [:], _ body: (Setup) throws -> Void
    ) throws {
        var trigger = DescriptorTrigger(listener: listener, framing: .ready)
        trigger.readiness = readiness
        try Rim.with(trigger, passed: passed) { try body(Setup(rim: $0)) }
    }

    /// - Returns: the bytes that it took.
    private func fill(_ number: Int32) throws -> Int {
        try Linux.setNonBlocking(number)
        let block = [UInt8](repeating: 1, count: 4096)
        var taken = 0
        while let count = try? block.withUnsafeBytes({ bytes throws(SystemError) in try Linux.write(number, bytes) }) {
            taken += count
        }
        return taken
    }

    @Test func aFifoIsHandedOverWhileThereIsRoomInIt() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            try with(.fifo(path)) { setup in
                // Nobody reads it yet: there is room all the same, and what is written stays.
                try setup.handle(setup.waitForHandover(1)) { try Linux.writeAll($0, "some".utf8) }
                var size = 0
                try setup.handle(setup.waitForHandover(2)) { size = try fill($0) }
                try wait(for: "it to be armed") { setup.rim.condition == .armed }
                setup.rim.core.queue.sync {}
                #expect(setup.handed.count == 2, "it is full")
                let reader = try Linux.open(path, [.reading, .nonBlocking]).release()
                defer { FileDescriptor(owning: reader).close() }
                #expect(try Linux.bytesAvailable(reader) == 4 + size)
                _ = try Linux.read(reader, atMost: 2 * 4096)
                try setup.handle(setup.waitForHandover(3)) { try Linux.writeAll($0, "more".utf8) }
                _ = try setup.waitForHandover(4)
            }
        }
    }

    @Test func whoWritesNothingOrFailsIsTriedAgainAfterAWhile() throws {
        try Folder.with { folder in
            try with(.fifo(folder["fifo"].pathBytes)) { setup in
                try setup.handle(setup.waitForHandover(1))
                #expect(setup.waits == ["unchanged after 1 run; looking again in 1s"])
                try setup.handle(setup.waitForHandover(2), hasFailed: true) { try Linux.writeAll($0, "some".utf8) }
                #expect(setup.waits.last == "unchanged after 2 runs; looking again in 2s")
                try setup.handle(setup.waitForHandover(3)) { try Linux.writeAll($0, "more".utf8) }
                // It begins anew.
                try setup.handle(setup.waitForHandover(4))
                #expect(setup.waits.count == 3)
                #expect(setup.waits.last == "unchanged after 1 run; looking again in 1s")
            }
        }
    }

    @Test(arguments: [SocketType.stream, .datagram]) func aSocketThatWasPassedIsToo(type: SocketType) throws {
        let (own, other) = try Linux.socketPair(type).split()
        defer { for number in [own, other] { FileDescriptor(owning: number).close() } }
        try with(.passed("out"), passed: ["out": [own]]) { setup in
            try setup.handle(setup.waitForHandover(1))
            #expect(setup.waits == ["unchanged after 1 run; looking again in 1s"])
            try setup.handle(setup.waitForHandover(2)) { try Linux.writeAll($0, "some".utf8) }
            var size = 0
            try setup.handle(setup.waitForHandover(3)) { size = try fill($0) }
            #expect(size > 0)
            try wait(for: "it to be armed") { setup.rim.condition == .armed }
            setup.rim.core.queue.sync {}
            #expect(setup.handed.count == 3, "it is full")
            try Linux.setNonBlocking(other)
            while (try? Linux.read(other, atMost: 1 << 16)) != nil {}
            _ = try setup.waitForHandover(4)
        }
    }

    @Test func whatListensIsRefused() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let listener = try Linux.socket(for: .unix(path), .stream).release()
            defer { FileDescriptor(owning: listener).close() }
            try Linux.bind(listener, .unix(path))
            try Linux.listen(listener, backlog: 1)
            try with(.passed("in"), passed: ["in": [listener]]) { setup in
                guard case .failed(let reason, _)? = setup.rim.condition else {
                    return #expect(Bool(false), "\(String(describing: setup.rim.condition))")
                }
                #expect(reason.contains("listens, and can never be written"))
            }
        }
    }

    /// For reading alone it could be opened, and would be waited for in vain.
    @Test func whatCannotBeOpenedForWritingIsSaid() throws {
        try Folder.with { folder in
            try with(.special(folder.path.pathBytes)) { setup in
                guard case .failed(let reason, _)? = setup.rim.condition else {
                    return #expect(Bool(false), "\(String(describing: setup.rim.condition))")
                }
                #expect(reason.hasPrefix("open "), "\(reason)")
            }
        }
    }

    // MARK: Files that are taken away

    /// Somebody comes, writes, and goes: once the FIFO is there.
    private func write(_ text: String, to path: String) throws {
        try wait(for: "somebody to read the FIFO") {
            guard let number = (try? Linux.open(path, [.writing, .nonBlocking]))?.release() else { return false }
            defer { FileDescriptor(owning: number).close() }
            try Linux.writeAll(number, text.utf8)
            return true
        }
    }

    private func read(_ setup: Setup, _ count: Int) throws -> String {
        var text = ""
        try setup.handle(setup.waitForHandover(count)) {
            text = String(decoding: try Linux.read($0, atMost: 100), as: UTF8.self)
        }
        return text
    }

    @Test(arguments: [false, true]) func aFifoThatIsTakenAwayOrReplacedIsNoticed(isReplaced: Bool) throws {
        try Folder.with { folder in
            let path = folder["fifo"]
            try with(.fifo(path.pathBytes), .readable) { setup in
                try write("one", to: path)
                // Without a hang-up nothing but the file tells.
                let writer = try Linux.open(path, [.writing, .nonBlocking]).release()
                defer { FileDescriptor(owning: writer).close() }
                #expect(try read(setup, 1) == "one")
                if isReplaced {
                    try Linux.mkfifo(folder["new"], mode: 0o600)
                    try Linux.rename(folder["new"], to: path)
                } else {
                    try Linux.unlink(path)
                }
                try write("two", to: path)
                #expect(try read(setup, 2) == "two")
                try wait(for: "it to be armed") { setup.rim.condition == .armed }
            }
        }
    }

    @Test func whatIsInAFifoThatIsTakenAwayIsHandedOverFirst() throws {
        try Folder.with { folder in
            let path = folder["fifo"]
            try with(.fifo(path.pathBytes), .readable) { setup in
                try write("one", to: path)
                let first = try setup.waitForHandover(1)
                try Linux.unlink(path)
                try wait(for: "it to be seen") {
                    setup.waits.last?.contains("makes it again when its run has ended") == true
                }
                #expect(!folder.exists("fifo"))
                try setup.handle(first) { _ = try Linux.read($0, atMost: 1) }
                #expect(setup.waits.last?.contains("what is in it is read first") == true)
                #expect(try read(setup, 2) == "ne")
                try write("two", to: path)
                #expect(try read(setup, 3) == "two")
            }
        }
    }

    @Test(arguments: [SocketType.stream, .datagram]) func aSocketThatIsTakenAwayIsMadeAnew(type: SocketType) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try with(type == .stream ? .stream(.unix(path)) : .datagram(.unix(path)), .readable) { setup in
                try setup.rim.waitUntilArmed()
                try Linux.unlink(path)
                let client = try Linux.socket(for: .unix(path), type).release()
                defer { FileDescriptor(owning: client).close() }
                try wait(for: "somebody to listen") { (try? Linux.connect(client, .unix(path))) != nil }
                if type == .datagram { try Linux.writeAll(client, "one".utf8) }
                _ = try setup.waitForHandover(1)
            }
        }
    }
}
