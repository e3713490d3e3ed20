import LinuxSystem
import ProgramKit
import Testing

/// Handlers that wait for each other's places, and one that fills its own queue.
@Suite("Deadlocks of several handlers, end to end", .ownThread) struct SharedDeadlockTests {
    private static let text = """
        [Queue pair]
        Type=concurrent
        Width=2
        [Queue small]
        Backlog=2
        [Custom pair]
        Exec=@/pair
        Queue=pair
        Key=none
        Coalesce=no
        [Custom fills]
        Exec=@/fills
        Queue=small
        Key=none
        Coalesce=no
        [Custom unused]
        Handler=first
        [Handler first]
        Log=first
        Queue=pair

        """

    private func withWatchd(_ body: (Watchd) throws -> Void) throws {
        let prepare: (Folder) throws -> Void = { folder in
            let watchctl = try Products.path("watchctl")
            try folder.write("call", "#!/bin/sh\nexec \(watchctl) --socket ${0%/*}/socket \"$@\"\n", mode: 0o755)
            // Both run before either asks.
            try folder.write(
                "pair",
                """
                #!/bin/sh
                folder=${0%/*}
                echo $$ >>"$folder/pids"
                until [ "$(wc -l <"$folder/pids")" -ge 2 ]; do sleep 0.1; done
                "$folder/call" run first --wait >"$folder/said.$$" 2>&1
                echo "$?" >>"$folder/ended"
                cat "$folder/said.$$" >>"$folder/said"

                """, mode: 0o755)
            try folder.write(
                "fills",
                """
                #!/bin/sh
                folder=${0%/*}
                if mkdir "$folder/begun" 2>/dev/null; then
                    for number in 1 2 3 4; do "$folder/call" emit fills; done
                fi
                echo "$?" >>"$folder/ended"

                """, mode: 0o755)
        }
        try Watchd.run(Self.text, settings: "DrainSec=1", prepare: prepare, body: body)
    }

    @Test func theSecondOfTwoThatFillAQueueAndWaitForItIsRefused() throws {
        try withWatchd { watchd in
            for _ in 0..<2 { try watchd.emit("pair") }
            let ended = try watchd.waitForLines(2, in: "ended")
            #expect(ended.sorted() == ["0", "1"])
            try wait(for: "what it said") { watchd.folder.text("said").contains("is the one that waits") }
            let said = watchd.folder.text("said")
            #expect(said.contains("finds all of queue pair taken by operations 1, 2"), "\(said)")
        }
    }

    @Test func aHandlerThatFillsItsOwnQueueDoesNotWaitForItself() throws {
        try withWatchd { watchd in
            try watchd.emit("fills")
            let ended = try watchd.waitForLines(5, in: "ended")
            #expect(ended.allSatisfy { $0 == "0" })
        }
    }
}
