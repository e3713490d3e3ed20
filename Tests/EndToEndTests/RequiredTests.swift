import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

@Suite("Sources that are awaited, end to end", .ownThread) struct RequiredTests {
    @Test func readyWaitsForARequiredSourceAndSaysSo() throws {
        let text = """
            [Process server]
            PIDFile=@/pid
            Required=yes
            Log=it has ended
            [Process other]
            PIDFile=@/other
            Log=it has ended
            """
        try Folder.with { folder in
            let watchd = try Watchd(folder, text)
            try watchd.waitForNotification("STATUS=starting, waiting for process/server to be armed (Required=yes)")
            try watchd.waitForNotification("EXTEND_TIMEOUT_USEC=")
            let status = try watchd.call(GetStatus.self, .init())
            #expect(status.state == .starting)
            let problem = try #require(status.problems.first { $0.object == "process/server" })
            #expect(problem.action == "READY waits for it (Required=yes)")
            #expect(!status.problems.contains { $0.object == "process/other" })
            #expect(!watchd.notifications.contains("READY=1"))

            try folder.write("pid", "\(Linux.processID)\n")
            try watchd.waitUntilReady()
            #expect(try watchd.call(GetStatus.self, .init()).state == .running)
            try watchd.stop()
        }
    }

    @Test func aReloadBeforeReadyAddsToWhatIsAwaitedAndTakesAway() throws {
        func process(_ name: String) -> String { "[Process \(name)]\nPIDFile=@/\(name)\nRequired=yes\nLog=ended\n" }
        try Folder.with { folder in
            let watchd = try Watchd(folder, process("one"))
            try watchd.waitForNotification("STATUS=starting, waiting for process/one ")
            try Watchd.write(process("two"), to: folder)
            try watchd.call(Reload.self, .init())
            try watchd.waitForNotification("STATUS=starting, waiting for process/two ")
            #expect(!watchd.notifications.contains("READY=1"))
            try folder.write("two", "\(Linux.processID)\n")
            try watchd.waitUntilReady()
            try watchd.stop()
        }
    }

    @Test func whoStillWaitsCanBeStopped() throws {
        try Folder.with { folder in
            let watchd = try Watchd(folder, "[Unit web]\nUnit=a\nRequired=yes\nLog=x\n", launcher: Self.withoutBus)
            try watchd.waitForNotification("STATUS=starting, waiting for unit/web ")
            try watchd.stop()
            #expect(!watchd.notifications.contains("READY=1"))
        }
    }

    private static let withoutBus = ["/usr/bin/env", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent/bus"]

    @Test func withoutABusUnitsFailClearlyAndAreTriedAgain() throws {
        let text = "[Unit web]\nUnit=nginx\nLog=failed\n"
        try Watchd.run(text, launcher: Self.withoutBus) { watchd in
            let source = try #require(try watchd.call(ListSources.self, .init(name: "web")).sources.first)
            #expect(source.state == .failed && source.nextTry != nil)
            #expect(source.reason?.hasPrefix("there is no system bus (is dbus running?)") == true, "\(source)")
            try watchd.waitForLog("(ENOENT); trying again in 1s")
            let status = try watchd.call(GetStatus.self, .init())
            #expect(status.problems.first?.nextTry != nil)
            let explained = try watchd.call(Explain.self, .init(name: "unit/web"))
            #expect(explained.steps.contains { $0.code == "unarmed" && $0.sentence.contains("tried again in") })
            let handler = try watchd.call(Explain.self, .init(name: "web"))
            #expect(handler.object == "handler/web" && handler.steps.contains { $0.code == "unarmed" })
        }
    }

    @Test func aBusThatNeverAnswersDoesNotHoldUpTheStart() throws {
        let text = "[Unit web]\nUnit=nginx\nLog=failed\n[Custom poke]\nLog=poked\n"
        try Folder.with { folder in
            let bus = Endpoint.unix(Array(folder["bus"].utf8))
            try Linux.socket(for: bus, .stream).use { socket in
                try Linux.bind(socket, bus)
                try Linux.listen(socket)
                let launcher = ["/usr/bin/env", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(folder["bus"])"]
                let watchd = try Watchd(folder, text, launcher: launcher)
                try watchd.waitForNotification("STATUS=starting, waiting for unit/web to be tried")
                try watchd.emit("poke")
                try watchd.waitUntilReady()
                let source = try #require(try watchd.call(ListSources.self, .init(name: "web")).sources.first)
                #expect(source.reason == "the system bus does not answer", "\(source)")
                try watchd.stop()
            }
        }
    }
}
