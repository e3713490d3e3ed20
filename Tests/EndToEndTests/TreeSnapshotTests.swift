import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Changes in trees survive a stop and a kill, and are told once.
@Suite("Changes in trees across lives, end to end", .ownThread) struct TreeSnapshotTests {
    private static let text = """
        [Path in]
        Path=@/in
        Recursive=yes
        Events=changed
        Key=%p
        Exec=/bin/sh -c "echo $1 $2 >>@/told" sh %{event} %r

        """

    private func run(_ text: String = text, _ body: (Lives) throws -> Void) throws {
        try Lives.run(text) { folder in
            try folder.makeFolder("in")
            try shell("mkdir -p d/e f; for name in a d/b d/e/c f/x same; do echo old >$name; done", folder)
        } body: {
            try body($0)
        }
    }

    private func shell(_ text: String, _ folder: Folder) throws {
        let made = try Program.run(["sh", "-ec", text], folder: folder["in"])
        #expect(made.status == .exited(0), "\(text): \(made)")
    }

    private func told(_ lives: Lives) -> [String] { lives.folder.lines("told") }

    /// Everything in the tree is in the store, with a stamp that is trusted.
    private func waitUntilStored(_ lives: Lives, but left: Set<String> = []) throws {
        let found = try Program.run(["find", ".", "-printf", "%P\\n"], folder: lives.folder["in"])
        let all = Set(String(decoding: found.output, as: UTF8.self).split(separator: "\n").map(String.init))
        try wait(for: "all of \(all.subtracting(left).sorted()) to be stored") {
            try SnapshotTests.stored(lives).subtracting([""]) == all.subtracting(left)
        }
    }

    private func waitUntilCompared(_ lives: Lives) throws {
        try wait(for: "the comparison") {
            try !lives.watchd.status().problems.contains { $0.problem.contains("compar") }
        }
    }

    /// A file that comes now is the last that is told.
    private func waitForLast(_ lives: Lives, _ name: String = "d/last") throws {
        try waitUntilCompared(lives)
        try lives.folder.write("in/\(name)", "")
        try wait(for: "the last one") { told(lives).contains { $0.hasSuffix(" \(name)") } }
        try lives.watchd.waitUntilIdle()
    }

    private func reload(_ lives: Lives, _ text: String) throws {
        try lives.write(text)
        try lives.watchd.call(Reload.self, .init())
    }

    // MARK: A stop, a kill

    @Test(arguments: [false, true]) func whatHappenedMeanwhileIsTold(isKilled: Bool) throws {
        try run { lives in
            try lives.folder.write("in/d/n", "")
            // What came and went is known to nobody.
            try shell("mkdir t u; echo >u/n; rm -r u t; touch d/tmp; rm d/tmp", lives.folder)
            try wait(for: "the first") { told(lives).contains("written d/n") }
            try lives.watchd.waitUntilIdle()
            // Only now has all been told that there was to tell of `d/tmp`.
            try waitUntilStored(lives)
            try lives.folder.write("told", "written d/n\n")
            if isKilled { lives.kill() } else { lives.stop() }
            try shell("rm -r f; mv d/e e; echo new >d/b; mkdir -p g/h; echo >g/h/y", lives.folder)
            try lives.start()
            let expected = [
                "deleted d/e", "deleted d/e/c", "deleted f", "deleted f/x", "written d/b", "written e/c",
                "written g/h/y",
            ]
            try wait(for: "what came meanwhile") { told(lives).dropFirst().sorted() == expected }
            try waitForLast(lives)
            #expect(told(lives).count == expected.count + 2)
            try waitUntilStored(lives)
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            try waitForLast(lives, "g/h/last")
            #expect(told(lives).count == expected.count + 3, "nothing is told twice: \(told(lives))")
        }
    }

    @Test func whatAKillOrAStopLeftUndoneIsToldAgain() throws {
        try run { lives in
            for isKilled in [true, false] {
                try lives.watchd.suspend("queue/default")
                let before = told(lives).count
                try shell("echo \(isKilled) >d/e/c; mkdir m\(isKilled); echo >m\(isKilled)/n; rm -f f/x", lives.folder)
                let count = isKilled ? 3 : 2
                try wait(for: "all to wait") { try lives.watchd.status().totals.pending == count }
                if isKilled { lives.kill() } else { lives.stop() }
                #expect(told(lives).count == before)
                try lives.start()
                try lives.watchd.resume("queue/default")
                try wait(for: "all") { told(lives).count == before + count }
                let all = ["written d/e/c", "written m\(isKilled)/n"] + (isKilled ? ["deleted f/x"] : [])
                #expect(told(lives).dropFirst(before).sorted() == all.sorted())
                try lives.watchd.waitUntilIdle()
                try waitUntilStored(lives)
            }
            try waitForLast(lives)
            #expect(told(lives).count == 6)
        }
    }

