import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// Output of runs and of supervised processes, with the real programs.
@Suite("Output, end to end", .ownThread) struct OutputTests {
    private static let long = """
        [Custom long]
        Exec=/bin/sh -c 'yes | head -c 100000'

        """

    @Test func theOutputOfTheLastAttemptStaysWhenNoOtherComes() throws {
        let text = """
            [Custom again]
            Exec=/bin/sh -c 'echo "try $WATCHD_ATTEMPT of $WATCHD_DATA"; exit $WATCHD_DATA'
            Retry=3
            RetrySec=1h

            """
        try Watchd.run(text) { watchd in
            #expect(try watchd.control("run", "--wait", "again", "--data", "0").code == 0)
            #expect(try watchd.control("run", "again", "--data", "9").code == 0)
            try wait(for: "its first attempt to fail") { try watchd.control("output", "again").text == "try 1 of 9\n" }
            #expect(try watchd.control("cancel", "2").code == 0)
            for target in ["2", "again"] { #expect(try watchd.control("output", target).text == "try 1 of 9\n") }
        }
    }

    /// The work is done all the same, and its end is the status.
    @Test func outputThatCannotBeWrittenIsSaid() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'echo x; exit 3'

            """
        try Watchd.run(text) { watchd in
            let watchctl = try Products.path("watchctl")
            func full(_ words: String...) throws -> Finished {
                let script = "\"$0\" --socket \"$1\" \(words.joined(separator: " ")) >/dev/full"
                return try Program.run(["/bin/sh", "-c", script, watchctl, watchd.socket])
            }
            let remark = "watchctl: standard output cannot be written to: "
            let emit = try full("emit", "poke")
            #expect(emit.code == 1 && emit.errorText.hasPrefix(remark), "\(emit)")
            let run = try full("run", "--wait", "poke")
            #expect(run.code == 3 && run.errorText.hasPrefix(remark), "\(run)")
            #expect(run.errorText.hasSuffix("FAILED exit 3\n"))
        }
    }

    @Test func outputIsReadWhileItIsWritten() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo one; until [ -e @/go ]; do sleep 0.1; done; echo two; exit 7'
            [Custom again]
            Exec=/bin/sh -c 'echo "try $WATCHD_ATTEMPT"; exit 1'
            Retry=1
            RetrySec=1h

            """
        try Watchd.run(text) { watchd in
            try watchd.emit("job")
            try wait(for: "its first line") { try watchd.control("output", "job").text == "one\n" }
            let follow = """
                cd "$2" || exit 9
                "$0" --socket "$1" output -f job >followed &
                until grep -qs one followed; do :; done
                touch go
                wait $! && cat followed
                """
            let watchctl = try Products.path("watchctl")
            let end = try Program.run(
                ["/bin/sh", "-c", follow, watchctl, watchd.socket, watchd.folder.path])
            #expect(end.code == 0 && end.text == "one\ntwo\n", "\(end)")

            let waited = try watchd.control("run", "--wait", "job")
            #expect(waited.code == 7 && waited.text == "one\ntwo\n", "\(waited)")
            #expect(waited.errorText.hasSuffix("FAILED exit 7\n"))

            try watchd.emit("again")
            try wait(for: "its pause") { try watchd.control("output", "3").text == "try 1\n" }
        }
    }

    @Test func aBeginningThatIsNotKeptIsMarked() throws {
        try Watchd.run(Self.long) { watchd in
            #expect(try watchd.control("run", "--wait", "long").code == 0)
            let output = try watchd.control("output", "long")
            #expect(output.output.count == 64 << 10)
            #expect(output.errorText == "watchctl: … the last 64 KiB: watchd keeps no more of a run\n")
        }
    }

