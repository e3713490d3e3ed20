import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Lines of FIFOs, and datagrams.
@Suite("Descriptors, end to end", .ownThread) struct DescriptorTests {
    private static let fifo = """
        [Descriptor lines]
        ListenFIFO=@/fifo
        Exec=@/record %{line}
        Queue=main

        """

    private func write(_ path: String, _ bytes: [UInt8]) throws {
        try Linux.open(path, .writing).use { descriptor throws(SystemError) in
            try Linux.writeAll(descriptor, bytes)
        }
    }

    @Test func linesArriveInOrderByteExactAndTheRestAtTheEndOfTheWriter() throws {
        try Watchd.run(Self.fifo) { watchd in
            let lines: [[UInt8]] = [
                "one".pathBytes, [], "%p '\"$x".pathBytes, [0xFF, 0x00 + 1, 0x80], "half".pathBytes,
            ]
            try write(watchd.folder["fifo"], Array(lines.joined(separator: [0x0A])))
            let runs = try watchd.waitForRuns(5)
            #expect(runs.map(\.arguments) == lines.map { [$0] })
            #expect(runs.map { $0.bytes("WATCHD_LINE") } == lines.map { $0 })
            #expect(runs[3].inputText.contains("\"line_base64\":\"/wGA\""))
            #expect(!runs[0].inputText.contains("line_base64"))
            #expect(runs[4].inputText.contains("\"incomplete\":true"))
            #expect(!runs[0].inputText.contains("incomplete"))
        }
    }

    @Test func aWriterThatDiesInTheMiddleOfALineDoesNotEndTheSource() throws {
        try Watchd.run(Self.fifo) { watchd in
            let fifo = watchd.folder["fifo"]
            for round in 1...3 {
                let script = "exec >'\(fifo)'; printf 'whole \(round)\\nhalf \(round)'; kill -9 $$"
                _ = try Program.run(["sh", "-c", script])
                _ = try watchd.waitForRuns(2 * round)
            }
            let said = try Recorded.all(in: watchd.folder).map { String(decoding: $0.arguments[0], as: UTF8.self) }
            #expect(said == ["whole 1", "half 1", "whole 2", "half 2", "whole 3", "half 3"])
        }
    }

    @Test func aLineOfTenMebibytesIsCutAndNoneIsMadeTwo() throws {
        let text = """
            [Descriptor lines]
            ListenFIFO=@/fifo
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:@/copy
            Queue=main
            """
        try Watchd.run(text) { watchd in
            let size = 10 << 20
            try write(
                watchd.folder["fifo"], Array(repeating: UInt8(ascii: "x"), count: size) + [0x0A] + "end\n".pathBytes)
            try wait(for: "the line after it", seconds: 120) { watchd.folder.lines("copy").last == "end" }
            try watchd.waitUntilIdle()
            let lines = watchd.folder.lines("copy")
            #expect(lines.map(\.utf8.count) == [64 << 10, 3])
            #expect(try watchd.source("lines").counters.gap == 1)
            #expect(try watchd.status().memoryBytes < 200 << 20)
        }
    }

    @Test func aFIFOIsMadeWithItsModeAndAFileInItsPlaceIsAProblemThatHeals() throws {
        let text = Self.fifo.replacing("Exec=", with: "SocketMode=0640\nExec=")
        try Watchd.run(text, prepare: { try $0.write("fifo", "") }) { watchd in
            #expect(try watchd.source("lines").state == .failed)
            #expect(try watchd.status().problems.first?.object == "descriptor/lines")
            try Linux.unlink(watchd.folder["fifo"])
            try wait(for: "the source to heal") { try watchd.source("lines").state == .armed }
            let status = try Linux.lstat(watchd.folder["fifo"])
            #expect(status.kind == .fifo)
            #expect(status.permissions == 0o640)
        }
    }

    @Test func datagramsKeepTheirBytesAndAreCutIntoLinesWhereAsked() throws {
        let text = """
            [Descriptor whole]
            ListenDatagram=@/whole
            Exec=@/record whole
            Queue=main
            [Descriptor lines]
            ListenDatagram=@/lines
            Framing=line
            Exec=@/record lines %{line}
            Queue=main
            """
        try Watchd.run(text) { watchd in
            let socket = try Linux.socket(for: .unix("".pathBytes), .datagram).release()
            defer { FileDescriptor(owning: socket).close() }
            try Linux.send(socket, "a\nb\n".pathBytes, to: .unix(watchd.folder["whole"].pathBytes))
            try Linux.send(socket, [], to: .unix(watchd.folder["whole"].pathBytes))
            try Linux.send(socket, "c\nd".pathBytes, to: .unix(watchd.folder["lines"].pathBytes))
            let runs = try watchd.waitForRuns(4)
            let byName = Dictionary(grouping: runs) { String(decoding: $0.arguments[0], as: UTF8.self) }
            #expect(byName["whole"]?.map { $0.bytes("WATCHD_LINE") } == ["a\nb\n".pathBytes, []])
            #expect(byName["lines"]?.map { $0.arguments.last } == ["c".pathBytes, "d".pathBytes])
            #expect(try Linux.lstat(watchd.folder["whole"]).permissions == 0o600)
        }
    }

    @Test func aSocketOfALivingProcessIsNotTakenAway() throws {
        let text = "[Descriptor in]\nListenDatagram=@/in\nExec=@/record\n"
        let socket = try Linux.socket(for: .unix("".pathBytes), .datagram).release()
        defer { FileDescriptor(owning: socket).close() }
        try Watchd.run(text, prepare: { try Linux.bind(socket, .unix($0["in"].pathBytes)) }) { watchd in
            let source = try watchd.source("in")
            #expect(source.state == .failed)
            #expect(watchd.folder.exists("in"))
        }
    }
}
