import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Changes of files survive a stop and a kill, and are told once.
@Suite("File changes across lives, end to end", .ownThread) struct SnapshotTests {
    private static let text = """
        [Path in]
        Path=@/in
        Events=changed
        Key=%p
        Exec=/bin/sh -c "echo $1 $2 >>@/told" sh %{event} %f

        """

    /// Waits for `go`.
    private static let slow = text.replacing(
        "Exec=/bin/sh -c \"echo $1 $2 >>@/told\" sh %{event} %f", with: "Exec=@/job")

    /// The second handler is busy with the first file.
    private static let both =
        text.replacing("Exec=", with: "Handler=fast slow\n[Handler fast]\nExec=") + """
            [Handler slow]
            Exec=@/job
            Queue=one
            [Queue one]
            Type=serial

            """

    private static let kept =
        text + """
            Queue=kept
            [Queue kept]
            Durable=yes

            """

    private func run(_ text: String, _ files: [String] = ["old", "same"], _ body: (Lives) throws -> Void) throws {
        try Lives.run(text) { folder in
            try folder.makeFolder("in")
            for name in files { try folder.write("in/\(name)", "1") }
        } body: {
            try body($0)
        }
    }

    private func told(_ lives: Lives) -> [String] { lives.folder.lines("told") }

    /// Names in the store, of those whose stamp is trusted.
    static func stored(_ lives: Lives) throws -> Set<String> {
        let code = """
            import sqlite3, sys
            database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
            for path, state in database.execute("SELECT path, state FROM path_entry"):
                if state[2] == 0: print(path.decode())
            """
        let read = try Program.run(["python3", "-c", code, lives.folder["state/watchd.db"]])
        return Set(String(decoding: read.output, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// What stands there was handled, is in the store, and was looked at again.
    private func waitUntilStored(_ lives: Lives) throws {
        let names = try Linux.readFolder(lives.folder["in"]).map { String(decoding: $0.name, as: UTF8.self) }
        try wait(for: "all of \(names) to be stored") { try Self.stored(lives) == Set(names) }
    }

    private func waitUntilCompared(_ lives: Lives) throws {
        try wait(for: "the comparison") {
            try !lives.watchd.status().problems.contains { $0.problem.contains("compar") }
        }
    }

    /// A file that comes now is the last that is told.
    private func waitForLast(_ lives: Lives) throws {
        try waitUntilCompared(lives)
        try lives.folder.write("in/last", "")
        try wait(for: "the last one") { told(lives).contains { $0.hasSuffix(" last") } }
        try lives.watchd.waitUntilIdle()
    }

    @Test(arguments: [false, true]) func whatHappenedMeanwhileIsTold(isKilled: Bool) throws {
        try run(Self.text) { lives in
            let folder = lives.folder
            try folder.write("in/a", "")
            try wait(for: "the first") { told(lives) == ["written a"] }
            try waitUntilStored(lives)
            if isKilled { lives.kill() } else { lives.stop() }
            try folder.write("in/b", "")
            try Linux.unlink(folder["in/old"])
            try folder.write("in/a", "2")
            try lives.start()
            try wait(for: "what came meanwhile") { told(lives).count == 4 }
            #expect(told(lives).dropFirst().sorted() == ["deleted old", "written a", "written b"])
            try waitForLast(lives)
            #expect(told(lives).count == 5)
            try waitUntilStored(lives)
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            try Linux.unlink(folder["in/last"])
            try wait(for: "the next") { told(lives).last == "deleted last" }
            #expect(told(lives).count == 6, "nothing is told twice: \(told(lives))")
        }
    }

    @Test func whatARunDidNotEndIsToldAgainAfterAKill() throws {
        try run(Self.slow) { lives in
            try lives.folder.write("in/a", "")
            try lives.waitForBegun(1)
            try lives.killAll()
            try lives.folder.write("go", "")
            try lives.start()
            let jobs = try lives.waitForBegun(2)
            #expect(jobs[1].told.events.first?.members?["recovered"] == .bool(true))
            let line = "written \(lives.folder["in/a"]), recovered"
            try wait(for: "the log to say so") { lives.watchd.logText.contains(line) }
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func whatAStopCancelledIsToldAgain() throws {
        try run(Self.text) { lives in
            try lives.watchd.suspend("queue/default")
            for name in ["a", "b", "c"] { try lives.folder.write("in/\(name)", "") }
            try Linux.unlink(lives.folder["in/old"])
            try wait(for: "all to wait") { try lives.watchd.status().totals.pending == 4 }
            lives.stop()
            #expect(told(lives) == [])
            try lives.start()
            try lives.watchd.resume("queue/default")
            try wait(for: "all") { told(lives).count == 4 }
            #expect(Set(told(lives)) == ["written a", "written b", "written c", "deleted old"])
            try waitForLast(lives)
            #expect(told(lives).count == 5)
        }
    }

    @Test(arguments: [false, true], ["no", "yes"])
    func theEndOfAFileIsToldWhereOneOfTwoHandlersKnewIt(isKilled: Bool, isRecursive: String) throws {
        try run(Self.both.replacing("Key=%p", with: "Key=%p\nRecursive=\(isRecursive)")) { lives in
            try lives.folder.write("in/busy", "")
            try lives.waitForBegun(1)
            for name in ["gone", "moved"] { try lives.folder.write("in/\(name)", "") }
            try wait(for: "both files") { Set(told(lives)).isSuperset(of: ["written gone", "written moved"]) }
            try Linux.rename(lives.folder["in/moved"], to: lives.folder["in/there"])
            try wait(for: "one of two handlers") { told(lives).contains("renamed there") }
            try wait(for: "that to be stored") { try Self.stored(lives).isSuperset(of: ["gone", "there"]) }
            if isKilled {
                lives.kill()
            } else {
                lives.watchd.send(SIGTERM)
                try wait(for: "the stop") { lives.watchd.logText.contains("SIGTERM from ") }
                try lives.folder.write("go", "")
                lives.watchd.waitForEnd()
            }
            for name in ["gone", "there"] { try Linux.unlink(lives.folder["in/\(name)"]) }
            let before = told(lives).count
            try lives.start()
            try wait(for: "their ends") {
                Set(told(lives).dropFirst(before)).isSuperset(of: ["deleted gone", "deleted there"])
            }
            try lives.folder.write("go", "")
        }
    }

    /// The store keeps the operation: a comparison does not make a second one.
    @Test(arguments: [false, true]) func whatADurableQueueKeepsRunsOnce(isKilled: Bool) throws {
        try run(Self.kept) { lives in
            try lives.watchd.suspend("queue/kept")
            for name in ["a", "b", "c"] { try lives.folder.write("in/\(name)", "") }
            try wait(for: "all to wait") { try lives.watchd.status().totals.pending == 3 }
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            try waitUntilCompared(lives)
            #expect(try lives.operations().count == 3)
            try lives.watchd.resume("queue/kept")
            try waitForLast(lives)
            #expect(told(lives).sorted() == ["written a", "written b", "written c", "written last"])
        }
    }

    @Test func aReloadThatBringsTheSourceBackCompares() throws {
        try run(Self.text) { lives in
            try lives.folder.write("in/a", "")
            try wait(for: "the first") { told(lives) == ["written a"] }
            try waitUntilStored(lives)
            try lives.write("[Custom other]\nExec=/bin/true\n")
            try lives.watchd.call(Reload.self, .init())
            try lives.folder.write("in/b", "")
            try lives.write(Self.text)
            try lives.watchd.call(Reload.self, .init())
            try wait(for: "what came meanwhile") { told(lives) == ["written a", "written b"] }
            try waitForLast(lives)
            #expect(told(lives) == ["written a", "written b", "written last"])
        }
    }

    @Test func existingTellsAllAtEachStart() throws {
        try run(Self.text.replacing("Key=%p", with: "Key=%p\nInitial=existing")) { lives in
            try wait(for: "all") { told(lives).sorted() == ["written old", "written same"] }
            try lives.watchd.waitUntilIdle()
            lives.stop()
            try lives.start()
            try wait(for: "all again") { told(lives).count == 4 }
        }
    }

    @Test func aRootThatIsMissingAtTheStartIsNotDeleted() throws {
        try run(Self.text) { lives in
            lives.stop()
            try Linux.rename(lives.folder["in"], to: lives.folder["away"])
            try lives.folder.write("away/old", "2")
            try lives.start()
            try wait(for: "it to say so") { try lives.watchd.source("in").state == .waiting }
            try Linux.rename(lives.folder["away"], to: lives.folder["in"])
            try wait(for: "what has changed") { told(lives) == ["written old"] }
            try waitForLast(lives)
            #expect(told(lives) == ["written old", "written last"])
        }
    }

    /// Its own writes would be news for ever.
    @Test func theStateFolderIsNotWatched() throws {
        let text = Self.text.replacing("Path=@/in", with: "Path=@/state @/in").replacing(
            "Events=changed", with: "Events=changed modified created attributes")
        try run(text) { lives in
            try lives.folder.write("in/a", "")
            try wait(for: "the file") { told(lives).contains("written a") || told(lives).contains("created a") }
            try waitForLast(lives)
            #expect(!told(lives).contains { $0.contains("watchd.") }, "\(told(lives))")
        }
    }
}