    @Test(arguments: [false, true]) func whatADurableQueueKeepsRunsOnce(isKilled: Bool) throws {
        let text = Self.text + "Queue=kept\n[Queue kept]\nDurable=yes\n"
        try run(text) { lives in
            try lives.watchd.suspend("queue/kept")
            try shell("echo new >d/b; mkdir m; echo >m/n; rm f/x", lives.folder)
            try wait(for: "all to wait") { try lives.watchd.status().totals.pending == 3 }
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            try waitUntilCompared(lives)
            #expect(try lives.operations().count == 3)
            try lives.watchd.resume("queue/kept")
            try waitForLast(lives)
            #expect(told(lives).sorted() == ["deleted f/x", "written d/b", "written d/last", "written m/n"])
        }
    }

    /// The source has no room for all that it finds.
    @Test func readyDoesNotWaitForTheComparison() throws {
        let text = Self.text + "Queue=narrow\n[Queue narrow]\nBacklog=10\n"
        try run(text) { lives in
            try waitUntilStored(lives)
            lives.stop()
            try shell("for n in $(seq 200); do mkdir n$n; echo >n$n/f; done; rm -r f", lives.folder)
            try lives.write(text + "Suspended=yes\n")
            try lives.start(text + "Suspended=yes\n")
            try wait(for: "it to be full") { try lives.watchd.source("in").state == .held }
            try lives.watchd.resume("queue/narrow")
            try wait(for: "all", seconds: 120) { told(lives).count == 202 }
            try waitForLast(lives)
            #expect(Set(told(lives)).count == 203 && told(lives).count == 203)
        }
    }

    // MARK: Initial=

    @Test func existingAndOnceTellAll() throws {
        let all = ["written a", "written d/b", "written d/e/c", "written f/x", "written same"]
        try run(Self.text + "Initial=once\n") { lives in
            try wait(for: "all") { told(lives).sorted() == all }
            try lives.watchd.waitUntilIdle()
            try waitUntilStored(lives)
            lives.stop()
            try lives.start()
            try waitForLast(lives)
            #expect(told(lives).count == 6)
            lives.stop()
            try lives.start(Self.text + "Initial=existing\n")
            try wait(for: "all again") { told(lives).dropFirst(6).sorted() == (all + ["written d/last"]).sorted() }
            lives.stop()
            try lives.start(Self.text + "Initial=none\n")
            try waitForLast(lives, "last")
            #expect(told(lives).count == 13)
        }
    }

    @Test func aRootThatIsMissingAtTheStartIsNotDeleted() throws {
        try run { lives in
            try waitUntilStored(lives)
            lives.stop()
            try Linux.rename(lives.folder["in"], to: lives.folder["away"])
            try lives.folder.write("away/d/b", "2")
            try lives.start()
            try wait(for: "it to say so") { try lives.watchd.source("in").state == .waiting }
            try Linux.rename(lives.folder["away"], to: lives.folder["in"])
            try wait(for: "what has changed") { told(lives) == ["written d/b"] }
            try waitForLast(lives)
            #expect(told(lives) == ["written d/b", "written d/last"])
        }
    }

    // MARK: Reload

    @Test func aReloadTellsNothingOfWhatItNewlyLetsIn() throws {
        try run(Self.text.replacing("Recursive=yes", with: "Recursive=no")) { lives in
            // Of the whole tree, but for one folder.
            try reload(lives, Self.text + "Prune=e\n")
            try waitForLast(lives, "d/one")
            try waitUntilStored(lives, but: ["d/e", "d/e/c"])
            // That folder too, but for some files.
            try reload(lives, Self.text + "Exclude=*.tmp\n")
            try lives.folder.write("in/d/x.tmp", "")
            try waitForLast(lives, "d/e/two")
            // All.
            try reload(lives, Self.text)
            try waitForLast(lives, "d/e/three")
            try waitUntilStored(lives)
            lives.kill()
            try lives.folder.write("in/d/e/c", "new")
            try lives.start()
            try wait(for: "what has changed") { told(lives).last == "written d/e/c" }
            try waitForLast(lives, "f/four")
            try reload(lives, Self.text.replacing("Recursive=yes", with: "Recursive=no"))
            try waitForLast(lives, "five")
            #expect(
                told(lives) == [
                    "written d/one", "written d/e/two", "written d/e/three", "written d/e/c", "written f/four",
                    "written five",
                ])
            try waitUntilStored(
                lives, but: ["d/b", "d/e", "d/e/c", "d/e/two", "d/e/three", "d/one", "d/x.tmp", "f/x", "f/four"])
        }
    }

    @Test func aReloadThatTakesAwayAPathAndBringsItBackCompares() throws {
        try run { lives in
            try waitUntilStored(lives)
            try lives.folder.makeFolder("other")
            try reload(lives, Self.text.replacing("@/in", with: "@/other"))
            try shell("echo new >d/b; rm -r f", lives.folder)
            try reload(lives, Self.text.replacing("@/in", with: "@/other @/in"))
            try wait(for: "what came meanwhile") {
                told(lives).sorted() == ["deleted f", "deleted f/x", "written d/b"]
            }
            try waitForLast(lives)
            #expect(told(lives).count == 4)
        }
    }
}
