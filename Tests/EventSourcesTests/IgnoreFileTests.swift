import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// `IgnoreFile=` with the real kernel.
@Suite("Ignore files in a tree", .ownThread) struct IgnoreFileTests {
    private func with(
        _ before: String, _ events: PathEvents = .changed, polling: PathTrigger.Polling = PathTrigger.Polling(),
        _ body: (TreeSetup) throws -> Void
    ) throws {
        try TreeSetup.with(
            events, ignoreFile: ".gitignore", polling: polling, before: { try TreeSetup.shell(before, in: $0["in"]) },
            body)
    }

    private func watches(_ setup: TreeSetup) -> Int { setup.rim.on(setup.source) { $0.watchCount } }

    private func limit(_ setup: TreeSetup) -> String? { setup.rim.limits.last ?? nil }

    @Test func whatIsIgnoredIsNotToldAndTakesNoWatch() throws {
        let tree = "mkdir -p build/deep d/e; printf '*.log\\nbuild/\\n!build/keep\\n' > .gitignore"
        try with("\(tree); echo '!a.log' > d/.gitignore") { setup in
            // The root, d, d/e, and the folder of the root.
            let all = watches(setup)
            try setup.shell(
                "mkdir build/x n; echo > build/x/f; echo > build/keep; echo > a.log; echo > a; echo > d/a.log")
            try setup.shell("echo > d/b.log; echo > d/e/a.log; echo > d/e/b.log; mkdir d/build; echo > d/build/f")
            try setup.shell("mkdir -p n/build; echo > n/build/f; rm a.log")
            try setup.expect(["written a", "written d/a.log", "written d/e/a.log"])
            // n, and two for the marker.
            #expect(watches(setup) == all + 3)
        }
    }

    /// The folder that it comes from, or the one that it comes to.
    @Test(
        arguments: [
            ("mkdir sub; echo sub > sub/.gitignore", "mv sub/.gitignore .", "sub/x"),
            (
                "mkdir -p sub/b; echo b > .gitignore; echo '!b' > sub/.gitignore",
                "mv sub/.gitignore sub/b", "sub/b/x"
            ),
        ])
    func oneThatIsMovedMayLeaveOutAFolderOfTheMove(before: String, move: String, ignored: String) throws {
        try with(before) { setup in
            try setup.shell(move)
            try setup.settle()
            try setup.shell("echo > \(ignored); echo > a")
            try wait(for: "the others to be told, not \(setup.told)") { setup.told.contains("written a") }
            #expect(!setup.told.contains("written \(ignored)"))
        }
    }

