import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// `Recursive=yes` with the real kernel (Semantics.md, "Folders").
@Suite("Trees", .ownThread) struct TreeTests {
    @Test(arguments: [false, true]) func watchesAreCountedAsTheKernelDoes(isRecursive: Bool) throws {
        try Folder.with { folder in
            try TreeSetup.shell("mkdir -p in/a/b; touch in/f in/a/g; ln -s a/g in/l", in: folder.path)
            let paths = ["in", "in/a", "in/f", "in/g", "in/a/g", "in/l"].map { folder[$0].pathBytes }
            let trigger = PathTrigger(paths: paths, isRecursive: isRecursive)
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try wait(for: "a state") { rim.condition != nil }
                let inotify = rim.core.queue.sync { rim.parts.value.environment.inotify.storeDescriptor }
                try wait(for: "the same number") {
                    let kernel = (try? Linux.inotifyWatches(inotify))?.count ?? 0
                    return kernel > 3 && kernel == rim.on(source) { $0.watchCount }
                }
            }
        }
    }

    @Test(arguments: [false, true]) func whatIsWrittenIntoAFIFOIsNoNews(polls: Bool) throws {
        let polling = PathTrigger.Polling(isAlways: polls, interval: .milliseconds(20))
        try TreeSetup.with(polling: polling, before: { try TreeSetup.shell("mkfifo fifo", in: $0["in"]) }) { setup in
            try setup.shell("exec 3<>fifo; echo x >&3; echo > f")
            try wait(for: "the file, not \(setup.told)") { setup.told.contains { $0.hasPrefix("written f") } }
            try setup.settle()
            #expect(!setup.told.contains { $0.contains("fifo") }, "\(setup.told)")
        }
    }

    @Test func whatStandsThereIsNoNews() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir -p a/b; touch f a/b/g", in: $0["in"]) }) { setup in
            try setup.shell("echo > a/b/g; echo > a/new")
            try setup.expect(["written a/b/g", "written a/new"])
        }
    }

    @Test func aFolderThatIsTwoSecondsOldIsToldOf() throws {
        try TreeSetup.with(.changed) { setup in
            try setup.shell("mkdir a")
            try wait(for: "a to be known") { setup.rim.trail.contains { $0.text.hasPrefix("listing") } }
            try setup.shell("mkdir b c d")
            try wait(for: "all to be two seconds old") {
                setup.rim.on(setup.source) { source in
                    guard let root = (source as? PathSource)?.roots.first as? TreeRoot else { return false }
                    let areKnown = ["a", "b", "c", "d"].allSatisfy { root.tree.node(at: $0.pathBytes) != nil }
                    return areKnown && root.fleetingFolders.isEmpty
                }
            }
            try setup.shell("rmdir a b; mv c e; mkdir f; rmdir f")
            try setup.expect(["deleted a/", "deleted b/", "renamed c/ > e/"])
        }
    }

    @Test func aFileThatIsGoneWhenItsReportsAreReadIsToldAsCreatedFirst() throws {
        try TreeSetup.with([.changed, .created, .modified, .attributes]) { setup in
            try setup.rim.core.queue.sync {
                try setup.shell("for n in 1 2 3; do echo > n$n; chmod 600 n$n; rm n$n; done; echo > z")
            }
            try wait(for: "the end, not \(setup.told)") { setup.told.contains { $0.hasPrefix("written z") } }
            try setup.settle()
            for name in ["n1", "n2", "n3"] {
                #expect(
                    setup.told.filter { $0.contains(name) }
                        == ["created", "modified", "deleted"].map { "\($0) \(name)" })
            }
        }
    }

    @Test func aFileThatIsMovedOnBeforeItIsSeenIsModified() throws {
        try TreeSetup.with(.modified) { setup in
            try setup.rim.core.queue.sync { try setup.shell("echo > a; mv a b") }
            try wait(for: "its change, not \(setup.told)") { setup.told.contains { $0.hasPrefix("modified") } }
        }
    }

    /// More than one scan takes.
    @Test func everyFolderOfALargeTreeIsWatched() throws {
        let text = "all=$(seq 300); few=$(seq 25); mkdir $all; for n in $all; do for f in $few; do : >$n/$f; done; done"
        try TreeSetup.with(before: { try TreeSetup.shell(text, in: $0["in"]) }) { setup in
            try setup.shell("for n in $(seq 300); do echo > $n/f; done")
            try setup.expect((1...300).map { "written \($0)/f" })
        }
    }

    @Test func aFileInFoldersMadeAtOnceIsToldOnce() throws {
        try TreeSetup.with { setup in
            try setup.shell(
                "for n in $(seq 100); do mkdir -p $n/b/c/d; echo > $n/b/c/d/f; mkdir -p x/$n; echo > x/$n/g; done")
            try setup.expect((1...100).flatMap { ["written \($0)/b/c/d/f", "written x/\($0)/g"] })
        }
    }

    @Test func aTreeMovedInIsItsFilesWritten() throws {
        try TreeSetup.with([.changed, .created]) { setup in
            try setup.shell("mkdir -p t/d; echo > t/1; echo > t/d/3; mv t ../in", in: "out")
            try setup.expect([
                "created t/", "created t/d/", "created t/1", "created t/d/3", "written t/1", "written t/d/3",
            ])
            // It is watched.
            try setup.shell("echo >> t/d/3")
            try wait(for: "a change in it") { setup.told.count { $0 == "written t/d/3" } == 2 }
        }
    }

    @Test func aTreeMovedOutIsDeletedAndNoLongerWatched() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir -p t/d; echo > t/1; echo > t/d/3", in: $0["in"]) }) {
            setup in
            let watches = setup.rim.on(setup.source) { $0.watchCount }
            try setup.shell("mv t ../out; echo > ../out/t/d/3")
            try setup.expect(["deleted t/d/3", "deleted t/d/", "deleted t/1", "deleted t/"])
            // Two for the marker.
            #expect(setup.rim.on(setup.source) { $0.watchCount } == watches)
        }
    }

    @Test func aTreeMovedWithinIsRenamedPathByPath() throws {
        try TreeSetup.with(
            before: {
                try TreeSetup.shell("mkdir -p t/d/e tt v; echo > t/1; echo > t/d/e/3; echo > tt/1", in: $0["in"])
            }
        ) { setup in
            try setup.shell("mv t u; mv u/d v/w; echo > v/w/e/3")
            try setup.expect([
                "renamed t/ > u/", "renamed t/1 > u/1", "renamed t/d/ > u/d/", "renamed t/d/e/ > u/d/e/",
                "renamed t/d/e/3 > u/d/e/3", "renamed u/d/ > v/w/", "renamed u/d/e/ > v/w/e/",
                "renamed u/d/e/3 > v/w/e/3", "written v/w/e/3",
            ])
            #expect(!setup.told.contains { $0.contains(" tt") })
        }
    }

    @Test func whereNobodyAsksForRenamesTheyAreWrittenAndDeleted() throws {
        try TreeSetup.with([.written, .deleted], before: { try TreeSetup.shell("mkdir t; echo > t/1", in: $0["in"]) }) {
            setup in
            try setup.shell("mv t u")
            try wait(for: "both ends") { setup.told.contains("written u/1") }
            #expect(setup.told.contains("deleted t/1"))
        }
    }

    /// A comparison that finds a folder where a file stood, or the other way round, makes a node of its own for it.
    @Test func whatAComparisonFindsOfAnotherKindStaysThere() throws {
        let polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(5))
        try TreeSetup.with(
            [.created, .written, .deleted], polling: polling,
            before: { try TreeSetup.shell("mkdir -p d/e; echo > d/e/b; echo > a", in: $0["in"]) }
        ) { setup in
            // At once, so that no comparison finds neither of them.
            let (one, other) = (setup.folder["in/a"], setup.folder["in/d/e"])
            let made = try Program.run([
                "python3", "-c",
                "import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, "
                    + "sys.argv[2].encode(), 2))", one, other,
            ])
            #expect(made.status == .exited(0))
            try setup.expect([
                "deleted a*", "created a/*", "created a/b*", "written a/b*", "deleted d/e/b*", "deleted d/e/*",
                "created d/e*", "written d/e*",
            ])
            try setup.shell("rm d/e")
            try wait(for: "the end of it") { setup.told.contains("deleted d/e*") }
        }
    }

    @Test func foldersChangePlaces() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir a b; echo > a/x; echo > b/y", in: $0["in"]) }) {
            setup in
            try setup.shell("mv a t; mv b a; mv t b; echo > a/y; echo > b/x")
            try wait(for: "both") { setup.told.contains("written a/y") && setup.told.contains("written b/x") }
            try setup.settle()
            #expect(setup.told.count { $0.hasPrefix("written") } == 2, "\(setup.told)")
            #expect(setup.told.contains("renamed t/x > b/x") && setup.told.contains("renamed b/y > a/y"))
        }
    }

    @Test func foldersThatAreExchangedAreWritten() throws {
        try TreeSetup.with(
            before: { try TreeSetup.shell("mkdir a b; echo > a/x; echo > a/z; echo > b/x; echo > b/y", in: $0["in"]) }
        ) { setup in
            let code = "import ctypes,sys; a=[x.encode() for x in sys.argv[1:]]; "
            let call = "sys.exit(ctypes.CDLL(None).renameat2(-100, a[0], -100, a[1], 2))"
            let made = try Program.run(["python3", "-c", code + call, setup.folder["in/a"], setup.folder["in/b"]])
            #expect(made.status == .exited(0), "\(made)")
            try setup.expect([
                "written a/x", "written b/x", "written a/y", "written b/z", "deleted a/z", "deleted b/y",
            ])
            try setup.shell("echo >> a/y")
            try wait(for: "a change in one") { setup.told.count { $0 == "written a/y" } == 2 }
        }
    }

    @Test func aFolderRenamedAndReplacedByALink() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir foo; echo > foo/f", in: $0["in"]) }) { setup in
            try setup.shell("mv foo bar; ln -s bar foo")
            try setup.expect(["renamed foo/ > bar/", "renamed foo/f > bar/f", "written foo"])
        }
    }

    @Test func aFileAndAFolderOfOneName() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("echo > x; mkdir y; echo > y/f", in: $0["in"]) }) { setup in
            try setup.shell("rm x; mkdir x; echo > x/g; rm -r y; echo > y")
            try wait(for: "all") {
                ["deleted x", "written x/g", "deleted y/f", "deleted y/", "written y"].allSatisfy(setup.told.contains)
            }
        }
    }

    @Test func aTreeRemovedAndMadeAgain() throws {
        try TreeSetup.with(
            [.changed, .created], before: { try TreeSetup.shell("mkdir -p t/d; echo > t/d/f", in: $0["in"]) }
        ) { setup in
            for round in 1...5 {
                try setup.shell("rm -r t; mkdir -p t/d; echo > t/d/f")
                try wait(for: "round \(round)") { setup.told.count { $0 == "written t/d/f" } >= round }
            }
            try setup.settle()
            #expect(setup.told.count { $0 == "written t/d/f" } == 5, "\(setup.told)")
            try setup.shell("rm -r t")
            try wait(for: "the end") { setup.told.suffix(3).contains("deleted t/") }
        }
    }

    @Test func namesAreBytes() throws {
        try TreeSetup.with { setup in
            try Linux.mkdir(setup.folder[Array("in/".utf8) + [0xff, 0xfe]])
            try setup.folder.write(Array("in/".utf8) + [0xff, 0xfe] + Array("/*[a]\n".utf8) + [0x80], [])
            try wait(for: "the file") {
                setup.rim.paths.contains {
                    $0.path.suffix(8) == [0x2f, 0x2a, 0x5b, 0x61, 0x5d, 0x0a, 0x80][...] || $0.path.last == 0x80
                }
            }
        }
    }

    @Test func aNameHasAsManyBytesAsItMayAndIsNoText() throws {
        try TreeSetup.with { setup in
            let name = (0..<255).map { UInt8(128 + $0 % 128) }
            let (old, new) = (Array("in/".utf8) + name, Array("in/".utf8) + name.reversed())
            let tail = [UInt8(ascii: "/")] + name
            try Linux.mkdir(setup.folder[old])
            try setup.folder.write(old + tail, [])
            try wait(for: "the file") { setup.rim.paths.contains { $0.path.ends(with: name + tail) } }
            try Linux.rename(setup.folder[old], to: setup.folder[new])
            try wait(for: "its rename") {
                setup.rim.paths.contains {
                    $0.change == .renamed && $0.path.ends(with: name.reversed() + tail)
                        && $0.oldPath?.ends(with: name + tail) == true
                }
            }
        }
    }

    @Test func whatIsNoFileDoesNotHang() throws {
        try TreeSetup.with([.changed, .created]) { setup in
            try setup.shell(
                "mkdir d; mkfifo d/p; ln -s /dev/zero d/l; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"d/s\")'; mv d ../in",
                in: "out")
            try setup.expect(["created d/", "created d/p", "created d/l", "written d/l", "created d/s"])
        }
    }

    // MARK: The root

    @Test func aRootThatComesLaterIsToldWithWhatItHolds() throws {
        try TreeSetup.with(before: { try Linux.rmdir($0["in"]) }) { setup in
            try setup.shell("mkdir -p in/d; echo > in/d/f", in: ".")
            try wait(for: "the file") { setup.told.contains { $0.hasPrefix("written d/f") } }
            try wait(for: "the state") { setup.rim.condition == .armed }
        }
    }

    @Test func aRootThatIsReplacedIsCompared() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir -p d; echo > d/f; echo > g", in: $0["in"]) }) { setup in
            try setup.shell("mv in old; mkdir -p in/d; echo > in/d/n", in: ".")
            try wait(for: "the new one") { setup.told.contains { $0.hasPrefix("written d/n") } }
            try wait(for: "the old ones") {
                setup.told.contains { $0.hasPrefix("deleted d/f") } && setup.told.contains { $0.hasPrefix("deleted g") }
            }
            try setup.shell("echo >> in/d/n; echo > old/d/f", in: ".")
            try wait(for: "a change") { setup.told.last == "written d/n" }
            try setup.shell("rm -r in; mkdir in; echo > in/z", in: ".")
            try wait(for: "the next one") { setup.told.contains { $0.hasPrefix("written z") } }
        }
    }

    @Test func aRootThatIsAFile() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("rmdir in; echo > in", in: $0.path) }) { setup in
            try setup.shell("echo >> in", in: ".")
            try wait(for: "the file") { setup.told == ["written ."] }
            try setup.shell("rm in; mkdir in; echo > in/f", in: ".")
            try wait(for: "the folder") { setup.told.contains { $0.hasPrefix("written f") } }
        }
    }

    // MARK: More than the kernel keeps

    @Test func whatTheKernelsQueueHasLostIsComparedAndToldOnce() throws {
        let limit = String(decoding: try Linux.readFile("/proc/sys/fs/inotify/max_queued_events"), as: UTF8.self)
        guard let most = Int(limit.filter(\.isNumber)), most <= 20_000 else {
            print("SKIPPED: fs.inotify.max_queued_events=\(limit) is too large to overflow in a test")
            return
        }
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir d e; echo > e/old; echo > e/gone", in: $0["in"]) }) {
            setup in
            // Two events a file.
            let count = most / 2 + 500
            try setup.rim.core.queue.sync {
                try setup.shell(
                    "for n in $(seq \(count)); do : > d/$n; done; rm e/gone; mkdir -p new/d; echo > new/d/f")
            }
            try wait(for: "all files", seconds: 60) {
                setup.rim.core.queue.sync { setup.hub.isCaughtUp } && Set(setup.facts.map(\.path)).count == count + 2
            }
            try setup.settle()
            #expect(setup.facts.count == count + 2)
            let others = setup.facts.filter { !setup.below($0.path).hasPrefix("d/") }.map { setup.text($0) }
            #expect(others.sorted() == ["deleted e/gone*", "written new/d/f*"])
        }
    }

    // MARK: Depth

    /// Far below what the kernel takes as a path.
    @Test func foldersAsDeepAsTheyCome() throws {
        let depth = LongPart.count(700, long: 4000)
        try TreeSetup.with([.changed, .created]) { setup in
            let make = """
                import os
                os.chdir('\(setup.folder["in"])')
                for n in range(\(depth)):
                    os.mkdir('d' if n == 0 else 'folders'); os.chdir('d' if n == 0 else 'folders')
                open('f', 'w').close()
                """
            let made = try Program.run(["python3", "-c", make])
            #expect(made.status == .exited(0), "\(made)")
            try wait(for: "the file at the bottom") { setup.told.contains { $0.hasSuffix("folders/f") } }
            let clear = """
                import os
                os.chdir('\(setup.folder["in"])')
                os.rename('d', '../out/d')
                os.chdir('../out')
                # From the top, so that no path is too long.
                while os.path.exists('d'):
                    os.rename('d/folders', 'e') if os.path.exists('d/folders') else None
                    for name in os.listdir('d'): os.unlink('d/' + name)
                    os.rmdir('d')
                    if os.path.exists('e'): os.rename('e', 'd')
                """
            let cleared = try Program.run(["python3", "-c", clear])
            #expect(cleared.status == .exited(0), "\(cleared)")
            try wait(for: "its end") { setup.told.contains("deleted d/") }
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with tail: [UInt8]) -> Bool { suffix(tail.count).elementsEqual(tail) }
}
