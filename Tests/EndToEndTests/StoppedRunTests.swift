import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// `OnStop=` and what a stop does not forget, with the real programs.
@Suite("Stopped runs, end to end", .ownThread) struct StoppedRunTests {
    private static let settings = "DrainSec=0\n"

    private func problems(_ lives: Lives) throws -> [String] {
        try lives.watchd.status().problems.map { "\($0.object): \($0.problem)" }
    }

    /// The bytes of a mark in the store, with all that is not ASCII left out.
    private func storedMark(_ name: String, _ lives: Lives) throws -> String {
        let code = """
            import sqlite3, sys
            database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
            for value, in database.execute("SELECT value FROM mark WHERE name = ?", sys.argv[2:]):
                print(value.decode("ascii", "ignore"))
            """
        return try Program.run(["python3", "-c", code, lives.folder["state/watchd.db"], name]).text
    }

    @Test func aJobThatAStopEndsIsAFailureUntilItIsForgotten() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo begun; echo $$ >@/running; exec sleep 1000'
            OnFailure=mail
            [Handler mail]
            Exec=/bin/sh -c 'echo "$WATCHD_OF_HANDLER on $WATCHD_HOST $WATCHD_OUTCOME: $WATCHD_REASON" >>@/mails'

            """
        try Lives.run(text, settings: Self.settings) { lives in
            try lives.watchd.emit("job")
            try wait(for: "the job") { !lives.folder.lines("running").isEmpty }
            lives.stop()
            let host = String(decoding: Linux.hostName, as: UTF8.self)
            #expect(lives.folder.lines("mails").isEmpty)
            try lives.start()
            try wait(for: "the mail") { !lives.folder.lines("mails").isEmpty }
            #expect(lives.folder.lines("mails") == ["job on \(host) stopped: ended because watchd stopped"])
            try wait(for: "the failure") { try !problems(lives).isEmpty }
            #expect(try problems(lives) == ["handler/job: its last run failed, SIGTERM: ended because watchd stopped"])
            let failed = try lives.watchd.control("failed", "job")
            #expect(failed.code == 0 && failed.text.contains("stopped"), "\(failed)")
            #expect(try lives.watchd.control("history", "--failed").text.contains("FAILED stopped"))
            #expect(try lives.watchd.control("output", "job").text == "begun\n")
            lives.kill()
            try lives.start()
            try wait(for: "the failure") { try !problems(lives).isEmpty }
            #expect(try lives.watchd.control("forget", "job").code == 0)
            #expect(try problems(lives).isEmpty)
            lives.stop()
            try lives.start()
            #expect(try lives.watchd.control("failed").text.contains("Nothing"))
            #expect(try problems(lives).isEmpty)
        }
    }

    @Test func againRunsAgain() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo "$WATCHD_DATA $(grep -c "redelivered.:true")" >>@/begun; until [ -e @/go ]; do sleep 0.1; done'
            OnStop=again

            """
        try Lives.run(text, settings: Self.settings) { lives in
            try lives.watchd.emit("job", data: 7)
            try wait(for: "the job") { !lives.folder.lines("begun").isEmpty }
            lives.stop()
            #expect(lives.watchd.logText.contains("1 operation kept for the next start"))
            try lives.start()
            try wait(for: "the job") { lives.folder.lines("begun").count == 2 }
            try lives.folder.write("go", "")
            try lives.watchd.waitForEnded(1, of: "job")
            #expect(lives.folder.lines("begun") == ["7 0", "7 1"])
            #expect(try problems(lives).isEmpty)
        }
    }

    @Test func leaveGoesOnBesideAStopAndIsAdopted() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo $$ >>@/begun; until [ -e @/go ]; do sleep 0.1; done; echo over >>@/over'
            StandardOutput=append:@/out
            StandardError=append:@/out
            OnStop=leave

            """
        try Lives.run(text, settings: "DrainSec=1h\n") { lives in
            try lives.watchd.emit("job")
            try wait(for: "the job") { !lives.folder.lines("begun").isEmpty }
            lives.stop()
            #expect(lives.watchd.logText.contains("goes on, process \(lives.folder.lines("begun")[0])"))
            try lives.start()
            let running = try lives.operations(of: "job")
            #expect(running.map(\.pid) == [Int(lives.folder.lines("begun")[0])])
            try lives.folder.write("go", "")
            try wait(for: "its end") { try lives.operations(of: "job").isEmpty }
            #expect(lives.folder.lines("begun").count == 1 && lives.folder.lines("over") == ["over"])
        }
    }

    /// Nothing runs: the stop is over at once.
    @Test func whatWaitedIsNamedWhereNothingRan() throws {
        let text = """
            [Queue off]
            Suspended=yes
            [Custom job]
            Exec=/bin/true
            Queue=off
            Coalesce=no
            [Custom held]
            Exec=/bin/true
            Coalesce=no
            Suspended=yes

            """
        try Lives.run(text, settings: Self.settings) { lives in
            for _ in 1...2 { try lives.watchd.emit("job") }
            try lives.watchd.emit("held")
            lives.stop()
            try lives.start()
            let sentence =
                "the last stop cancelled 3 operations that waited on queues that are not durable: job (2), held"
            #expect(try problems(lives) == ["watchd: \(sentence)"])
        }
    }

    /// That its handler is not told of it is no loss.
    @Test func theEndOfAProcessByTheStopIsNoProblem() throws {
        let text = """
            [Process worker]
            Command=/bin/sleep 1000
            Handler=ended
            [Handler ended]
            Exec=/bin/true

            """
        try Lives.run(text, settings: Self.settings) { lives in
            try wait(for: "the process") { try lives.watchd.source("process/worker").state == .armed }
            lives.stop()
            #expect(lives.watchd.logText.contains("ended"))
            try lives.start()
            #expect(try problems(lives) == [])
        }
    }

    @Test func whatWaitedIsNamedAfterTheNextStartAndOnlyThen() throws {
        let text = """
            [Custom job]
            Exec=/bin/sleep 1000
            Coalesce=no
            Overlap=wait

            """
        try Lives.run(text, settings: Self.settings) { lives in
            for _ in 1...4 { try lives.watchd.emit("job") }
            try wait(for: "the job") { try lives.watchd.status().processes == 1 }
            lives.stop()
            try lives.start()
            let sentence =
                "the last stop cancelled 3 operations that waited on queues that are not durable: job (3)"
            try wait(for: "both problems") { try problems(lives).count == 2 }
            #expect(try problems(lives).contains("watchd: \(sentence)"))
            #expect(lives.watchd.logText.contains(sentence))
            lives.stop()
            try lives.start()
            try wait(for: "the failure") { try problems(lives).count == 1 }
        }
    }

    @Test func whatAStopThatWasKilledHadCancelledIsNamed() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done'
            Coalesce=no
            Overlap=wait

            """
        try Lives.run(text, settings: "DrainSec=infinity\n") { lives in
            for _ in 1...4 { try lives.watchd.emit("job") }
            try wait(for: "the job") { try lives.watchd.status().processes == 1 }
            lives.watchd.send(SIGTERM)
            try wait(for: "the stop") { try lives.watchd.status().state == .draining }
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("default")
            lives.kill()
            try lives.start()
            try lives.folder.write("go", "")
            let sentence =
                "the last stop cancelled 3 operations that waited on queues that are not durable: job (3)"
            #expect(try problems(lives) == ["watchd: \(sentence)"])
        }
    }

    /// It has no process that could be found again.
    @Test func aLineThatAWorkerHadIsNamedAfterAKillAsWell() throws {
        let text = """
            [Custom job]
            Stream=/bin/sh -c 'until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done'
            Coalesce=no
            Ack=yes

            """
        try Lives.run(text, settings: Self.settings) { lives in
            for _ in 1...2 { try lives.watchd.emit("job") }
            // Behind the name stands how many there are, as `ByteWriter` has it; the first note may be of one alone.
            try wait(for: "the note of both") { try storedMark("waiting", lives).contains("job\u{4}") }
            try wait(for: "one to run") {
                try lives.operations(of: "job").filter { $0.state == .executing }.count == 1
            }
            lives.kill()
            try lives.folder.write("go", "")
            try lives.start()
            let loss = "2 operations that waited on queues that are not durable: job (2)"
            try wait(for: "the loss to be told") {
                try problems(lives).contains("watchd: the last watchd ended without a stop and lost \(loss)")
            }
        }
    }

    /// The store has a note of it, at most two seconds old.
    @Test func whatWaitedIsNamedAfterAKillAsWell() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done'
            Coalesce=no
            Overlap=wait
            [Custom held]
            Exec=/bin/true
            Coalesce=no
            Suspended=yes

            """
        try Lives.run(text, settings: Self.settings) { lives in
            for _ in 1...4 { try lives.watchd.emit("job") }
            try lives.watchd.emit("held")
            try wait(for: "the job") { try lives.watchd.status().processes == 1 }
            let waiting = try lives.operations(of: "job").filter { $0.state != .executing }.map(\.id)
            #expect(waiting.count == 3)
            try wait(for: "the note of what waits") { try storedMark("waiting", lives).contains("held") }
            lives.kill()
            try lives.start()
            let loss = "4 operations that waited on queues that are not durable: job (3), held"
            let problem = "watchd: the last watchd ended without a stop and lost \(loss)"
            #expect(try problems(lives) == [problem])
            try lives.watchd.waitForLog("cleanly last time and lost \(loss)")
            #expect(try lives.watchd.control("status").text.contains("after an end without a stop"))
            // Each is found by its number, and by its handler.
            let why = "lost: watchd ended without a stop, and nothing says that it was done"
            for id in waiting {
                try wait(for: "the record of \(id)") { try lives.watchd.control("show", "\(id)").code == 0 }
                #expect(try lives.watchd.control("show", "\(id)").text.contains(why))
            }
            #expect(try lives.watchd.control("explain", "job").text.contains(why))
            // It is told once, also where nothing has happened since.
            try wait(for: "the note to be gone") { try storedMark("waiting", lives).isEmpty }
            lives.kill()
            try lives.start()
            #expect(try problems(lives).isEmpty)
            // The one that ran lives on, and is not among them.
            try lives.folder.write("go", "")
            let ended = try lives.watchd.waitForEnded(1, of: "job")
            #expect(!waiting.contains(ended[0].id) && ended[0].result != .cancelled)
            lives.stop()
            try lives.start()
            #expect(try problems(lives).isEmpty)
            #expect(try !lives.watchd.control("status").text.contains("after an end without a stop"))
        }
    }
}
