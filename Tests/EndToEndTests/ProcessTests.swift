import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Ends of processes that are not watchd's own, by a pid file.
@Suite("Processes, end to end", .ownThread) struct ProcessTests {
    private static let text = """
        [Process other]
        PIDFile=@/pid
        Exec=@/record
        Queue=main

        """

    /// A process whose parent is the test: it ends with what is written to it.
    private func start(_ script: String = "exec sleep 1000") throws -> Program {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        return try Program(
            ["sh", "-c", script].map(\.pathBytes), environment: Program.environment, descriptors: [null, null, null])
    }

    private func waitFor(_ state: ListSources.Source.State, _ watchd: Watchd) throws {
        try wait(for: "the source to be \(state)") { try watchd.source("other").state == state }
    }

    @Test func itsEndIsToldWithStatusOrSignalThoughThePidFileComesLaterAndChanges() throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try watchd.source("other").state == .waiting)
            let first = try start()
            try watchd.folder.write("pid", "\(first.processID)\n")
            try waitFor(.armed, watchd)
            first.send(SIGKILL)
            first.wait()
            var run = try #require(try watchd.waitForRuns(1).first)
            #expect(run["WATCHD_PID"] == "\(first.processID)")
            #expect(run.inputText.contains("\"signal\":\"SIGKILL\""))
            #expect(run.inputText.contains("\"run_usec\":"))
            try waitFor(.waiting, watchd)

            try Linux.mkfifo(watchd.folder["go"])
            let second = try start("read -r x <'\(watchd.folder["go"])'; exit 42")
            try watchd.folder.write("new", " \(second.processID) \n")
            try Linux.rename(watchd.folder["new"], to: watchd.folder["pid"])
            try waitFor(.armed, watchd)
            try watchd.folder.append("go", "\n")
            #expect(second.wait() == .exited(42))
            run = try #require(try watchd.waitForRuns(2).last)
            #expect(run["WATCHD_EXIT_STATUS"] == "42")
            #expect(run.inputText.contains("\"exit_status\":42"))
        }
    }

    @Test func aPidFileThatNamesNoProcessIsWaitedForAndNothingRuns() throws {
        try Watchd.run(Self.text) { watchd in
            let rubbish = [
                "", "\n", "rubbish", "0", "-1", "1", "1 2", "99999999999999999999", "2147483647", "12a", "+5",
                "\(watchd.processID)", "\0",
            ]
            for text in rubbish {
                try watchd.folder.write("pid", text)
                try waitFor(.waiting, watchd)
            }
            try watchd.folder.write("pid", String(repeating: "7", count: 5000))
            try waitFor(.failed, watchd)
            #expect(try watchd.source("other").counters.accepted == 0)
            let process = try start()
            try watchd.folder.write("pid", "\(process.processID)")
            try waitFor(.armed, watchd)
            process.send(SIGTERM)
            process.wait()
            #expect(try watchd.waitForRuns(1).count == 1)
        }
    }

    @Test(.enabled(if: Linux.now(.boottime) > 60_000_000, "the machine has just started"))
    func anOldFileDoesNotNameAYoungProcess() throws {
        let process = try start()
        let prepare: (Folder) throws -> Void = { folder in
            try folder.write("pid", "\(process.processID)")
            // The file is older than the process, so the number must have been another's; and younger than the boot.
            let time = timeval(tv_sec: Int(Linux.now(.realtime) / 1_000_000) - 30, tv_usec: 0)
            var times = [time, time]
            #expect(utimes(folder["pid"], &times) == 0)
        }
        try Watchd.run(Self.text, prepare: prepare) { watchd in
            let source = try watchd.source("other")
            #expect(source.state == .waiting)
            #expect(source.reason?.contains("younger") == true)
        }
    }

    @Test func theEndOfAZombieIsToldOnceThoughItsParentHasNotWaited() throws {
        try Watchd.run(Self.text) { watchd in
            let process = try start()
            try watchd.folder.write("pid", "\(process.processID)")
            try waitFor(.armed, watchd)
            process.send(SIGTERM)
            try wait(for: "the zombie") {
                let status = try Linux.readFile("/proc/\(process.processID)/stat")
                return String(decoding: status, as: UTF8.self).contains(") Z ")
            }
            let before = try self.ticks(watchd)
            #expect(try watchd.waitForRuns(1).count == 1)
            #expect(try self.ticks(watchd) - before < 50, "it does not spin")
            process.wait()
            _ = try watchd.status()
            #expect(try watchd.source("other").counters.accepted == 1)
        }
    }

    /// Hundredths of a second of processor time.
    private func ticks(_ watchd: Watchd) throws -> Int {
        let text = String(decoding: try Linux.readFile("/proc/\(watchd.processID)/stat"), as: UTF8.self)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}
