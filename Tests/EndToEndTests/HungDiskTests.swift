import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import Varlink

private let hasTracer = (try? Linux.stat("/usr/bin/strace")) != nil

/// A disk that hangs in the middle of a commit: `strace` holds each `fdatasync` of watchd for minutes.
@Suite("A disk that hangs, end to end", .ownThread) struct HungDiskTests {
    private static let text = """
        [Queue kept]
        Durable=yes
        [Custom poke]
        Log=x
        Queue=kept

        """

    @Test(
        .enabled(if: LongPart.isAsked, "takes a minute and a half"), .enabled(if: hasTracer, "needs strace"))
    func aStopWaitsForItForAMinute() throws {
        try Watchd.run(Self.text) { watchd in
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let words = [
                "strace", "-f", "-qq", "-p", "\(watchd.processID)", "-e", "trace=fdatasync",
                "-e", "inject=fdatasync:delay_enter=300000000",
            ]
            let tracer = try Program(words.map { Array($0.utf8) }, environment: [], descriptors: [null, null, null])
            defer {
                tracer.send(SIGKILL)
                tracer.wait()
            }
            try wait(for: "strace to be attached") { try Self.isTraced(watchd.processID) }
            let emit = Background { [socket = watchd.socket] in
                // It is answered when it is stored, or not at all.
                _ = try? Client(connectingTo: socket).call(
                    Emit.fullName, Emit.Parameters(name: "poke"), timeout: 60_000)
            }
            try wait(for: "the store to count as failing") {
                try watchd.status().problems.contains { $0.object == "store" }
            }
            let begin = Linux.now(.monotonic)
            watchd.send(SIGTERM)
            try wait(for: "its last line", seconds: 100) { watchd.logText.contains("stopped: ") }
            let seconds = (Linux.now(.monotonic) - begin) / 1_000_000
            #expect((55...90).contains(seconds), "it took \(seconds) s")
            #expect(watchd.logText.contains("the store has not been written for a minute: ending without it"))
            // Until then it holds a thread of the process, which has ended.
            tracer.send(SIGKILL)
            #expect(watchd.waitForEnd() == .exited(0))
            emit.join()
        }
    }

    private static func isTraced(_ process: Int32) throws -> Bool {
        try Linux.readFolder("/proc/\(process)/task").allSatisfy { entry in
            let path = "/proc/\(process)/task/\(String(decoding: entry.name, as: UTF8.self))/status"
            let status = String(decoding: try Linux.readFile(path), as: UTF8.self)
            return !status.contains("TracerPid:\t0\n")
        }
    }
}
