import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("HoldUntil=, end to end", .ownThread) struct HoldUntilTests {
    @Test func whatComesWaitsForAPathIsNamedAndGoesOnWhenItComes() throws {
        let text = """
            [Queue kept]
            Durable=yes
            [Custom poke]
            Exec=/bin/sh -c 'echo $WATCHD_COUNT >>@/ran'
            Queue=kept
            HoldUntil=path:@/way/go pressure:memory:full:100%
            [Custom other]
            Handler=other
            HoldUntil=path:@/way/go
            [Handler other]
            Exec=/bin/true
            """
        try Lives.run(text) { lives in
            for _ in 1...3 { try lives.watchd.emit("poke") }
            try lives.watchd.emit("other")
            var waiting: [OperationSummary] = []
            try wait(for: "both to wait") {
                waiting = try lives.watchd.status().waiting
                return waiting.count == 2 && waiting.allSatisfy { $0.waitingFor?.hasSuffix("nothing is there") == true }
            }
            #expect(waiting.allSatisfy { $0.waitReason == "condition" })
            let sentence = "HoldUntil=path:\(lives.folder.path)/way/go: nothing is there"
            #expect(waiting[0].waitingFor == sentence)
            #expect(try lives.watchd.control("status").text.contains("HoldUntil=path:"))
            #expect(try lives.watchd.control("explain", "\(waiting[0].id)").text.contains("HoldUntil=path:"))
            lives.kill()
            try lives.start()
            try wait(for: "the durable one to wait again") {
                try lives.watchd.status().waiting.first?.waitingFor == sentence
            }
            try lives.folder.makeFolder("way")
            #expect(lives.folder.lines("ran").isEmpty)
            try lives.folder.write("way/go", "")
            try wait(for: "its run") { lives.folder.lines("ran") == ["3"] }
            try lives.watchd.waitUntilIdle()
            // It holds: what comes now hardly waits.
            try lives.watchd.emit("poke")
            try wait(for: "the next run") { lives.folder.lines("ran") == ["3", "1"] }
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root has networks of its own"))
    func aNetworkThatComesOnlineIsSeenAtOnce() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'echo ran >>@/ran'
            HoldUntil=network-online
            """
        let isAllowed = (try? Program.run(["unshare", "--net", "ip", "link", "add", "d0", "type", "dummy"]).code) == 0
        guard isAllowed else { return print("SKIPPED: no network namespace, or no dummy link") }
        try Watchd.run(text, launcher: ["unshare", "--net", "--mount-proc"]) { watchd in
            func ip(_ words: String...) throws {
                let end = try Program.run(["nsenter", "--net", "--target", "\(watchd.processID)", "ip"] + words)
                #expect(end.code == 0, "\(end)")
            }
            try watchd.emit("poke")
            try wait(for: "it to wait") {
                try watchd.status().waiting.first?.waitingFor == "HoldUntil=network-online: there is no default route"
            }
            try ip("link", "add", "d0", "type", "dummy")
            try ip("link", "set", "d0", "up")
            try ip("address", "add", "192.0.2.2/24", "dev", "d0")
            #expect(watchd.folder.lines("ran").isEmpty)
            try ip("route", "add", "default", "via", "192.0.2.1")
            try wait(for: "its run", seconds: 8) { watchd.folder.lines("ran") == ["ran"] }
        }
    }
}
