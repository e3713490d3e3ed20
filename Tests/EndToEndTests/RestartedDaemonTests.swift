import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Clients that wait while watchd is started anew.
@Suite("Clients over a restart, end to end", .ownThread) struct RestartedDaemonTests {
    /// Runs until the file `go` is there.
    private static let text = """
        [Queue kept]
        Durable=yes
        [Custom job]
        Exec=/bin/sh -c 'echo begun >>@/begun; until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done; echo said; exit 7'
        Queue=kept
        [Custom short]
        Exec=/bin/sh -c 'echo begun >>@/begun; until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done; echo said'

        """

    /// watchctl beside the test; what it writes is in the files `out` and `err`, and its status in `code`.
    private func client(_ lives: Lives, _ words: String...) throws {
        let script = "\"$@\" >\"$0/out\" 2>\"$0/err\"; echo $? >\"$0/code\""
        let beside = "sh -c '\(script)' \"$0\" \"$@\" </dev/null >/dev/null 2>&1 &"
        let watchctl = [try Products.path("watchctl"), "--socket", lives.watchd.socket]
        #expect(try Program.run(["/bin/sh", "-c", beside, lives.folder.path] + watchctl + words).code == 0)
    }

    private func endClients(_ lives: Lives) {
        for process in Watchd.processes(of: lives.folder) where process.contains("watchctl") {
            guard let pid = process.split(separator: " ").first.flatMap({ Int32($0) }) else { continue }
            try? Linux.kill(process: pid, signal: SIGTERM)
        }
    }

    private func waitForCode(_ lives: Lives, _ code: Int) throws {
        try wait(for: "watchctl to end with \(code): \(lives.folder.text("err"))") {
            lives.folder.lines("code") == ["\(code)"]
        }
    }

    private func waitForRun(_ lives: Lives, _ name: String) throws {
        try wait(for: "\(name) to run") {
            try !lives.folder.lines("begun").isEmpty && lives.watchd.status().running.first?.pid != nil
        }
    }

    @Test(arguments: [["run", "--wait", "job"], ["run", "--wait", "--queue", "kept", "--"]])
    func aRunThatSurvivesIsWaitedForByItsNumber(words: [String]) throws {
        try Lives.run(Self.text) { lives in
            let loop = "until [ -e go ]; do [ -e watch ] || exit 1; sleep 0.02; done"
            let command = "cd \(lives.folder.path) || exit 9; echo begun >>begun; \(loop); echo said; exit 7"
            if words.contains("--queue") {
                try client(lives, words[0], words[1], words[2], words[3], words[4], "/bin/sh", "-c", command)
            } else {
                try client(lives, words[0], words[1], words[2])
            }
            try waitForRun(lives, "it")
            lives.kill()
            try wait(for: "watchctl to say so") { lives.folder.text("err").contains("waiting for it to come back") }
            try lives.start()
            try wait(for: "watchctl to go on") { lives.folder.text("err").contains("watchd is back") }
            try lives.folder.write("go", "")
            // Where the kernel does not tell how it ended it runs again, as its queue is durable.
            try waitForCode(lives, 7)
            #expect(lives.folder.text("out").hasSuffix("said\n"), "\(lives.folder.text("out"))")
        }
    }

    @Test func aRunThatTakesLongerThanTheTimeOutIsNotTakenForADaemonThatHangs() throws {
        try Lives.run(Self.text) { lives in
            let ended = try lives.watchd.control("--timeout", "500ms", "run", "--wait", "short")
            #expect(ended.code == 1)
            #expect(ended.errorText.contains("timed out waiting for operation"), "\(ended)")
            try lives.folder.write("go", "")
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func aWaitGoesOnOverARestart() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.emit("job")
            try waitForRun(lives, "it")
            let id = try #require(try lives.watchd.status().running.first?.id)
            try client(lives, "wait", "\(id)")
            lives.kill()
            try wait(for: "watchctl to say so") { lives.folder.text("err").contains("waiting for it to come back") }
            try lives.start()
            try lives.folder.write("go", "")
            try waitForCode(lives, 1)
            #expect(lives.folder.text("out").hasPrefix("job \(id): FAILED exit 7"), "\(lives.folder.text("out"))")
        }
    }

