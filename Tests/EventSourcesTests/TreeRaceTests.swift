import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// Changes between a report, a listing and a comparison, each in an order in which one could be lost.
@Suite("Races of trees", .ownThread) struct TreeRaceTests {
    /// While the core stands still.
    private func onTree(_ setup: TreeSetup, _ body: (TreeRoot) throws -> Void) throws {
        try setup.rim.core.queue.sync {
            try body(try #require((setup.source.value as? PathSource)?.roots.first as? TreeRoot))
        }
    }

    /// Changes whose reports are lost; on the core.
    private func unreported(_ text: String, _ setup: TreeSetup) throws {
        try setup.shell(text)
        while let lost = try? Linux.inotifyRead(setup.hub.storeDescriptor), !lost.isEmpty {}
    }

    @Test func aFolderThatIsMovedBeforeItsScanIsListedWhereItStands() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir d; echo > d/f; echo > d/g", in: $0["in"]) }) { setup in
            try onTree(setup) { root in
                try unreported("rm d/f", setup)
                let folder = setup.folder
                setup.rim.when("scan") { try? Linux.rename(folder["in/d"], to: folder["in/e"]) }
                root.enqueue(try #require(root.tree.node(at: "d".pathBytes)), [.isDeep, .isCompared])
                root.pump()
            }
            try setup.expect(["renamed d/ > e/", "renamed d/g > e/g", "renamed d/f > e/f", "deleted e/f*"])
        }
    }

    /// As rsync does it with `-t`, which sets the time of a file after its close.
    @Test func aTimeThatIsSetBackBeforeARenameIsNoNewContent() throws {
        try TreeSetup.with { setup in
            try setup.shell("echo 1 > .f")
            try wait(for: "the file") { setup.told == ["written .f"] }
            try setup.shell("touch -hd yesterday .f; mv .f f")
            try setup.expect(["written .f", "renamed .f > f"])
            // One that is still open for writing is told at its close.
            try Linux.open(setup.folder["in/f"], [.writing]).use { file in
                try Linux.writeAll(file, "2".utf8)
                try setup.shell("touch -hd '2 days ago' f; mv f g")
                try wait(for: "the rename") { setup.told.last == "renamed f > g" }
            }
            try setup.expect(["written .f", "renamed .f > f", "renamed f > g", "written g"])
        }
    }