    /// The earlier watchd has read it, and it is in the log.
    @Test func theBeginningThatAnEarlierWatchdHasReadIsMarked() throws {
        let loop = "until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done"
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo one; \(loop); echo two'
            [Process web]
            Command=/bin/sh -c 'echo first; \(loop); exec sleep 1000'

            """
        let mark = "watchctl: … watchd was restarted while this ran: what it had written before is in the log only\n"
        try Lives.run(text) { lives in
            func output(_ name: String) throws -> Finished { try lives.watchd.control("output", name) }
            try lives.watchd.emit("job")
            try wait(for: "its first line") { try output("job").text == "one\n" }
            try wait(for: "the process") { try output("web").text == "first\n" }
            lives.kill()
            try lives.start()
            for name in ["job", "web"] {
                let found = try output(name)
                #expect(found.text.isEmpty && found.errorText == mark, "\(found)")
            }
            try lives.folder.write("go", "")
            try wait(for: "its end") { try !lives.watchd.ended("job").isEmpty }
            let ended = try output("job")
            #expect(ended.text == "two\n" && ended.errorText == mark, "\(ended)")
            let id = try lives.watchd.ended("job")[0].id
            #expect(try lives.watchd.control("show", "\(id)").text.contains("what it had written before"))
            // From the store.
            lives.stop()
            try lives.start()
            #expect(try output("job").errorText == mark)
        }
    }

    @Test func whatKillModeLeavesRunningIsInTheRecordOfTheRun() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c '{ until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done; } >/dev/null 2>&1 & echo $! >@/left'
            KillMode=process
            [Custom plain]
            Exec=/bin/true
            KillMode=process

            """
        try Lives.run(text) { lives in
            #expect(try lives.watchd.control("run", "--wait", "plain").code == 0)
            #expect(try lives.watchd.control("run", "--wait", "job").code == 0)
            for _ in 0..<2 {
                let all = try lives.watchd.call(ListHistory.self, .init()).operations
                #expect(all.map { ($0.leftProcesses ?? 0) > 0 } == [true, false])
                let shown = try lives.watchd.control("show", "\(all[0].id)").text
                #expect(shown.contains("of its run went on after its end, as KillMode= says"), "\(shown)")
                // From the store.
                lives.stop()
                try lives.start()
            }
            try lives.folder.write("go", "")
        }
    }

    @Test func theOutputOfEveryAttemptIsKept() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo "attempt $WATCHD_ATTEMPT"; test "$WATCHD_ATTEMPT" = 3'
            Retry=2
            RetrySec=0

            """
        try Lives.run(text) { lives in
            func attempt(_ number: Int) throws -> Finished {
                try lives.watchd.control("output", "job", "--attempt", "\(number)")
            }
            #expect(try lives.watchd.control("output", "job").code == 1)
            #expect(try lives.watchd.control("run", "--wait", "job").text == "attempt 3\n")
            for _ in 0..<2 {
                for number in 1...3 { #expect(try attempt(number).text == "attempt \(number)\n") }
                let none = try attempt(4)
                #expect(none.code == 1 && none.errorText.contains("has had 3 attempts"), "\(none)")
                // From the store.
                lives.stop()
                try lives.start()
            }
        }
    }

    @Test func aProcessIsReadOverItsRestarts() throws {
        let text = """
            [Process web]
            Command=/bin/sh -c 'echo "life $(cat @/life)"; echo more >>@/lives; exec sleep 1000'
            Workers=2

            """
        try Watchd.run(text, prepare: { try $0.write("life", "1") }) { watchd in
            try wait(for: "both copies") { watchd.folder.lines("lives").count == 2 }
            for copy in ["1", "2"] {
                try wait(for: "its line") {
                    try watchd.control("output", "process/web", "--copy", copy).text == "life 1\n"
                }
            }
            try watchd.folder.write("life", "2")
            #expect(try watchd.control("restart", "web").code == 0)
            try wait(for: "its next life") { try watchd.control("output", "web").text == "life 1\nlife 2\n" }
            let none = try watchd.control("output", "web", "--copy", "3")
            #expect(none.code == 1 && none.errorText.contains("process/web has no copy 3"), "\(none)")
        }
    }

    @Test func aFollowerSeesWhatOneHandlerWrites() throws {
        let text = """
            [Custom job]
            Exec=/bin/sh -c 'echo said; echo more'
            [Custom other]
            Exec=/bin/sh -c 'echo nothing'

            """
        try Watchd.run(text) { watchd in
            let follow = """
                cd "$2" || exit 9
                "$0" --socket "$1" follow handler/job --output >followed &
                follower=$!
                until grep -qs more followed; do "$0" --socket "$1" emit other; "$0" --socket "$1" emit job; done
                kill $follower
                cut -d' ' -f3- followed
                """
            let watchctl = try Products.path("watchctl")
            let end = try Program.run(["/bin/sh", "-c", follow, watchctl, watchd.socket, watchd.folder.path])
            let lines = end.text.split(separator: "\n")
            #expect(lines.contains { $0.hasSuffix(" job| said") } && lines.contains { $0.hasSuffix(" job| more") })
            #expect(!end.text.contains("other") && !end.text.contains("nothing"), "\(end)")
            let unknown = try watchd.control("follow", "jop")
            #expect(unknown.code == 1 && unknown.errorText.contains("did you mean “job”"), "\(unknown)")
        }
    }
}