    @Test func theOutputOfWhatTheQueueKeepsIsWaitedForOverAStop() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.suspend("kept")
            try client(lives, "run", "--queue", "kept", "--output", "--", "echo", "hello")
            try wait(for: "its operation") { lives.folder.text("err").contains("operation 1") }
            try lives.watchd.emit("short")
            try waitForRun(lives, "short")
            // The stop waits for the other one, and the socket answers that it stops.
            lives.watchd.send(SIGTERM)
            try wait(for: "watchctl to say so") { lives.folder.text("err").contains("waiting for it to come back") }
            #expect(try lives.watchd.status().state == .draining)
            try lives.folder.write("go", "")
            lives.watchd.waitForEnd()
            try lives.start()
            try lives.watchd.resume("kept")
            try waitForCode(lives, 0)
            #expect(lives.folder.text("out") == "hello\n", "\(lives.folder.text("err"))")
        }
    }

    @Test func anEmitWaitsOverAStopForWhatTheQueueKeeps() throws {
        try Lives.run(Self.text, settings: "DrainSec=0\n") { lives in
            try lives.watchd.suspend("kept")
            try client(lives, "emit", "--wait", "job")
            try wait(for: "its operation") { try lives.watchd.status().operationsPending == 1 }
            lives.stop()
            try wait(for: "watchctl to say so") { lives.folder.text("err").contains("waiting for it to come back") }
            try lives.start()
            try lives.watchd.resume("kept")
            try lives.folder.write("go", "")
            try waitForCode(lives, 7)
            #expect(lives.folder.text("out") == "event 1, operation 1: FAILED exit 7\n", "\(lives.folder.text("out"))")
        }
    }

    @Test func anEmitOfASuspendedSourceIsToldWhatAStopMakesOfIt() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.suspend("custom/short")
            try client(lives, "emit", "--wait", "short")
            try wait(for: "the hint") {
                lives.folder.text("err").contains("custom/short is suspended and keeps 1 event (")
            }
            lives.stop()
            try waitForCode(lives, 1)
            let said = lives.folder.text("err")
            #expect(said.contains("event 1 was accepted, but watchd stops before its handlers have it"), "\(said)")
        }
    }

    @Test func aRunThatIsLostIsNamedAndWhereToLook() throws {
        try Lives.run(Self.text, settings: "DrainSec=0\n") { lives in
            try client(lives, "run", "--wait", "short")
            try waitForRun(lives, "it")
            lives.stop()
            try lives.start()
            try waitForCode(lives, 1)
            let said = lives.folder.text("err")
            #expect(said.contains("FAILED stopped") || said.contains("FAILED SIGTERM"), "\(said)")
        }
    }

    @Test func nobodyWaitsForEverForAWatchdThatStaysAway() throws {
        try Lives.run(Self.text) { lives in
            try client(lives, "--timeout", "2s", "follow")
            try wait(for: "the follower") {
                try lives.watchd.emit("short")
                return !lives.folder.text("out").isEmpty
            }
            lives.kill()
            try waitForCode(lives, 3)
            let said = lives.folder.text("err")
            #expect(said.contains("has not come back for 2s; when it runs again: watchctl follow"), "\(said)")
            try lives.folder.write("go", "")
            try lives.start()
        }
    }

    @Test(arguments: [false, true]) func aFollowerFollowsTheNextWatchd(isKilled: Bool) throws {
        let text = """
            [Custom poke]
            Log=%{data}

            """
        try Lives.run(text) { lives in
            try client(lives, "follow")
            try wait(for: "the follower") {
                try lives.watchd.emit("poke")
                return !lives.folder.text("out").isEmpty
            }
            if isKilled { lives.kill() } else { lives.stop() }
            try wait(for: "it to notice") { lives.folder.text("err").contains("waiting for it to come back") }
            try lives.start()
            try lives.watchd.emit("poke", data: 4711)
            try wait(for: "what happens then, got \(lives.folder.text("out"))") {
                lives.folder.text("out").contains("4711")
            }
            #expect(lives.folder.text("err").contains("watchd is back"))
            #expect(!lives.folder.exists("code"))
            endClients(lives)
        }
    }
}
