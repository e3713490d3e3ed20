import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// A handler that waits for what can only end after it is refused, instead of hanging for ever.
@Suite("Deadlocks, end to end", .ownThread) struct DeadlockTests {
    /// A handler script: calls watchctl with its words, and notes how that ended.
    private static let script = """
        #!/bin/sh
        folder=${0%/*}
        "$folder/call" "$@" >"$folder/said" 2>&1
        echo "$?" >"$folder/ended.new"
        mv "$folder/ended.new" "$folder/ended"

        """

    private static let text = """
        [Queue line]
        [Custom waits]
        Exec=@/script %{words}
        Queue=line
        [Custom main]
        Exec=@/script reload
        Queue=main
        [Custom elsewhere]
        Exec=@/script reload
        [Custom stops]
        Exec=@/script stop
        [Handler other]
        Log=other
        Queue=line
        [Handler free]
        Log=free
        [Custom unused]
        Handler=other
        [Custom unused2]
        Handler=free
        [Group members]
        Members=waits
        Log=empty
        [Group visitors]
        Members=free
        Log=empty
        [Custom second]
        Exec=@/second
        Queue=other-line
        [Queue other-line]

        """

    private func withWatchd(words: String = "", _ body: (Watchd) throws -> Void) throws {
        let text = Self.text.replacing("%{words}", with: words)
        let prepare: (Folder) throws -> Void = { folder in
            try folder.write("script", Self.script, mode: 0o755)
            let watchctl = try Products.path("watchctl")
            try folder.write("call", "#!/bin/sh\nexec \(watchctl) --socket ${0%/*}/socket \"$@\"\n", mode: 0o755)
        }
        try Watchd.run(text, settings: "DrainSec=1", prepare: prepare, body: body)
    }

    /// What watchctl said inside the handler, and how it ended.
    private func call(_ source: String, _ watchd: Watchd) throws -> (code: String, said: String) {
        try watchd.emit(source)
        let ended = try watchd.waitForLines(1, in: "ended")
        return (ended[0], watchd.folder.text("said"))
    }

    @Test(arguments: [
        ("run other --wait", "waits on serial queue line behind operation 1"),
        ("wait line", "queue line is not empty before operation 1 ends"),
        ("wait members", "group members is not empty before operation 1 ends"),
        ("wait 1", "operation 1 is the one that waits"),
        ("wait line --timeout 1h", "queue line is not empty before operation 1 ends"),
    ])
    func waitingForOneselfIsRefusedWithItsChain(words: String, link: String) throws {
        try withWatchd(words: words) { watchd in
            let (code, said) = try call("waits", watchd)
            #expect(code == "1")
            #expect(said.contains(link), "\(said)")
            #expect(said.contains("so it is refused"), "\(said)")
            // The handler is not harmed, and nothing is left in the way.
            try watchd.waitForEnded(1, of: "waits")
            try watchd.waitUntilIdle()
        }
    }

    @Test func waitingForWhatCanEndBeforeIsAllowed() throws {
        try withWatchd(words: "run free --wait") { watchd in
            let code = try call("waits", watchd).code
            #expect(code == "0")
        }
        // Without waiting there is nothing to refuse.
        try withWatchd(words: "run other") { watchd in
            #expect(try call("waits", watchd).code == "0")
            try watchd.waitForEnded(1, of: "other")
        }
    }

    @Test func aReloadIsRefusedOnMainOnly() throws {
        try withWatchd { watchd in
            let (code, said) = try call("main", watchd)
            #expect(code == "1")
            #expect(said.contains("a reload waits for operation 1, which runs on main"), "\(said)")
        }
        try withWatchd { watchd in
            let code = try call("elsewhere", watchd).code
            #expect(code == "0")
        }
    }

