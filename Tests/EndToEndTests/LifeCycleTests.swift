import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Start, stop, and who owns the control socket.
@Suite("Life cycle, end to end", .ownThread) struct LifeCycleTests {
    /// A handler that runs until `go` is there, or for ever, whatever signal comes.
    private static let stubborn = """
        [Custom poke]
        Exec=/bin/sh -c 'trap "" TERM; echo begun >>@/notes; while [ ! -e @/go ]; do sleep 0.1; done; echo ended >>@/notes'
        TimeoutStopSec=200ms
        Queue=main
        Coalesce=no

        """

    @Test(arguments: [SIGTERM, SIGINT]) func aSignalDrains(_ signal: Int32) throws {
        try Watchd.run(Self.stubborn) { watchd in
            try watchd.emit("poke")
            try watchd.emit("poke")
            _ = try watchd.waitForLines(1, in: "notes")
            watchd.send(signal)
            try watchd.waitForNotification("STOPPING=1")
            #expect(try watchd.status().state == .draining)
            #expect(try watchd.error(Emit.self, .init(name: "poke"))?.name == "io.watchd.Manager.Draining")
            #expect(!watchd.hasEnded)
            try watchd.folder.write("go", "")
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("notes") == ["begun", "ended"], "what ran ended, what waited never began")
            try watchd.waitForLog("2 accepted = 1 done + 1 cancelled")
        }
    }

    @Test func aSecondSignalHurriesAndNothingIsLeftBehind() throws {
        try Watchd.run(Self.stubborn) { watchd in
            try watchd.emit("poke")
            _ = try watchd.waitForLines(1, in: "notes")
            watchd.send(SIGTERM)
            try watchd.waitForNotification("STOPPING=1")
            watchd.send(SIGINT)
            // It ignores SIGTERM and is killed after TimeoutStopSec=.
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("notes") == ["begun"])
        }
    }

    @Test func drainSecIsTheLongestThatItWaits() throws {
        try Watchd.run(Self.stubborn, settings: "DrainSec=100ms") { watchd in
            try watchd.emit("poke")
            _ = try watchd.waitForLines(1, in: "notes")
            watchd.send(SIGTERM)
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("notes") == ["begun"])
        }
    }

    /// Of the code that a start has run, and of its texts, little is needed afterwards.
    @Test func whenTheStartIsOverMemoryGoesBack() throws {
        /// KiB of the program and its libraries: all of them, and those that are mapped now.
        func sizes(_ watchd: Watchd) throws -> (code: Int, mapped: Int) {
            let lines = String(decoding: try Linux.readFile("/proc/\(watchd.processID)/status"), as: UTF8.self)
                .split(separator: "\n")
            func size(_ label: String) throws -> Int {
                let line = try #require(lines.first { $0.hasPrefix(label) })
                return try #require(line.split { $0.isWhitespace }.dropFirst().first.flatMap { Int($0) })
            }
            return (try size("VmExe:") + size("VmLib:"), try size("RssFile:"))
        }
        try Watchd.run("[Custom poke]\nExec=/bin/true\n") { watchd in
            try wait(for: "memory to go back") {
                let (code, mapped) = try sizes(watchd)
                return mapped * 3 < code
            }
            try watchd.emit("poke")
            try watchd.waitForLog("done in")
        }
    }

    @Test func aClientStopsItAndGetsItsAnswer() throws {
        try Watchd.run(Self.stubborn) { watchd in
            let stop = try watchd.control("stop")
            #expect(stop.code == 0, "\(stop)")
            #expect(watchd.waitForEnd() == .exited(0))
            let status = try watchd.control("status")
            #expect(status.code == 3, "\(status)")
        }
    }

    @Test func aStaleSocketIsReplacedAndThatOfALivingDaemonRefused() throws {
        try Folder.with { folder in
            try Recorded.install(in: folder)
            let watchd = try Watchd(folder, Self.stubborn)
            try watchd.waitUntilReady()
            let second = try Program.run([Products.path("watchd"), watchd.folder["watch"]])
            #expect(second.code == 1)
            #expect(second.errorText.contains("another watchd answers on"))
            #expect(try watchd.status().state == .running)

            watchd.send(SIGKILL)
            watchd.waitForEnd()
            #expect(watchd.folder.exists("socket"), "left behind")
            let third = try Watchd(watchd.folder, Self.stubborn)
            try third.waitUntilReady()
            #expect(try third.status().state == .running)
            try third.stop()
        }
    }

    @Test func aFileInThePlaceOfTheSocketIsNotRemoved() throws {
        try Folder.with { folder in
            try Watchd.write("", to: folder)
            try folder.write("socket", "precious")
            let end = try Program.run([Products.path("watchd"), folder["watch"]])
            #expect(end.code == 1)
            #expect(end.errorText.contains("is no socket"))
            #expect(folder.text("socket") == "precious")
        }
    }

    @Test func readyMeansEverySourceWasTriedAndRequiredOnesAreArmed() throws {
        let text = """
            [Path later]
            Path=@/later
            Required=yes
            Log=x
            """
        try Folder.with { folder in
            try Recorded.install(in: folder)
            let watchd = try Watchd(folder, text)
            try wait(for: "the socket to answer") { (try? watchd.status().state) == .starting }
            #expect(throws: TimedOut.self) {
                try wait(for: "READY", seconds: 1) { watchd.logText.contains("ready:") }
            }
            try folder.makeFolder("later")
            try watchd.waitUntilReady()
            #expect(watchd.notifications.contains { $0.hasPrefix("STATUS=") })
            #expect(try watchd.status().state == .running)
            try watchd.stop()
        }
    }

    @Test func statusLinesAreKeptCurrent() throws {
        try Watchd.run(Self.stubborn) { watchd in
            watchd.forgetNotifications()
            try watchd.emit("poke")
            _ = try watchd.waitForLines(1, in: "notes")
            try watchd.waitForNotification("STATUS=1 source, 1 handler")
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            watchd.forgetNotifications()
        }
    }
}