    @Test func aChangeOfTheFileCountsForWhatComesAfterIt() throws {
        try with("mkdir d; echo '*.log' > .gitignore") { setup in
            // A file is judged by the ignore file that stands there when its report is read.
            for commands in [
                "echo > d/a.log; echo '*.txt' > .gitignore; echo > d/b.log; echo > d/b.txt",
                "echo '*.log' > new; mv new .gitignore; echo > d/c.log; echo > d/c.txt",
                "echo '*.txt' >> d/.gitignore; echo > d/d.log; echo > d/d.txt; echo > d.txt",
                "rm d/.gitignore; echo > d/e.txt; rm .gitignore; echo > d/e.log",
            ] {
                try setup.shell(commands)
                try setup.settle()
            }
            let files = setup.told.filter { !$0.contains("ignore") && !$0.contains("new") }
            try wait(for: "the last one, not \(files)") { setup.told.contains("written d/e.log") }
            try setup.settle()
            let told = setup.told.filter { !$0.contains("ignore") && !$0.contains("new") }
            #expect(
                told.sorted() == [
                    "written d.txt", "written d/b.log", "written d/c.txt", "written d/e.log", "written d/e.txt",
                ])
        }
    }

    @Test func whatIsIgnoredNoMoreIsNoNewsButWhatIsWrittenThen() throws {
        try with("mkdir -p build/deep; echo > build/a; echo > build/deep/a; echo build > .gitignore") { setup in
            try setup.shell("echo > .gitignore; echo > build/b; mkdir build/new; echo > build/new/c")
            try wait(for: "what was written then, not \(setup.told)") {
                Set(["build/b", "build/new/c"]).isSubset(of: setup.facts.map { setup.below($0.path) })
            }
            try setup.settle()
            try setup.shell("echo > build/a; echo > build/deep/d")
            try wait(for: "it to be watched") { setup.told.contains("written build/deep/d") }
            let told = Set(setup.facts.map { setup.below($0.path) })
            #expect(told == [".gitignore", "build/b", "build/new/c", "build/a", "build/deep/d"])
        }
    }

    @Test(arguments: ["rm .gitignore", "mv .gitignore ../out", "rm .gitignore; mkdir .gitignore"])
    func whatAnIgnoreFileThatGoesHasIgnoredIsNoNews(_ commands: String) throws {
        try with("mkdir -p build/deep; echo > build/a; echo > build/deep/a; echo build > .gitignore") { setup in
            // Nobody knows when it went: what was changed in the two seconds before may be told.
            try wait(for: "old files") {
                try Linux.now(.realtime) * 1000 - Linux.lstat(setup.folder["in/build/deep/a"]).changed > 2_500_000_000
            }
            try setup.shell("\(commands); echo > build/b")
            try wait(for: "what was written then, not \(setup.told)") {
                setup.facts.contains { setup.below($0.path) == "build/b" }
            }
            try setup.settle()
            try setup.shell("echo > build/deep/d")
            try wait(for: "it to be watched") { setup.told.contains("written build/deep/d") }
            let told = Set(setup.facts.map { setup.below($0.path) }).subtracting([".gitignore"])
            #expect(told == ["build/b", "build/deep/d"])
        }
    }

    @Test func aFolderThatIsIgnoredFromNowOnGivesUpItsWatches() throws {
        try with("mkdir -p build/deep d; echo > build/deep/a") { setup in
            let all = watches(setup)
            try setup.shell("echo build > .gitignore; echo > build/deep/b; rm -r build; mkdir build; echo > build/c")
            try setup.expect(["written .gitignore"])
            #expect(watches(setup) == all)
        }
    }

    @Test func aRenameAcrossIsItsMeaningAtTheEndThatIsTold() throws {
        try with("mkdir d build; echo > a; echo > b.log; echo > d/x; printf '*.log\\nbuild\\n' > .gitignore") { setup in
            try setup.shell("mv a a.log; mv b.log b; mv d build/d")
            try setup.expect(["deleted a", "written b", "deleted d/x", "deleted d/"])
            try setup.shell("mv build/d d; echo > build/d")
            try wait(for: "it to be back") { setup.told.contains("written d/x") }
        }
    }

    @Test func anIgnoreFileGoesWithItsFolder() throws {
        try with("mkdir -p d/e; echo > d/e/a.log; echo '*.log' > d/.gitignore") { setup in
            try setup.shell(
                "mv d f; echo > f/b.log; echo > f/e/c.log; mkdir d; echo > d/d.log; mv f out; echo > out/e/e.log")
            try wait(for: "the other one") { setup.told.contains("written d/d.log") }
            try setup.settle()
            #expect(!setup.told.contains { $0.contains(".log") && !$0.contains("d/d.log") }, "\(setup.told)")
        }
    }

    @Test func byComparingItIsTheSame() throws {
        let polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(100))
        try with("mkdir build d; printf '*.log\\nbuild\\n' > .gitignore", polling: polling) { setup in
            try setup.shell("echo > build/a; echo > d/a.log; echo > d/a")
            try wait(for: "the file") { setup.told.contains("written d/a*") }
            try setup.shell("echo '*.txt' > d/.gitignore; echo > d/b.txt; echo > d/b")
            try wait(for: "the next one") { setup.told.contains("written d/b*") }
            #expect(!setup.told.contains { $0.contains("build") || $0.contains(".log") || $0.contains("txt") })
        }
    }

    @Test func aReloadReadsThemAndForgetsThemAgain() throws {
        try HandledSetup.with(["build/a", "b.log", "c"]) { setup in
            setup.isRecursive = true
            try setup.folder.write("in/.gitignore", "*.log\nbuild/\n")
            try setup.live { life in
                let all = life.rim.on(life.source) { $0.watchCount }
                life.reopen { $0.ignoreFile = Array(".gitignore".utf8) }
                try wait(for: "the watch to be given up") { life.rim.on(life.source) { $0.watchCount } == all - 1 }
                try setup.folder.write("in/build/a", "new")
                try setup.folder.write("in/b.log", "new")
                try setup.folder.write("in/c", "new")
                try wait(for: "the file, not \(life.told)") { life.told == ["written c"] }
                life.reopen { $0.ignoreFile = nil }
                // A file that is written while it is listed may be told twice.
                try wait(for: "the folder to be watched and listed") {
                    life.rim.on(life.source) { source in
                        source.watchCount == all && (source as? PathSource)?.roots.allSatisfy { !$0.isListing } == true
                    }
                }
                try setup.folder.write("in/build/a", "newer")
                try wait(for: "the file, not \(life.told)") {
                    life.told.map { $0.replacing("*", with: "") } == ["written c", "written build/a"]
                }
            }
        }
    }

    @Test func whatIsIgnoredIsNotComparedAtTheNextStart() throws {
        try HandledSetup.with(["build/a", "b.log", "c"]) { setup in
            (setup.isRecursive, setup.ignoreFile) = (true, ".gitignore")
            try setup.folder.write("in/.gitignore", "*.log\nbuild/\n")
            try setup.begin()
            for name in ["build/a", "b.log", "c"] { try setup.folder.write("in/\(name)", "another one") }
            try setup.live { life in
                try life.waitUntilCompared()
                #expect(life.told == ["written c*"])
                try life.handleAll()
            }
            try setup.expectNothing()
        }
    }

    // MARK: Ignore files that are none

    private static let wrong: [(String, String)] = [
        ("mkfifo .gitignore", "not applied: it is a FIFO, and not a file"),
        ("mkdir .gitignore", "not applied: it is a folder, and not a file"),
        ("ln -s rules .gitignore", "not applied: it is a symbolic link, which git does not follow either"),
        ("head -c 300000 /dev/zero > .gitignore", "not applied: it has more than 262144 bytes"),
        ("yes x | head -n 10001 > .gitignore", "not applied: it has more than 10000 patterns"),
    ]

    @Test(arguments: wrong) func whatIsNoIgnoreFileIsNamed(_ commands: String, _ reason: String) throws {
        try with("mkdir d; echo 'x' > rules; \(commands)") { setup in
            try wait(for: "\(reason), not \(limit(setup) ?? "")") {
                limit(setup)?.hasSuffix("/in/.gitignore \(reason)") == true
            }
            #expect(setup.rim.warnings.count { $0.hasSuffix(reason) } == 1, "\(setup.rim.warnings)")
            try setup.shell("echo > d/x; rm -r .gitignore; echo x > .gitignore; echo > x; echo > d/y")
            try wait(for: "the last one") { setup.told.contains("written d/y") }
            try setup.settle()
            #expect(setup.told.contains("written d/x") && !setup.told.contains("written x"), "\(setup.told)")
            try wait(for: "it to be read") { limit(setup) == nil }
        }
    }

    @Test func aFileThatIsNoTextIsReadAsItIs() throws {
        try with("printf 'a\\377*\\n\\001b\\n' > .gitignore") { setup in
            try setup.shell("touch \"$(printf 'a\\377b')\" \"$(printf '\\001b')\" b")
            try setup.expect(["written b", "written .gitignore"].filter { $0 != "written .gitignore" })
        }
    }

    @Test func patternsThatTakeTooLongAreNamedAndNothingWaits() throws {
        let hard = "$(for n in $(seq 40); do printf '**/'; done)$(for n in $(seq 100); do printf '*a'; done)b"
        let long = "$(for n in $(seq 12); do printf '%0.sa' $(seq 250); printf /; done)"
        try with("for n in $(seq 600); do echo \"\(hard)\"; done > .gitignore; mkdir -p \"\(long)\"") { setup in
            try setup.shell("echo > \"\(long)/f\"")
            try wait(for: "the file") { setup.told.contains { $0.hasSuffix("/f") } }
            try wait(for: "the sentence") {
                limit(setup)?.hasSuffix("not applied: its patterns take too long for some paths, which are told")
                    == true
            }
        }
    }
}