    /// The kernel reports a rename after it has made it.
    @Test func aNameThatIsMissingWhereItsFolderHasBeenMovedIsFoundAgain() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("mkdir -p d/n; echo > d/f; echo > d/n/g", in: $0["in"]) }) {
            setup in
            try onTree(setup) { root in
                try Linux.rename(setup.folder["in/d"], to: setup.folder["in/e"])
                for name in ["d/f", "d/n"] { root.lookAgain(try #require(root.tree.node(at: name.pathBytes))) }
            }
            try setup.expect([
                "deleted d/f", "deleted d/n/g", "deleted d/n/", "renamed d/ > e/", "written e/f*", "written e/n/g*",
            ])
        }
    }

    /// The look at a new name meets that of the folder which has come in the place of its own.
    @Test func aFileThatIsMovedOutOfAFolderLeavesNothingThere() throws {
        try TreeSetup.with(
            before: { try TreeSetup.shell("mkdir in/d out/t; echo other > out/t/c", in: $0.path) }
        ) { setup in
            try onTree(setup) { _ in try setup.shell("echo > d/c; mv d/c aa; mv d e; mv ../out/t d") }
            try wait(for: "both, not \(setup.told)") {
                setup.told.contains { $0.hasPrefix("written aa") } && setup.told.last { $0.contains("d/c") } != nil
            }
            try setup.settle()
            #expect(!setup.told.contains { $0.contains("e/c") }, "\(setup.told)")
        }
    }

    @Test func aLinkThatHasTheNumberOfTheOneBeforeIsTold() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("ln -s x l", in: $0["in"]) }) { setup in
            try onTree(setup) { root in
                let node = try #require(root.tree.node(at: "l".pathBytes))
                var stamp = root.tree.stamp(of: node)
                (stamp.changed, stamp.isFresh) = (stamp.changed - 1_000_000_000, false)
                root.tree.setStamp(stamp, of: node)
                let watch = root.tree.watch(of: try #require(root.tree.root))
                setup.hub.take(InotifyEvent(watch: watch, mask: .created, name: "l".pathBytes))
            }
            try setup.expect(["written l"])
        }
    }

    /// The report says nothing of what had changed before.
    @Test func aNameThatIsReportedDuringAComparisonIsComparedAfterwards() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("echo > f", in: $0["in"]) }) { setup in
            try onTree(setup) { root in
                try unreported("rm f; echo new > f", setup)
                let top = try #require(root.tree.root)
                let watch = root.tree.watch(of: top)
                setup.rim.when("listing") { [rim = setup.rim] in
                    let event = InotifyEvent(watch: watch, mask: .attributes, name: "f".pathBytes)
                    rim.parts.value.environment.inotify.take(event)
                }
                root.enqueue(top, [.isDeep, .isCompared])
                root.pump()
            }
            try setup.expect(["written f"])
        }
    }

    /// Its close is read when a link stands at its path, and the folder it was moved to is no longer at its own.
    @Test func aFileThatIsMovedOnBeforeItsCloseIsReadIsTold() throws {
        let before = "mkdir c; echo > f"
        try TreeSetup.with(before: { try TreeSetup.shell(before, in: $0["in"]) }) { setup in
            try onTree(setup) { _ in
                try setup.shell("echo new >> f; mv f c/f; ln -s nowhere f; mv c d")
            }
            try setup.expect(["renamed f > c/f", "written f", "renamed c/ > d/", "renamed c/f > d/f", "written d/f"])
        }
    }

    /// One name of a file is replaced, and another one of it comes to the place of the new file: as if both had changed
    /// places.
    @Test func aRenameAfterWhatLookedLikeAnExchangeIsTold() throws {
        try TreeSetup.with(before: { try TreeSetup.shell("echo > x; echo > y; ln y z", in: $0["in"]) }) { setup in
            try onTree(setup) { _ in try setup.shell("mv x y; mv z x") }
            try wait(for: "the renames, not \(setup.told)") { setup.told.contains("renamed z > x!") }
            try setup.shell("mv y x")
            try setup.expect(["written x", "written y", "renamed z > x!", "renamed y > x!"])
        }
    }

    /// A listing may show what was gone before the folder was moved: it never stood where it would be told.
    @Test func namesThatWereReportedToBeGoneAreKnownBeforeTheirFolderIsClaimed() {
        var watches = TreeWatches()
        watches.beginScan()
        let events: [(InotifyMask, String)] = [
            (.created, "a"), (.deleted, "a"), (.deleted, "b"), (.movedTo, "b"), (.movedFrom, "c"), (.created, "d"),
        ]
        for (mask, name) in events { watches.note(InotifyEvent(watch: 5, mask: mask, name: name.pathBytes)) }
        #expect(watches.namesGone(5) == ["a".pathBytes, "c".pathBytes])
        #expect(watches.namesGone(6) == [])
        #expect(watches.endScan([5]) == [5])
        #expect(watches.namesGone(5) == [])
    }

    /// A tree that went without giving up a watch leaves nothing that could be told.
    @Test func aTreeThatIsGoneIsNotToldOfItsFolders() throws {
        try TreeSetup.with { setup in
            try onTree(setup) { root in
                var watches = TreeWatches()
                watches.add(root)
                #expect(watches.claim(5, root, 7) != nil)
                #expect(watches.places(5).count == 1)
                watches.remove(root)
                #expect(watches.places(5).isEmpty)
                watches.add(root)
                #expect(!watches.contains(5, root, 7), "another number")
            }
        }
    }

    /// Somebody writes the file that stood there before.
    @Test func aFileInThePlaceOfOneThatIsBeingWrittenIsTold() throws {
        try TreeSetup.with(before: { try $0.write("out/new", "new") }) { setup in
            let file = Glibc.open(setup.folder["in/f"], O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
            #expect(file >= 0)
            defer { Glibc.close(file) }
            try wait(for: "it to be watched") {
                setup.rim.trail.contains { $0.text.hasPrefix("asked") && $0.text.contains("/in/f: some") }
            }
            try onTree(setup) { root in
                try unreported("mv ../out/new f", setup)
                root.enqueue(try #require(root.tree.root), [.isDeep, .isCompared])
                root.pump()
            }
            // The watch of the former file may report its end before the folder is listed.
            func told() -> [String] { setup.facts.map { "\($0.change) \(setup.below($0.path))" } }
            try wait(for: "it, not \(told())") { told() == ["written f"] }
            try setup.settle()
            #expect(told() == ["written f"])
        }
    }

    // MARK: Across lives

    private func with(_ files: [String], _ body: (inout HandledSetup) throws -> Void) throws {
        try HandledSetup.with(files) { setup in
            (setup.isRecursive, setup.events) = (true, [.written, .deleted, .renamed])
            try body(&setup)
        }
    }

    /// More is listed than one scan takes, and the folder is moved after the first.
    @Test func whatHasGoneBeforeItsFolderIsMovedIsNotMovedWithIt() throws {
        try with(["a/x", "a/y", "a/large/sub/f"]) { setup in
            try TreeSetup.shell("touch $(seq 4200)", in: setup.folder["in/a/large"])
            try setup.begin()
            try Linux.unlink(setup.folder["in/a/x"])
            let (folder, trigger) = (setup.folder, setup.trigger)
            let rim = try Rim(snapshots: setup.store)
            rim.when("scan ends") { try? Linux.rename(folder["in/a"], to: folder["in/b"]) }
            let source = rim.open { PathSource($0, trigger, $1) }
            defer { rim.core.queue.sync { source.value.close() } }
            let life = HandledLife(setup: setup, rim: rim, source: source)
            try wait(for: "both, not \(life.told.suffix(5))") {
                let told = Set(life.told)
                return told.contains("deleted a/x*") && told.contains("renamed a/y b/y")
            }
            try life.waitUntilCompared()
            #expect(!life.told.contains { $0.hasPrefix("renamed a/x") || $0.hasPrefix("deleted b/x") })
        }
    }

    /// Nothing of it was handled: the next life knows of both files.
    @Test func theEndOfAFileThatWasReplacedByARenameIsNotForgotten() throws {
        try with(["a", "b"]) { setup in
            try setup.begin()
            let folder = setup.folder
            try setup.live { life in
                try Linux.rename(folder["in/a"], to: folder["in/b"])
                try wait(for: "the rename") { life.told == ["renamed a b"] }
                try Linux.unlink(folder["in/b"])
                try wait(for: "the end") { life.told == ["renamed a b", "deleted b"] }
                try wait(for: "what is noted") {
                    life.rim.core.queue.sync { life.rim.parts.value.environment.handled?.isBehind == false }
                }
            }
            try setup.live { life in
                try wait(for: "both, not \(life.told)") { life.told.sorted() == ["deleted a*", "deleted b*"] }
            }
        }
    }
}