    @Test func aHandlerMayStopTheDaemonBecauseThatDoesNotWait() throws {
        try withWatchd { watchd in
            try watchd.emit("stops")
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("ended") == ["0"])
        }
    }

    @Test func aProcessThatHasLeftItsParentsIsKnownByItsEnvironment() throws {
        let script = """
            #!/bin/sh
            folder=${0%/*}
            setsid -f sh -c "$folder/call wait line; echo \\$? >$folder/ended.new; mv $folder/ended.new $folder/ended" \\
                >"$folder/said" 2>&1
            until [ -e "$folder/ended" ]; do sleep 0.1; done

            """
        try withWatchd { watchd in
            try watchd.folder.write("script", script, mode: 0o755)
            let (code, said) = try call("waits", watchd)
            #expect(code == "1")
            #expect(said.contains("queue line is not empty"), "\(said)")
        }
    }

    @Test func aRunThatHasForgottenItsEnvironmentIsKnownByItsProcess() throws {
        let script = """
            #!/bin/sh
            exec env -i PATH="$PATH" /bin/sh -c '
                "$1/call" wait line >"$1/said" 2>&1
                echo "$?" >"$1/ended.new"
                mv "$1/ended.new" "$1/ended"
            ' - "${0%/*}"

            """
        try withWatchd { watchd in
            try watchd.folder.write("script", script, mode: 0o755)
            let (code, said) = try call("waits", watchd)
            #expect(code == "1")
            #expect(said.contains("queue line is not empty"), "\(said)")
        }
    }

    @Test(arguments: [(20, "so it is refused"), (70, "timed out waiting for line")])
    func onlySoManyAncestorsAreLookedAt(depth: Int, answer: String) throws {
        let script = """
            #!/bin/sh
            exec env -i PATH="$PATH" /bin/sh -c '
                "$1/deep" "$1" \(depth) >"$1/said" 2>&1
                echo "$?" >"$1/ended.new"
                mv "$1/ended.new" "$1/ended"
            ' - "${0%/*}"

            """
        let deep = """
            #!/bin/sh
            [ "$2" -gt 0 ] || exec "$1/call" wait line --timeout 1ms
            "$0" "$1" $(($2 - 1))
            exit $?

            """
        try withWatchd { watchd in
            try watchd.folder.write("script", script, mode: 0o755)
            try watchd.folder.write("deep", deep, mode: 0o755)
            let (code, said) = try call("waits", watchd)
            #expect(code == "1")
            #expect(said.contains(answer), "\(said)")
        }
    }

    @Test(arguments: ["enter visitors --pid $$", "enter visitors"])
    func aRunThatIsInsideAGroupMayNotWaitForIt(words: String) throws {
        let script = """
            #!/bin/sh
            folder=${0%/*}
            "$folder/call" group \(words) >"$folder/said" 2>&1
            "$folder/call" wait visitors >>"$folder/said" 2>&1
            echo "$?" >"$folder/ended.new"
            mv "$folder/ended.new" "$folder/ended"

            """
        try withWatchd { watchd in
            try watchd.folder.write("script", script, mode: 0o755)
            let (code, said) = try call("waits", watchd)
            #expect(code == "1")
            #expect(said.contains("so it is refused"), "\(said)")
            #expect(said.contains("group visitors is not empty before ticket"), "\(said)")
            try watchd.waitUntilIdle()
            #expect(try watchd.control("wait", "visitors").code == 0)
        }
    }

    @Test func aWaitWhoseClientHasGoneIsWithdrawn() throws {
        // The first waits for the queue of the second, which may not wait for the first as long as that waits.
        let first = """
            #!/bin/sh
            folder=${0%/*}
            "$folder/call" wait other-line &
            until [ -e "$folder/refused" ]; do
                sleep 0.02
                # Where the second one asked just then, it was this one who was refused.
                if ! kill -0 $! 2>/dev/null; then "$folder/call" wait other-line & fi
            done
            kill $!
            until [ -e "$folder/ended" ]; do sleep 0.1; done

            """
        let second = """
            #!/bin/sh
            folder=${0%/*}
            until "$folder/call" wait line --timeout 1ms 2>&1 | grep -q refused; do sleep 0.1; done
            : >"$folder/refused"
            until "$folder/call" wait line --timeout 1ms 2>&1 | grep -q 'timed out'; do sleep 0.1; done
            : >"$folder/ended"

            """
        try withWatchd { watchd in
            try watchd.folder.write("script", first, mode: 0o755)
            try watchd.folder.write("second", second, mode: 0o755)
            try watchd.emit("second")
            try watchd.emit("waits")
            try wait(for: "the wait to be withdrawn") { watchd.folder.exists("ended") }
            try watchd.waitUntilIdle()
        }
    }

    @Test func anEnvironmentThatNamesNothingThatRunsIsNotBelieved() throws {
        try withWatchd(words: "status") { watchd in
            #expect(try call("waits", watchd).code == "0")
            try watchd.waitForEnded(1, of: "waits")
            let end = try watchd.control("run", "other", "--wait", launcher: ["env", "WATCHD_OPERATION=1"])
            #expect(end.code == 0, "\(end)")
        }
    }
}
