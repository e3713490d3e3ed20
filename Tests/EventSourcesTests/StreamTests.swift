import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

import struct WatchFile.Command

@testable import EventSources

@Suite("Connections", .ownThread) struct StreamTests {
    private func trigger(_ path: [UInt8], _ change: (inout DescriptorTrigger) -> Void = { _ in }) -> DescriptorTrigger {
        var trigger = DescriptorTrigger(listener: .stream(.unix(path)), framing: .line)
        change(&trigger)
        return trigger
    }

    private func connect(_ path: [UInt8], _ type: SocketType = .stream) throws -> Int32 {
        let socket = try Linux.socket(for: .unix(path), type, nonBlocking: false).release()
        try Linux.connect(socket, .unix(path))
        return socket
    }

    private func close(_ number: Int32) { FileDescriptor(owning: number).close() }

    @Test(arguments: [false, true]) func theLinesOfEachConnectionAreItsOwn(isDurable: Bool) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(path), $1, isDurable: isDurable)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let (one, two) = (try connect(path), try connect(path))
                try Linux.writeAll(one, "a".utf8)
                try Linux.writeAll(two, "x\ny".utf8)
                try wait(for: "x") { rim.texts == ["x"] }
                try Linux.writeAll(one, "b\nrest".utf8)
                try wait(for: "ab") { rim.texts == ["x", "ab"] }
                close(one)
                try wait(for: "the rest of one") { rim.texts == ["x", "ab", "rest"] }
                close(two)
                try wait(for: "the rest of two") { rim.texts == ["x", "ab", "rest", "y"] }
                #expect(rim.lines.map(\.isIncomplete) == [false, false, true, true])
                #expect(rim.lines.allSatisfy { $0.peer == "pid=\(getpid()),uid=\(getuid()),gid=\(getgid())" })
            }
        }
    }

    @Test func whoComesBeyondMaxConnectionsWaits() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(path) { $0.maxConnections = 2 }, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                #expect(rim.on(source) { $0.connectionLimit } == nil)
                var all: [Int32] = []
                for number in 1...3 {
                    if number == 3 {
                        try wait(for: "two") { rim.lines.count == 2 }
                        #expect(rim.on(source) { $0.connectionLimit }?.hasWaiting == false)
                    }
                    let socket = try connect(path)
                    try Linux.writeAll(socket, "\(number)\n".utf8)
                    all.append(socket)
                }
                rim.core.queue.sync {}
                #expect(rim.texts.sorted() == ["1", "2"])
                let limit = try #require(rim.on(source) { $0.connectionLimit })
                #expect(limit.open == 2 && limit.limit == 2 && limit.hasWaiting)
                rim.on(source) { $0.hold() }
                #expect(rim.on(source) { $0.connectionLimit } == nil, "it is something else that they wait for")
                rim.on(source) { $0.release() }
                close(all[0])
                try wait(for: "the third") { rim.texts.last == "3" }
                #expect(rim.on(source) { $0.connectionLimit }?.hasWaiting == false)
                close(all[1])
                try wait(for: "room") { rim.on(source) { $0.connectionLimit } == nil }
                close(all[2])
            }
        }
    }

    @Test func packetsKeepTheirBounds() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            var trigger = DescriptorTrigger(listener: .sequentialPacket(.unix(path)), framing: .datagram)
            trigger.maxLength = 4
            try Rim.with {
                StreamSource($0, .unix(path), .sequentialPacket, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let socket = try connect(path, .sequentialPacket)
                try Linux.writeAll(socket, "a\nb".utf8)
                try Linux.writeAll(socket, "abcdef".utf8)
                try wait(for: "both") { rim.texts == ["a\nb", "abcd"] }
                #expect(rim.lines.map(\.isIncomplete) == [false, true])
                #expect(rim.lines.map(\.form) == [.datagram, .datagram])
                close(socket)
            }
        }
    }

    @Test func heldNobodyIsReadAndNobodyLetIn() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(path), $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                let one = try connect(path)
                try Linux.writeAll(one, "1\n".utf8)
                try wait(for: "one") { rim.lines.count == 1 }
                rim.on(source) { $0.hold() }
                let two = try connect(path)
                try Linux.writeAll(one, "2\n".utf8)
                try Linux.writeAll(two, "3\n".utf8)
                rim.on(source) { _ in }
                #expect(rim.lines.count == 1)
                rim.on(source) { $0.release() }
                try wait(for: "the others") { Set(rim.texts) == ["1", "2", "3"] }
                close(one)
                close(two)
            }
        }
    }

    @Test func aSocketFileThatIsTakenAwayIsMadeAnew() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(path) { $0.mode = 0o640 }, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try Linux.unlink(path)
                try wait(for: "it to be there again") {
                    (try? Linux.lstat(path))?.kind == .socket && rim.condition == .armed
                }
                #expect(try Linux.lstat(path).permissions == 0o640)
                let socket = try connect(path)
                try Linux.writeAll(socket, "line\n".utf8)
                try wait(for: "the line") { rim.texts == ["line"] }
                close(socket)
            }
        }
    }

    /// As many as are allowed; the others are named.
    @Test func whoWaitsWhenTheSocketFileIsTakenAwayIsLetIn() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(path) { $0.maxConnections = 2 }, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                rim.on(source) { $0.hold() }
                let all = try (1...3).map { number in
                    let socket = try connect(path)
                    try Linux.writeAll(socket, "\(number)\n".utf8)
                    return socket
                }
                try Linux.unlink(path)
                try wait(for: "it to be there again") {
                    (try? Linux.lstat(path))?.kind == .socket && rim.condition == .armed
                }
                rim.on(source) { $0.release() }
                try wait(for: "two") { rim.lines.count == 2 }
                #expect(Set(rim.texts) == ["1", "2"])
                #expect(rim.gap == 1)
                #expect(
                    rim.warnings == ["closing its socket; 1 pending connection had sent data that was never read"])
                for socket in all { close(socket) }
            }
        }
    }

    @Test func anAcceptedConnectionIsOneEventAndClosedWhenNobodyWantsIt() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource(
                    $0, .unix(path), .stream, trigger(path) { ($0.accepts, $0.maxConnections) = (true, 1) }, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let (one, two) = (try connect(path), try connect(path))
                try wait(for: "the first") { rim.lines.count == 1 }
                let line = try #require(rim.lines.first)
                let number = try #require(line.handover)
                #expect(line.form == .connection)
                rim.core.queue.sync {
                    let handovers = rim.parts.value.environment.handovers
                    #expect(handovers.count == 1)
                    handovers.accepted(number, deliveries: 1)
                    handovers.settle(number)
                    #expect(handovers.count == 1)
                    handovers.ended(number, hasFailed: false)
                }
                #expect(try Linux.read(one, atMost: 1).isEmpty, "it is closed")
                try wait(for: "the second") { rim.lines.count == 2 }
                close(one)
                close(two)
            }
        }
    }

    @Test func aFifoThatIsReplacedIsMadeAnewAndWhatWasInItComes() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            try Rim.with {
                FIFOSource($0, path: path, DescriptorTrigger(listener: .fifo(path), framing: .line), $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try folder.append("fifo", "one\n")
                try wait(for: "one") { rim.texts == ["one"] }
                try Linux.unlink(path)
                try wait(for: "it to be there again") {
                    (try? Linux.lstat(path))?.kind == .fifo && rim.condition == .armed
                }
                try folder.append("fifo", "two\n")
                try wait(for: "two") { rim.texts == ["one", "two"] }
            }
        }
    }

    @Test(arguments: [false, true]) func linesAreSiftedAndTheRestIsCounted(isDurable: Bool) throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            var trigger = DescriptorTrigger(listener: .fifo(path), framing: .line)
            trigger.include = ["^([a-z]+)=([0-9]+)$".utf8, "^err".utf8].map { Array($0) }
            trigger.exclude = [Array("secret".utf8)]
            try Rim.with {
                FIFOSource($0, path: path, trigger, $1, isDurable: isDurable)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try folder.append("fifo", "a=1\nnothing\nerr x\nerr secret\nbc=23\n")
                try wait(for: "three") { rim.lines.count == 3 }
                #expect(rim.texts == ["a=1", "err x", "bc=23"])
                #expect(
                    rim.lines.map { $0.captures.map { String(decoding: $0, as: UTF8.self) } } == [
                        ["a", "1"], [], ["bc", "23"],
                    ])
                #expect(rim.filtered == 2)
            }
        }
    }

    @Test func chunksAreWhatOneReadGives() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            let trigger = DescriptorTrigger(listener: .fifo(path), framing: .chunk, maxLength: 4)
            try Rim.with {
                FIFOSource($0, path: path, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try folder.append("fifo", "a\nbcdef")
                try wait(for: "both") { rim.texts == ["a\nbc", "def"] }
                #expect(rim.lines.allSatisfy { $0.form == .chunk && !$0.isIncomplete })
            }
        }
    }

    @Test func aCommandIsStartedAgainAndKilledWithItsSource() throws {
        try Folder.with { folder in
            let pid = folder["pid"]
            let words = [
                "/bin/sh", "-c", "echo $$ >>\(pid); echo line; test $(wc -l <\(pid)) -lt 2 || exec sleep 1000",
            ]
            let command = Command(
                words: words.map { .template(Template(parts: [.literal(Array($0.utf8))])) })
            let trigger = DescriptorTrigger(listener: .command(command), framing: .line)
            try Rim.with {
                CommandSource($0, command, trigger, $1)
            } then: { rim, source in
                try wait(for: "two lines") { rim.texts == ["line", "line"] }
                #expect(rim.inputs.contains { if case .source(_, .failed) = $0 { true } else { false } })
                rim.on(source) { $0.close() }
                let last = try #require(Int32(folder.lines("pid").last ?? ""))
                try wait(for: "it to be killed") { (try? Linux.pidfdOpen(last))?.close() == nil }
            }
        }
    }
}
