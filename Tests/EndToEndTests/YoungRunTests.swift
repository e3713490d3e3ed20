import ControlInterface
import Engine
import LinuxSystem
import ProgramKit
import Testing

/// Runs that began in the last moment before a kill: the store has nothing of them.
@Suite("Runs that are young at a kill", .ownThread) struct YoungRunTests {
    private static let text = """
        [Queue wide]
        Type=concurrent
        Width=4
        [Custom job]
        Queue=wide
        Key=%{data}
        Coalesce=no
        OnFailure=tell
        Exec=/bin/sh -c 'echo $$ >>@/begun; until [ -e @/go.$WATCHD_DATA ]; do sleep 0.1; done; exit 1'
        [Handler tell]
        Exec=/bin/sh -c 'echo "told $WATCHD_DATA" >>@/out'
        [Descriptor line]
        ListenFIFO=@/fifo
        Retry=1
        RetrySec=1ms
        Exec=/bin/sh -c 'echo "try $WATCHD_ATTEMPT of $WATCHD_LINE" >>@/out; until [ -e @/go ]; do sleep 0.1; done; exit 6'

        """

    @Test func theNextWatchdKnowsAllOfThem() throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            try lives.watchd.emit("job", data: 6)
            try folder.append("fifo", "text\n")
            let command = "echo by hand >>\(folder["out"]); until [ -e \(folder["go"]) ]; do sleep 0.1; done; exit 3"
            let words = ["--queue", "wide", "--retry", "1", "--", "sh", "-c", command]
            #expect(try lives.watchd.control(["run"] + words).code == 0)
            try lives.watchd.emit("job", data: 7)
            try wait(for: "all to run") {
                folder.lines("begun").count == 2 && folder.lines("out").count == 2
            }
            lives.kill()
            try lives.start()
            // Its key excludes still.
            try lives.watchd.emit("job", data: 7)
            try wait(for: "the other to wait") {
                try lives.watchd.control("status").text.contains("(same key)")
            }
            #expect(folder.lines("begun").count == 2)
            // One after the other: failures that come together are told together.
            try folder.write("go.6", "")
            try wait(for: "6 to be told, not \(folder.lines("out"))") { folder.lines("out").contains("told 6") }
            try folder.write("go", "")
            try wait(for: "the other tries, not \(folder.lines("out"))") {
                let lines = folder.lines("out")
                return lines.contains("try 2 of text") && lines.count { $0 == "by hand" } == 2
            }
            try folder.write("go.7", "")
            try wait(for: "7 to be told, not \(folder.lines("out"))") { folder.lines("out").contains("told 7") }
            try lives.watchd.waitUntilIdle()
            #expect(folder.lines("begun").count == 3)
        }
    }

    /// Without the store of a long run and without a service manager nobody knows how it ended.
    @Test func oneThatHasEndedMeanwhileHasFailedAndThatIsTold() throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            try lives.watchd.emit("job", data: 6)
            try wait(for: "it to run") { folder.lines("begun").count == 1 }
            lives.kill()
            try folder.write("go.6", "")
            let pid = try #require(Int32(folder.lines("begun")[0]))
            try wait(for: "its end") { Linux.isGone(process: pid) }
            try lives.start()
            try wait(for: "it to be told") { folder.lines("out").contains("told 6") }
            let told = try lives.watchd.control("history").text
            // Where process 1 has not waited for it yet, the kernel still says how it ended.
            let isKnown = told.contains("exit 1")
            #expect(isKnown || told.contains("how it ended is not known"), "\(told)")
            #expect(!told.contains("lost"), "\(told)")
        }
    }
}
