import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// `Framing=ready`, and the other end goes.
@Suite("Descriptors that are ready and hang up", .ownThread) struct ReadyHangUpTests {
    private func with(
        _ listener: DescriptorTrigger.Listener, _ readiness: DescriptorTrigger.Readiness = .readable,
        passed: [String: [Int32]] = [:], _ body: (Rim) throws -> Void
    ) throws {
        var trigger = DescriptorTrigger(listener: listener, framing: .ready)
        trigger.readiness = readiness
        try Rim.with(trigger, passed: passed, body)
    }

    /// Why it failed, each time.
    private func failures(_ rim: Rim) -> [String] {
        rim.inputs.compactMap { if case .source(_, .failed(let reason, _)) = $0 { reason } else { nil } }
    }

    /// It is tried again after 1 s, and after 2 s; not at once, over and over.
    private func expectBackOff(_ rim: Rim) throws {
        try wait(for: "a second try") { failures(rim).count == 2 }
        #expect(failures(rim) == ["its other end has gone", "its other end has gone"])
        #expect(rim.inputs.count == 4, "armed and failed, twice: \(rim.inputs)")
    }

    /// Nobody wants the descriptor that was handed over last.
    private func end(_ rim: Rim, _ handover: Int) throws {
        try wait(for: "\(handover) handovers") { rim.lines.count == handover }
        let number = try #require(rim.lines.last?.handover)
        rim.core.queue.sync {
            let handovers = rim.parts.value.environment.handovers
            handovers.accepted(number, deliveries: 1)
            handovers.settle(number)
            handovers.ended(number, hasFailed: false)
        }
    }

    @Test func aPassedPipeThatNobodyWritesIsTriedAgainAfterAWhile() throws {
        let (read, write) = try Linux.pipe().split()
        FileDescriptor(owning: write).close()
        defer { FileDescriptor(owning: read).close() }
        try with(.passed("in"), passed: ["in": [read]]) { try expectBackOff($0) }
    }

    @Test func aFullPipeThatNobodyReadsIsTriedAgainAfterAWhile() throws {
        let (read, write) = try Linux.pipe(nonBlocking: true).split()
        defer { FileDescriptor(owning: write).close() }
        let page = [UInt8](repeating: 1, count: 4096)
        while (try? page.withUnsafeBytes { bytes throws(SystemError) in try Linux.write(write, bytes) }) != nil {}
        FileDescriptor(owning: read).close()
        try with(.passed("out"), .writable, passed: ["out": [write]]) { try expectBackOff($0) }
    }

    @Test func aPassedConnectionWhosePeerHasGoneIsTriedAgainAfterAWhile() throws {
        let (own, other) = try Linux.socketPair(.stream).split()
        try Linux.writeAll(other, "last".utf8)
        FileDescriptor(owning: other).close()
        defer { FileDescriptor(owning: own).close() }
        try with(.passed("in"), passed: ["in": [own]]) { rim in
            // What is left in it comes first.
            try wait(for: "it") { rim.lines.count == 1 }
            _ = try Linux.read(own, atMost: 4)
            try end(rim, 1)
            try wait(for: "the end to be seen") { failures(rim) == ["its other end has gone"] }
            #expect(rim.lines.count == 1)
        }
    }

    @Test func theEndThatAPeerLeavesIsHandedOverAndThenAfterAWhile() throws {
        let (own, other) = try Linux.socketPair(.stream).split()
        try Linux.shutdownWriting(other)
        defer { for number in [own, other] { FileDescriptor(owning: number).close() } }
        try with(.passed("in"), passed: ["in": [own]]) { rim in
            try end(rim, 1)
            try end(rim, 2)
            let waits = rim.inputs.compactMap { if case .source(_, .waiting(let reason)) = $0 { reason } else { nil } }
            #expect(
                waits == ["unchanged after 1 run; looking again in 1s", "unchanged after 2 runs; looking again in 2s"])
        }
    }

    // MARK: Terminals

    /// A terminal that can be unplugged: its other end, and its path.
    private func terminal() throws -> (master: Int32, path: String) {
        let master = try Linux.open("/dev/ptmx", [.readingAndWriting, .noControllingTerminal]).release()
        var (unlocked, number) = (Int32(0), Int32(-1))
        // TIOCSPTLCK, TIOCGPTN.
        #expect(ioctl(master, 0x4004_5431, &unlocked) == 0)
        #expect(ioctl(master, 0x8004_5430, &number) == 0)
        return (master, "/dev/pts/\(number)")
    }

    @Test func aTerminalThatIsUnpluggedIsOpenedAnewAfterAWhile() throws {
        try Folder.with { folder in
            let path = folder["tty"]
            let (first, second) = (try terminal(), try terminal())
            try Linux.symlink(path, to: first.path)
            try with(.special(path.pathBytes)) { rim in
                try rim.waitUntilArmed()
                FileDescriptor(owning: first.master).close()
                try wait(for: "it to be seen") { failures(rim) == ["its other end has gone"] }
                #expect(rim.lines.isEmpty, "there is nothing to be read")
                // Another one is plugged in.
                try Linux.unlink(path)
                try Linux.symlink(path, to: second.path)
                try Linux.writeAll(second.master, "line\n".utf8)
                try wait(for: "the line") { rim.lines.count == 1 }
                FileDescriptor(owning: second.master).close()
                // A program that another test starts just now may have the master open for a moment.
                try wait(for: "its other end to go") {
                    guard let other = try? Linux.open(second.path, [.reading, .noControllingTerminal]) else {
                        return true
                    }
                    other.close()
                    return false
                }
                try end(rim, 1)
                try wait(for: "it to be seen") { failures(rim).count == 2 }
                guard case .failed(_, let next?) = rim.condition else { return #expect(Bool(false)) }
                #expect(next - Linux.now(.realtime) <= 1_000_000, "it begins with a second anew")
            }
        }
    }
}
