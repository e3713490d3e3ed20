import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Commands of sources, and a stop", .ownThreadChain, .serialized) struct SourceCommandTests {
    @Test func aStopAsksThemToEndAndWaitsForThat() throws {
        let text = """
            [Descriptor lines]
            Command=/bin/bash -c 'trap "echo over; sleep 0.2; echo yes >@/clean; exit" TERM; echo up; while :; do sleep 0.1; done'
            Exec=/bin/touch @/up

            """
        try Watchd.run(text) { watchd in
            try wait(for: "its line") { watchd.folder.exists("up") }
            watchd.send(SIGTERM)
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("clean") == ["yes"])
            #expect(Watchd.processes(of: watchd.folder).isEmpty)
        }
    }

    @Test func aSecondSignalKillsThem() throws {
        let text = """
            [Descriptor lines]
            Command=/bin/bash -c 'trap "echo >>@/asked" TERM; echo up; while :; do sleep 0.1; done'
            Exec=/bin/touch @/up

            """
        try Watchd.run(text) { watchd in
            try wait(for: "its line") { watchd.folder.exists("up") }
            watchd.send(SIGTERM)
            try wait(for: "it to be asked") { watchd.folder.exists("asked") }
            watchd.send(SIGTERM)
            // Sooner than its patience is over.
            #expect(watchd.waitForEnd(seconds: 8) == .exited(0))
            #expect(Watchd.processes(of: watchd.folder).isEmpty)
        }
    }

    @Test func oneThatOutlivesAKillEndsBeforeTheNextIsStarted() throws {
        // bash says on standard error, which nobody reads any more, that its sleep was ended.
        let text = """
            [Descriptor lines]
            Command=/bin/bash -c 'trap "" PIPE; trap "echo end $$ >>@/lives; exit" TERM; echo begin $$ >>@/lives; while :; do sleep 0.1; done'
            Log=%{line}

            """
        try Lives.run(text) { lives in
            try wait(for: "the command") { !lives.folder.lines("lives").isEmpty }
            lives.kill()
            try lives.start()
            try wait(for: "the next command") { lives.folder.lines("lives").count >= 3 }
            let said = lives.folder.lines("lives").map { $0.split(separator: " ").map(String.init) }
            #expect(said.map { $0[0] } == ["begin", "end", "begin"] && said[0][1] == said[1][1], "\(said)")
            try lives.watchd.waitForLog(
                "descriptor/lines: its command of an earlier watchd still ran, process \(said[0][1]), and was ended")
        }
    }
}
