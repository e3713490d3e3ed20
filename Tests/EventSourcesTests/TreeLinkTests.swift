import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// `Recursive=yes` with `FollowSymlinks=yes` and the real kernel.
@Suite("Links in trees", .ownThread) struct TreeLinkTests {
    static let polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(20))

    private func with(
        _ events: PathEvents = .changed, prune: [String] = [], filter: PathFilter = PathFilter(),
        ignoreFile: String? = nil, polls: Bool = false, before: String = "", _ body: (TreeSetup) throws -> Void
    ) throws {
        try TreeSetup.with(
            events, prune: prune, filter: filter, ignoreFile: ignoreFile, follows: true,
            polling: polls ? Self.polling : PathTrigger.Polling(),
            before: { try TreeSetup.shell(before, in: $0.path) }, body)
    }

    /// These are told at last, each at least once, and nothing else.
    private func expectAll(
        _ expected: [String], _ setup: TreeSetup, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        func told() -> Set<String> {
            // The names that `ln -f` and these tests give a link before it replaces another one.
            let told = setup.told.filter { !$0.contains(" tmp") && !$0.contains(" Cu") }
            return Set(told.map { $0.hasSuffix("*") ? String($0.dropLast()) : $0 })
        }
        try wait(for: "\(expected), not \(setup.told)", sourceLocation: sourceLocation) {
            told() == Set(expected)
        }
        try setup.settle()
        #expect(told() == Set(expected), sourceLocation: sourceLocation)
    }

    // MARK: Links to folders

    @Test(arguments: [false, true]) func aFolderBehindALinkIsPartOfTheTree(polls: Bool) throws {
        try with(polls: polls, before: "mkdir -p out/t/d in/a; echo > out/t/f; ln -s ../../out/t in/a/l") { setup in
            try setup.shell("echo more >> t/f; echo > t/d/new; mkdir t/e; echo > t/e/g", in: "out")
            try expectAll(["written a/l/f", "written a/l/d/new", "written a/l/e/g"], setup)
            try setup.shell("rm -r t/e", in: "out")
            try wait(for: "its end, not \(setup.told)") { setup.told.contains { $0.hasPrefix("deleted a/l/e/g") } }
        }
    }

    @Test func aNewLinkToAFolderIsAllThatItHolds() throws {
        try with([.changed, .created], before: "mkdir -p out/t/d; echo > out/t/f; echo > out/t/d/g") { setup in
            try setup.shell("ln -s ../out/t l")
            try setup.expect([
                "created l/", "created l/f", "written l/f", "created l/d/", "created l/d/g", "written l/d/g",
            ])
            let told = setup.told.count
            try setup.shell("rm l")
            try wait(for: "its end, not \(setup.told)") { setup.told.contains("deleted l/") }
            #expect(
                setup.told.dropFirst(told).sorted() == ["deleted l/", "deleted l/d/", "deleted l/d/g", "deleted l/f"])
        }
    }

    @Test func whatAFormerLinkLedToIsNotWatchedAnyMore() throws {
        try with(before: "mkdir -p out/t/d; echo > out/t/f") { setup in
            try setup.settle()
            let watches = setup.rim.on(setup.source) { $0.watchCount }
            try setup.shell("ln -s ../out/t l")
            try wait(for: "it to be told") { setup.told.contains("written l/f") }
            try setup.settle()
            try setup.shell("rm l; echo >> ../out/t/f")
            try wait(for: "its end, not \(setup.told)") { setup.told.last == "deleted l/f" }
            try setup.settle()
            #expect(setup.told.last == "deleted l/f")
            // Two for each marker.
            #expect(setup.rim.on(setup.source) { $0.watchCount } == watches + 4)
        }
    }

    /// It leads to where it led, and is made anew twice before anybody looks.
    @Test func whatIsReportedBetweenTwoSwitchesOfALinkIsTold() throws {
        try with(before: "mkdir -p out/t; echo > out/t/f; ln -s ../out/t in/l") { setup in
            try setup.settle()
            let anew = "ln -s ../out/t new; mv -T new l"
            try setup.rim.core.queue.sync { try setup.shell("\(anew); rm ../out/t/f; \(anew)") }
            try wait(for: "its end") { setup.told.contains { $0.hasPrefix("deleted l/f") } }
        }
    }

    @Test func twoLinksToOneFolderAreTwoFolders() throws {
        try with(
            before: "mkdir -p out/t/d out/t/e in/s; ln -s ../out/t in/one; ln -s ../../out/t in/s/two; echo > out/t/d/f"
        ) {
            setup in
            for step in ["echo >> t/d/f", "mv t/d/f t/e/g", "mv t/e t/h"] {
                try setup.shell(step, in: "out")
                try setup.settle()
            }
            let paths = ["one", "s/two"]
            try setup.expect(
                paths.flatMap {
                    [
                        "written \($0)/d/f", "renamed \($0)/d/f > \($0)/e/g", "renamed \($0)/e/ > \($0)/h/",
                        "renamed \($0)/e/g > \($0)/h/g",
                    ]
                })
        }
    }

    /// A folder of the tree that a link leads to as well.
    @Test func aLinkIntoTheTree() throws {
        try with(before: "mkdir -p in/t/d in/o; ln -s ../t in/o/l; echo > in/t/f") { setup in
            try setup.shell("echo > t/new; mv t/f t/d/g; mv t/d/g o/g")
            try setup.expect([
                "written t/new", "written o/l/new", "renamed t/f > t/d/g", "renamed o/l/f > o/l/d/g",
                "renamed t/d/g > o/g", "deleted o/l/d/g",
            ])
        }
    }

    // MARK: Links without an end

    @Test(arguments: [false, true]) func linksToFoldersOnTheWayStandForThemselves(polls: Bool) throws {
        let before = """
            mkdir -p in/a/b out/t; ln -s . in/here; ln -s .. in/up; ln -s ../.. in/a/b/top; ln -s / in/all
            ln -s ../out/t in/t; ln -s ../../in out/t/back; ln -s self in/self; ln -s y in/x; ln -s x in/y
            """
        try with(polls: polls, before: before) { setup in
            let known = setup.rim.on(setup.source) { Self.tree(of: $0).count }
            #expect(known == 12)
            try setup.shell("echo > a/b/f")
            try expectAll(["written a/b/f"], setup)
            try setup.shell("ln -s . again; ln -s ../t/back/a a/round")
            try wait(for: "both") { setup.told.count == 3 }
            try setup.settle()
            #expect(
                setup.told.dropFirst().map { $0.prefix(while: { $0 != "*" }) }.sorted() == [
                    "written a/round", "written again",
                ])
        }
    }

    private static func tree(of source: any EventSource) -> FileTree {
        ((source as? PathSource)?.roots.first as? TreeRoot)?.tree ?? FileTree()
    }

    /// Processes have links to everywhere there.
    @Test(arguments: [false, true]) func linksIntoProcStandForThemselves(polls: Bool) throws {
        let before =
            "ln -s /proc in/proc; ln -s /proc/self/fd in/fd; ln -s /proc/self/status in/file; ln -s /sys in/sys"
        try with(polls: polls, before: before) { setup in
            try setup.settle()
            #expect(setup.rim.on(setup.source) { Self.tree(of: $0).node(at: Array("proc/self".utf8)) } == nil)
            try setup.shell("ln -s /proc/self cwd; ln -s /proc/sys new")
            try expectAll(["written cwd", "written new"], setup)
        }
    }

    @Test func folderLinksToEachOtherEnd() throws {
        let before = "for n in 1 2 3 4; do mkdir -p in/$n; for m in 1 2 3 4; do ln -s ../$m in/$n/to$m; done; done"
        try with(before: before) { setup in
            try setup.shell("echo > 3/f")
            try wait(for: "all") { setup.told.count == 16 }
            try setup.settle()
            #expect(setup.told.count == 16)
            #expect(setup.told.contains("written 1/to2/to4/to3/f"))
        }
    }

    // MARK: Links that are switched

    /// As Kubernetes writes a ConfigMap.
    @Test(arguments: [false, true]) func whatIsReadThroughASwitchedLinkIsNews(polls: Bool) throws {
        let before = """
            mkdir -p in/c/..1/sub; echo a > in/c/..1/key; echo > in/c/..1/sub/deep; echo > in/c/..1/gone
            ln -s ..1 in/c/..data; ln -s ..data/key in/c/key; ln -s ..data/sub in/c/sub; ln -s ..data/gone in/c/gone
            """
        try with(polls: polls, before: before) { setup in
            for round in 2...4 {
                let seen = setup.told.count
                try setup.shell(
                    """
                    cd c; mkdir -p ..\(round)/sub; echo \(round) > ..\(round)/key; echo \(round) > ..\(round)/sub/deep
                    ln -s ..\(round) ..data_tmp; mv -T ..data_tmp ..data; rm -r ..\(round - 1)
                    """)
                func told() -> Set<String> {
                    Set(
                        setup.told.dropFirst(seen).filter { !$0.contains(" c/..") }.map {
                            $0.prefix(while: { $0 != "*" })
                        }.map(String.init))
                }
                let gone: Set = round == 2 ? ["written c/gone"] : []
                try wait(for: "the switch, not \(told())") {
                    told().isSuperset(of: gone.union(["written c/key", "written c/sub/deep"]))
                }
                try setup.settle()
                #expect(told() == gone.union(["written c/key", "written c/sub/deep"]))
                let through = setup.told.dropFirst(seen).map { $0.prefix(while: { $0 != "*" }) }
                #expect(through.contains("written c/..data/key") && through.contains("written c/..data/sub/deep"))
            }
        }
    }

    /// `ln -sfn`, and what certbot does to its `live` folder.
    @Test func aLinkThatIsReplacedIsComparedByName() throws {
        let before = """
            mkdir -p out/1 out/2; for n in 1 2; do echo $n > out/$n/same; done; echo > out/1/old; echo > out/2/new
            ln -s ../out/1 in/l; ln -s ../out/1/same in/cert
            """
        try with(before: before) { setup in
            try setup.shell("ln -sfn ../out/2 l; ln -s ../out/2/same tmp; mv -T tmp cert")
            try expectAll(["written l/same", "written l/new", "deleted l/old", "written cert"], setup)
            try setup.shell("echo >> ../out/2/same; echo >> ../out/1/same")
            try wait(for: "the write") { setup.told.count { $0.hasPrefix("written l/same") } == 2 }
        }
    }

    @Test func aChainOfLinksMayBeSwitchedAnywhere() throws {
        let before = """
            mkdir -p out/1/d out/2/d; echo 1 > out/1/d/f; echo 2 > out/2/d/f; ln -s 1 out/now; ln -s now/d out/mid
            ln -s ../out/mid in/l; ln -s l/f in/file
            """
        try with(before: before) { setup in
            try setup.shell("ln -s 2 tmp; mv -T tmp now", in: "out")
            try expectAll(["written l/f", "written file"], setup)
            let told = setup.told.count
            try setup.shell("echo > 2/d/more", in: "out")
            try wait(for: "a file") { setup.told.count == told + 1 }
            #expect(setup.told.last == "written l/more")
        }
    }

    @Test func aLinkBecomesAFolderAndAFileAndALink() throws {
        try with(before: "mkdir out/t; echo > out/t/f; echo > out/g; ln -s ../out/t in/l") { setup in
            try setup.shell("rm l; mkdir l; echo > l/own")
            try wait(for: "the folder, not \(setup.told)") { setup.told.contains("written l/own") }
            try setup.settle()
            #expect(setup.told.contains("deleted l/f"))
            try setup.shell("rm -r l; ln -s ../out/g l")
            try wait(for: "the file, not \(setup.told)") {
                setup.told.last?.hasPrefix("written l") == true && setup.told.contains { $0.hasPrefix("deleted l/own") }
            }
            try setup.settle()
            try setup.shell("rm l; echo > l; echo >> ../out/g; ln -s l n")
            try wait(for: "the link to it, not \(setup.told)") { setup.told.contains("written n") }
            try setup.settle()
            try setup.shell("rm n; ln -s ../out/t n")
            try wait(for: "all of it, not \(setup.told)") { setup.told.contains { $0.hasPrefix("written n/f") } }
        }
    }

    // MARK: Links that are moved

    @Test func aLinkThatIsMovedTakesAllWithIt() throws {
        try with(before: "mkdir -p in/a in/b out/t; echo > out/t/f; ln -s \"$PWD/out/t\" in/a/l") { setup in
            try setup.shell("mv a/l b/m")
            try setup.expect(["renamed a/l/ > b/m/", "renamed a/l/f > b/m/f"])
            try setup.shell("echo >> ../out/t/f")
            try wait(for: "a write") { setup.told.last == "written b/m/f" }
        }
    }

    @Test func aLinkThatIsMovedMayLeadElsewhere() throws {
        let before = """
            mkdir -p in/a/x in/a/t in/x/b in/x/t; echo > in/a/t/f; echo > in/x/t/g; ln -s ../t in/a/x/l; rmdir in/x/b
            """
        try with(before: before) { setup in
            try setup.shell("mv a/x x/y")
            try wait(for: "what it leads to now, not \(setup.told)") {
                setup.told.contains { $0.hasPrefix("written x/y/l/g") }
            }
            try setup.settle()
            #expect(setup.told.contains { $0.hasPrefix("deleted x/y/l/f") })
            try setup.shell("echo >> a/t/f; echo >> x/t/g")
            try wait(for: "a write") { setup.told.contains("written x/y/l/g") && setup.told.contains("written a/t/f") }
            #expect(!setup.told.contains("written x/y/l/f"))
        }
    }

    @Test func twoLinksChangePlaces() throws {
        let before = "mkdir out/1 out/2; echo > out/1/f; echo > out/2/g; ln -s ../out/1 in/a; ln -s ../out/2 in/b"
        try with(before: before) { setup in
            let made = try Program.run([
                "python3", "-c",
                "import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, "
                    + "sys.argv[2].encode(), 2))", setup.folder["in/a"], setup.folder["in/b"],
            ])
            #expect(made.status == .exited(0))
            try expectAll(["written a/g", "deleted a/f", "written b/f", "deleted b/g"], setup)
        }
    }

    // MARK: Links to files, and to nothing

    @Test(arguments: [false, true]) func aFileBehindALinkIsTold(polls: Bool) throws {
        try with(polls: polls, before: "echo a > out/f; ln -s ../out/f in/l; mkdir in/d; ln -s ../l in/d/m") { setup in
            try setup.folder.append("out/f", "more")
            try expectAll(["written l", "written d/m"], setup)
            let told = setup.told.count
            try setup.shell("echo > new; mv new f", in: "out")
            try wait(for: "the new one, not \(setup.told)") { setup.told.count == told + 2 }
            try setup.settle()
            #expect(setup.told.count == told + 2)
        }
    }

    @Test func aFileBehindALinkIsModifiedBeforeItIsWritten() throws {
        try with(.all, before: "echo a > out/f; ln -s middle in/l; ln -s ../out/f in/middle") { setup in
            let file = try Linux.open(setup.folder["out/f"], [.writing])
            try Linux.writeAll(file.rawValue, [UInt8(ascii: "b")])
            try wait(for: "both, not \(setup.told)") {
                Set(setup.told) == ["modified l", "modified middle"]
            }
            file.close()
            try wait(for: "both, not \(setup.told)") {
                Set(setup.told).isSuperset(of: ["written l*", "written middle*"])
            }
        }
    }

    @Test func aFileBehindALinkIsToldWhenNobodyWritesIt() throws {
        try with(before: "echo a > out/f; ln -s ../out/f in/l") { setup in
            let file = try Linux.open(setup.folder["out/g"], [.writing, .creating])
            try setup.shell("mv g f", in: "out")
            try setup.settle()
            #expect(setup.told == [])
            file.close()
            try wait(for: "its close") { !setup.told.isEmpty }
            #expect(setup.told == ["written l*"])
        }
    }

    @Test(arguments: [false, true]) func whatALinkLeadsToMayComeLaterAndGo(polls: Bool) throws {
        try with(polls: polls, before: "ln -s ../out/x/t in/l; ln -s ../out/x/f in/f") { setup in
            try setup.shell("mkdir x; echo > x/f; mkdir x/t; echo > x/t/g", in: "out")
            try wait(for: "both, not \(setup.told)") {
                setup.told.contains { $0.hasPrefix("written f") } && setup.told.contains { $0.hasPrefix("written l/g") }
            }
            try setup.shell("echo > x/t/new", in: "out")
            try wait(for: "a file, not \(setup.told)") { setup.told.contains { $0.hasPrefix("written l/new") } }
            let told = setup.told.count
            try setup.shell("rm -r x", in: "out")
            try wait(for: "the end, not \(setup.told)") {
                setup.told.dropFirst(told).contains { $0.hasPrefix("deleted l/g") }
            }
            try setup.shell("mkdir -p x/t; echo > x/t/again", in: "out")
            try wait(for: "it again, not \(setup.told)") {
                setup.told.contains { $0.hasPrefix("written l/again") }
            }
        }
    }

    @Test func withoutItALinkIsAFileOfItsOwn() throws {
        try TreeSetup.with(before: {
            try TreeSetup.shell("mkdir out/t; ln -s ../out/t in/l; echo > out/t/f", in: $0.path)
        }) { setup in
            try setup.shell("echo >> ../out/t/f; ln -sfn ../out l; ln -s ../out/t m")
            try wait(for: "the links") { setup.told.contains("written m") }
            try setup.settle()
            #expect(!setup.told.contains { $0.contains("/f") })
        }
    }

    // MARK: Filters

    @Test func filtersAreAboutTheNamesThroughTheLink() throws {
        let filter = PathFilter(exclude: [try PathGlob(Array("*.tmp".utf8))])
        let before = """
            mkdir -p out/t/skip out/t/no out/u; ln -s ../out/t in/l; ln -s ../out/u in/skip; echo no/ > out/t/.gitignore
            """
        try with(prune: ["skip"], filter: filter, ignoreFile: ".gitignore", before: before) { setup in
            try setup.shell("echo > t/a.tmp; echo > t/skip/f; echo > t/no/f; echo > u/f; echo > t/f", in: "out")
            try setup.expect(["written l/f"])
        }
    }

    // MARK: Comparisons

    @Test func anOverflowIsRepairedBehindLinks() throws {
        try with(before: "mkdir -p out/t; echo > out/t/f; echo > out/g; ln -s ../out/t in/l; ln -s ../out/g in/g") {
            setup in
            setup.rim.core.queue.sync {
                #expect(throws: Never.self) {
                    try setup.shell("echo >> t/f; echo > t/new; echo >> g; ln -sfn t2 x", in: "out")
                }
                setup.hub.take(InotifyEvent(watch: -1, mask: .overflowed))
            }
            try expectAll(["written l/f", "written l/new", "written g"], setup)
        }
    }

    // MARK: Bounds

    @Test func linksBehindTooManyOthersAreNamed() throws {
        let before = """
            for n in $(seq 10); do mkdir -p out/$n; ln -s ../$((n + 1)) out/$n/n; done; mkdir out/11; ln -s ../out/1 in/l
            """
        try with(before: before) { setup in
            let limit = setup.rim.limits.last ?? nil
            #expect(
                limit?.hasSuffix(
                    "in/l/n/n/n/n/n/n/n/n not followed: more than 8 links lead there, one behind the other") == true,
                "\(String(describing: limit))")
            try setup.shell("echo > 8/f; echo > 9/f", in: "out")
            try setup.expect(["written l/n/n/n/n/n/n/n/f"])
        }
    }

    @Test func tooManyLinksAreNamed() throws {
        func link(_ folder: Folder) throws {
            try folder.makeFolder("out/t")
            for number in 1...4100 { try Linux.symlink(folder["in/\(number)"], to: "../out/t") }
        }
        try TreeSetup.with(.changed, follows: true, before: link) { setup in
            try wait(for: "the bound", seconds: 30) {
                setup.rim.limits.last??.hasSuffix(" and 3 more not followed: more than 4096 links") == true
            }
            try setup.shell("rm 1 2 3 4 5 6 7 8")
            try wait(for: "room", seconds: 30) { setup.rim.limits.last == .some(nil) }
        }
    }

    // MARK: Files of watchd itself

    @Test func whatWatchdWritesItselfIsNotToldThroughALink() throws {
        try Folder.with { folder in
            for name in ["in", "out", "out/state", "out/state/d"] { try folder.makeFolder(name) }
            try TreeSetup.shell(
                "ln -s ../out in/l; ln -s ../out/state in/s; ln -s ../out/state/f in/f; echo > out/state/f",
                in: folder.path)
            var trigger = PathTrigger(paths: [folder["in"].pathBytes], events: .changed, isRecursive: true)
            trigger.followsLinks = true
            let rim = try Rim(ownPaths: [folder["out/state"].pathBytes])
            let source = rim.open { PathSource($0, trigger, $1) }
            defer { rim.core.queue.sync { source.value.close() } }
            try rim.waitUntilArmed()
            try TreeSetup.shell("echo >> state/f; echo > state/d/g; echo > end", in: folder["out"])
            try wait(for: "the end") { rim.paths.contains { $0.path == folder["in/l/end"].pathBytes } }
            #expect(rim.paths.filter { $0.change != .created }.map(\.path) == [folder["in/l/end"].pathBytes])
        }
    }
}
