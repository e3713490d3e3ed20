import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// What a path source tells of what happened while nobody watched: by comparing with what was handled.
@Suite("Snapshots of what was handled", .ownThread) struct HandledSnapshotTests {
    private func with(
        _ isRecursive: Bool, _ files: [String] = ["a", "b"], _ body: (inout HandledSetup) throws -> Void
    ) throws {
        try HandledSetup.with(files) { setup in
            setup.isRecursive = isRecursive
            try body(&setup)
        }
    }

    // MARK: Comparing

    @Test(arguments: [false, true]) func theFirstStartTellsNothingAndIsStoredBeforeItIsArmed(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.live { life in
                #expect(setup.store.root(setup.root, of: SourceID(.path, "test")) != nil)
                #expect(setup.stored.map { $0.prefix(1) } == ["a", "b"])
                try life.handleAll()
                #expect(life.told == [])
                // Looked at again.
                #expect(setup.stored == ["a", "b"])
            }
            try setup.expectNothing()
        }
    }

    @Test(arguments: [false, true]) func whatHappenedMeanwhileIsToldAsRecovered(isRecursive: Bool) throws {
        try with(isRecursive, ["a", "b", "c", "same"]) { setup in
            try setup.begin()
            try setup.folder.write("in/a", "new")
            try Linux.unlink(setup.folder["in/b"])
            try Linux.rename(setup.folder["in/c"], to: setup.folder["in/d"])
            try setup.begin { life in
                try wait(for: "all") { life.told.count == 4 }
                #expect(life.told.sorted() == ["deleted b*", "deleted c*", "written a*", "written d*"])
            }
            try setup.expectNothing()
            #expect(setup.stored == ["a", "d", "last", "same"])
        }
    }

    /// A folder that becomes a file, a link that leads nowhere, and a folder again.
    @Test(arguments: [false, true]) func anotherKindOfFileAtTheRootIsToldOnce(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            let root = setup.folder["in"]
            func expect(_ told: [String]) throws {
                try setup.begin { life in
                    try wait(for: "\(told), not \(life.told)") { life.told.sorted() == told }
                }
                try setup.live { life in
                    try life.waitUntilCompared()
                    #expect(life.told == [])
                }
            }
            try setup.begin()
            try TreeSetup.shell("rm -r in; echo > in", in: setup.folder.path)
            try expect(["deleted a*", "deleted b*", "written in*"])
            try TreeSetup.shell("rm in; ln -s nowhere in", in: setup.folder.path)
            try expect(["written in*"])
            try Linux.unlink(root)
            try TreeSetup.shell("mkdir in; echo > in/c", in: setup.folder.path)
            try expect(["deleted in*", "written c*"])
        }
    }

    @Test(arguments: [false, true]) func whatWasToldAndNotHandledIsToldAgain(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            try setup.live { life in
                try life.waitUntilCompared()
                try setup.folder.write("in/a", "new")
                try Linux.unlink(setup.folder["in/b"])
                try wait(for: "both") { life.told == ["written a", "deleted b"] }
            }
            try setup.begin { life in
                try wait(for: "both") { life.told.sorted() == ["deleted b*", "written a*"] }
            }
            try setup.expectNothing()
        }
    }

    /// `touch -r` leaves size and time of writing as they were.
    @Test(arguments: [false, true]) func newContentUnderTheOldTimesIsToldAndAnotherModeIsNot(isRecursive: Bool) throws {
        try with(isRecursive, ["a", "b", "c"]) { setup in
            try setup.begin()
            let old = try Linux.lstat(setup.folder["in/a"])
            try setup.folder.append("in/a", "")
            let touched = try Program.run([
                "sh", "-c", "cp -p \"$1\" \"$2\" && printf new >\"$1\" && touch -r \"$2\" \"$1\"", "sh",
                setup.folder["in/a"], setup.folder["copy"],
            ])
            #expect(touched.status == .exited(0))
            let new = try Linux.lstat(setup.folder["in/a"])
            #expect(new.modified == old.modified && new.size == old.size && new.inode == old.inode)
            try Linux.chmod(setup.folder["in/b"], 0o600)
            try setup.live { life in
                try life.waitUntilCompared()
                try wait(for: "it") { life.told == ["written a*"] }
            }
        }
    }

    /// Another change may have left the same times, unless it was looked at again.
    @Test(arguments: [false, true]) func aStampThatIsNotTrustedCountsAsChanged(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            let name = "a".pathBytes
            setup.store.state.withLock { $0.entries[setup.root]?[name]?.isFresh = true }
            try setup.live { life in
                try wait(for: "it") { life.told == ["written a*"] }
            }
            // An operation that the store has kept is still to run, and sees whatever stands there.
            setup.store.state.withLock { $0.stored = [setup.root + "/a".pathBytes] }
            try setup.expectNothing()
            // It has run, and nothing has changed since.
            setup.store.state.withLock { $0.stored = [] }
            try setup.expectNothing()
        }
    }

    /// As many programs do, and test helpers.
    @Test(arguments: [false, true]) func aModeThatIsSetBehindTheCloseIsNoChange(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin { life in
                let name = try writeUntilFresh("new", setup, life)
                try Linux.chmod(setup.folder["in/\(name)"], 0o600)
                try Linux.chmod(setup.folder["in/\(name)"], 0o644)
            }
            try setup.expectNothing()
        }
    }

    /// Of a file that was written meanwhile too.
    @Test(arguments: [false, true]) func attributesThatWereSetBesideTheContentAreTold(isRecursive: Bool) throws {
        try with(isRecursive, ["a", "b"]) { setup in
            setup.events = [.attributes]
            try setup.begin()
            for name in ["a", "b"] { try setup.folder.append("in/\(name)", "more") }
            try Linux.chmod(setup.folder["in/a"], 0o600)
            try setup.live { life in
                try life.waitUntilCompared()
                try wait(for: "it, not \(life.told)") { life.told == ["attributes a*"] }
            }
        }
    }

    /// As `unzip` does behind the close, and anybody later; to an earlier time and to a later one.
    @Test(arguments: [false, true], ["1e9", "2e9"])
    func aTimeThatIsSetIsNoChangeOfTheContent(isRecursive: Bool, time: String) throws {
        try with(isRecursive) { setup in
            setup.events.insert(.attributes)
            try setup.begin { life in
                for name in ["a", try writeUntilFresh("new", setup, life)] {
                    let set = "import os,sys; os.utime(sys.argv[1],(\(time),\(time)))"
                    let path = setup.folder["in/\(name)"]
                    #expect(try Program.run(["python3", "-c", set, path]).status == .exited(0))
                    try wait(for: "it to be told") { life.told.contains("attributes \(name)") }
                }
            }
            setup.events = .changed
            try setup.expectNothing()
        }
    }

    /// Of the folder that is watched by itself.
    @Test func itsOwnAttributesAreNoStateOfIt() throws {
        try with(false) { setup in
            setup.events.insert(.attributes)
            try setup.begin { life in
                try Linux.chmod(setup.folder["in"], 0o700)
                try wait(for: "it") { life.told == ["attributes in"] }
            }
            #expect(setup.store.names(below: setup.root) == ["a", "b"])
            setup.events = .changed
            try setup.expectNothing()
        }
    }

    @Test(arguments: [false, true]) func aStampIsNotTrustedWhileAnotherChangeIsNotHandled(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.live { life in
                let names = (0..<1000).map { setup.root + "/new\($0)".pathBytes }
                setup.store.state.withLock { $0.open = Set(names) }
                let name = try writeUntilFresh("new", setup, life)
                try life.handleAll()
                #expect(setup.stored.contains("\(name)?"))
            }
        }
    }

    /// Only a stamp that may hide another change is looked at again: on a busy machine it may come too late.
    ///
    /// - Returns: the file that was told of in time: the name with a number.
    private func writeUntilFresh(_ name: String, _ setup: HandledSetup, _ life: HandledLife) throws -> String {
        for number in 0..<1000 {
            let name = "\(name)\(number)"
            try setup.folder.write("in/\(name)".pathBytes, [])
            try wait(for: "it") { life.told.contains("written \(name)") }
            let isFresh = life.rim.inputs.contains { input in
                guard case .change(_, let fact, let state) = input else { return false }
                return state.isFresh && fact.path == setup.root + "/\(name)".pathBytes
            }
            if isFresh { return name }
        }
        throw TimedOut(description: "each was told too late")
    }

    @Test(arguments: [false, true]) func manyAreToldOnceWhileOthersCome(isRecursive: Bool) throws {
        try with(isRecursive, []) { setup in
            try setup.begin()
            let names = (0..<2000).map { "f\($0)" }
            for name in names { try setup.folder.write("in/\(name)", "") }
            try setup.begin { life in
                try setup.folder.write("in/late", "")
                try wait(for: "all") { life.told.count >= 2001 }
                let told = life.told.map { $0.replacing("*", with: "") }
                #expect(Set(told).count == 2001 && told.count == 2001)
                #expect(told.contains("written late"))
            }
            // In a few batches.
            #expect(setup.store.state.withLock { $0.writes } < 30)
            try setup.expectNothing()
        }
    }

    @Test(arguments: [false, true]) func aFileThatIsBeingWrittenIsToldAtItsClose(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            let file = try Linux.open(setup.folder["in/a"], .writing).release()
            try Linux.writeAll(file, "half".utf8)
            let new = try Linux.open(setup.folder["in/n"], [.writing, .creating]).release()
            try setup.folder.write("in/z", "")
            try setup.live { life in
                try life.waitUntilCompared()
                try wait(for: "the other") { life.told == ["written z*"] }
                try Linux.writeAll(file, "whole".utf8)
                FileDescriptor(owning: file).close()
                try wait(for: "it") { life.told.dropFirst().first?.hasPrefix("written a") == true }
                FileDescriptor(owning: new).close()
                try wait(for: "the new one") { life.told.count == 3 }
                #expect(life.told.last?.hasPrefix("written n") == true)
            }
        }
    }

    @Test(arguments: [false, true]) func whatIsDeletedWhileItIsAwaitedIsDeleted(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            let file = try Linux.open(setup.folder["in/a"], .writing).release()
            try Linux.writeAll(file, "half".utf8)
            try setup.live { life in
                try life.waitUntilCompared()
                try Linux.unlink(setup.folder["in/a"])
                FileDescriptor(owning: file).close()
                try wait(for: "its end") { life.told.last == "deleted a" }
            }
        }
    }

    @Test(arguments: [false, true]) func aSingleFileIsComparedToo(isRecursive: Bool) throws {
        try Folder.with { folder in
            try folder.write("in", "old")
            var setup = HandledSetup(folder: folder)
            setup.isRecursive = isRecursive
            try setup.begin()
            #expect(setup.store.names(below: setup.root) == [""])
            try setup.live { life in
                try life.waitUntilCompared()
                #expect(life.told == [])
            }
            try folder.write("in", "new")
            try setup.live { life in try wait(for: "it") { life.told == ["written in*"] } }
        }
    }

    // MARK: Roots

    @Test(arguments: [false, true], [false, true])
    func notThereIsNotDeleted(isRecursive: Bool, polls: Bool) throws {
        try with(isRecursive) { setup in
            setup.polls = polls
            try setup.begin()
            try Linux.rename(setup.folder["in"], to: setup.folder["away"])
            try setup.folder.write("away/b", "new")
            try setup.live(isArmed: false) { life in
                try wait(for: "it to say so") { if case .waiting = life.rim.condition { true } else { false } }
                #expect(life.told == [])
                try Linux.rename(setup.folder["away"], to: setup.folder["in"])
                try wait(for: "what changed there") { life.told == ["written b*"] }
            }
        }
    }

    @Test(arguments: [false, true]) func anotherFileSystemIsNotCompared(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            let root = setup.root
            let right = try #require(setup.store.root(root, of: SourceID(.path, "test")))
            setup.store.state.withLock {
                $0.roots[root] = SnapshotRoot(RootIdentity(device: right.identity.device + 1, inode: 7, born: 0))
            }
            try Linux.unlink(setup.folder["in/a"])
            try setup.live { life in
                #expect(life.rim.comparisons.last??.contains("another file system") == true)
                try setup.folder.write("in/new", "")
                try wait(for: "what happens there") { life.told == ["written new"] }
                // It is recorded for nobody.
                if case .change = life.rim.inputs.last { Issue.record("it is recorded") }
            }
            // The same has stood there at two starts.
            try setup.live { life in try wait(for: "both") { life.told.sorted() == ["deleted a*", "written new*"] } }
        }
    }

    @Test(arguments: [false, true]) func theSameFolderUnderAnotherNumberIsCompared(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            let root = setup.root
            let known = try #require(setup.store.root(root, of: SourceID(.path, "test")))
            guard known.identity.born != 0 else { return print("SKIPPED: the file system knows no birth") }
            setup.store.state.withLock { $0.roots[root]?.identity.device += 1 }
            try Linux.unlink(setup.folder["in/a"])
            try setup.live { life in try wait(for: "it") { life.told == ["deleted a*"] } }
            #expect(setup.store.root(root, of: SourceID(.path, "test")) == known)
        }
    }

    @Test(arguments: [false, true]) func withoutAStoreItComparesWhenThatCanBeOpened(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            try setup.folder.write("in/a", "new")
            setup.store.state.withLock { $0.missing = "no space left" }
            try setup.live { life in
                #expect(life.told == [])
                setup.store.state.withLock { $0.missing = nil }
                life.rim.core.queue.sync { life.source.value.positionsCame() }
                try wait(for: "it") { life.told == ["written a*"] }
            }
        }
    }

    // MARK: Initial=

    @Test(arguments: [false, true]) func existingTellsAllAtEachStart(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            setup.initial = .existing
            for _ in 1...2 {
                try setup.live { life in try wait(for: "all") { life.told.sorted() == ["written a*", "written b*"] } }
            }
            #expect(setup.store.state.withLock { $0.entries.isEmpty })
        }
    }

    @Test(arguments: [false, true]) func onceTellsAllAtTheFirstStartOnly(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            setup.initial = .once
            try setup.live { life in
                try wait(for: "all") { life.told.sorted() == ["written a*", "written b*"] }
            }
            // The first start was killed before they were handled.
            try setup.begin { life in try wait(for: "all") { life.told.sorted() == ["written a*", "written b*"] } }
            try setup.expectNothing()
            try setup.folder.write("in/b", "new")
            try setup.live { life in try wait(for: "it") { life.told == ["written b*"] } }
        }
    }

    @Test(arguments: [false, true]) func noneTellsNothingAndForgets(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            try setup.folder.write("in/a", "new")
            setup.initial = .none
            try setup.expectNothing()
            #expect(setup.store.state.withLock { $0.entries.isEmpty })
        }
    }

    @Test(arguments: [false, true]) func aReloadTellsNothingOfWhatItNewlyLetsIn(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            setup.filter = PathFilter(exclude: [try PathGlob("*.tmp".pathBytes)])
            try setup.live { life in
                try setup.folder.write("in/x.tmp", "")
                try setup.folder.write("in/y", "")
                try wait(for: "the other") { life.told == ["written y"] }
                try life.handleAll()
                life.reopen { $0.filter = PathFilter() }
            }
            setup.filter = PathFilter()
            try setup.expectNothing()
            setup.initial = .none
            try setup.live { life in
                try setup.folder.write("in/z", "")
                try wait(for: "it") { life.told == ["written z"] }
                life.reopen { $0.initial = .changed }
                try life.handleAll()
            }
            setup.initial = .changed
            try setup.live { life in
                try life.waitUntilCompared()
                #expect(life.told == [])
            }
        }
    }

    // MARK: The rest

    @Test(arguments: [false, true]) func whatWatchdWritesItselfIsNeverToldOf(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            let own = try Linux.realPath(setup.folder["in"])
            try setup.folder.makeFolder("in/state")
            try setup.live(ownPaths: [own + "/state".pathBytes, own + "/socket".pathBytes]) { life in
                for name in ["socket", "state2", "other"] { try setup.folder.write("in/\(name)", "") }
                try Linux.rmdir(setup.folder["in/state"])
                try setup.folder.write("in/last", "")
                try wait(for: "the others") { life.told == ["written state2", "written other", "written last"] }
                try life.handleAll()
                #expect(!setup.stored.contains { $0.hasPrefix("socket") })
            }
            try setup.live(ownPaths: [own]) { life in
                try life.waitUntilCompared()
                #expect(life.told == [])
            }
        }
    }

    /// A stop comes before it could be looked at again: what is so young stays untrusted, the rest is written.
    /// Else the state of `created` would hide the content that is to be told still.
    @Test(arguments: [false, true]) func aFileThatIsOnlyCreatedIsNotHandledYet(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            setup.events = [.created, .written]
            try setup.begin()
            func expectBoth(_ name: String, _ life: HandledLife) throws {
                func sizes() -> [String] {
                    life.rim.inputs.compactMap { input in
                        guard case .change(_, let fact, let state) = input,
                            fact.path == setup.folder["in/\(name)"].pathBytes
                        else { return nil }
                        return "\(fact.change) \(state.size)"
                    }
                }
                try wait(for: "both, not \(sizes())") { sizes() == ["created -1", "written 3"] }
            }
            try setup.folder.write("in/down", "new")
            try setup.live { life in
                try expectBoth("down", life)
                try setup.folder.write("in/up", "new")
                try expectBoth("up", life)
                try life.handleAll()
            }
            #expect(setup.stored == ["a", "b", "down", "up"])
        }
    }

    /// A run that an earlier watchd has left was told of a new file, which is gone by now.
    @Test(arguments: [false, true]) func theEndOfWhatARunWasToldOfIsTold(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.begin()
            try setup.folder.write("in/new", "")
            let started = ["gone", "new", "a"].map { (setup.folder["in/\($0)"].pathBytes, PathState.Kind.file) }
            setup.store.state.withLock { $0.started = Dictionary(uniqueKeysWithValues: started) }
            setup.events = [.created, .deleted]
            try setup.begin { life in
                try life.waitUntilCompared()
                #expect(life.told.sorted() == ["created new*", "deleted gone*"])
            }
            setup.events = .changed
            try setup.expectNothing()
        }
    }

    /// It was gone already when watchd read that it was written; the stop comes before its end is handled.
    @Test(arguments: [false, true]) func theEndOfWhatIsGoneAlreadyIsToldAgain(isRecursive: Bool) throws {
        try with(isRecursive, ["a", "b", "c"]) { setup in
            setup.events = [.written, .deleted, .renamed]
            try setup.live { life in
                try life.waitUntilCompared()
                try life.rim.core.queue.sync {
                    try TreeSetup.shell("echo x >> in/a; rm in/a; mv in/b in/d; rm in/d", in: setup.folder.path)
                }
                try wait(for: "both ends, not \(life.told)") {
                    ["deleted a", "deleted d"].allSatisfy(life.told.contains)
                }
                try life.handleAll(where: { $0.change != .deleted })
            }
            try setup.begin { life in
                try wait(for: "both again, not \(life.told)") { life.told.sorted() == ["deleted a*", "deleted d*"] }
            }
            try setup.expectNothing()
        }
    }

    /// Nothing is written into it: it is whole when it is made.
    @Test(arguments: [false, true]) func aFIFOIsKnownFromWhenItComes(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            setup.events = [.written, .deleted]
            try setup.live { life in
                try life.waitUntilCompared()
                try TreeSetup.shell("mkfifo in/fifo; echo > in/z", in: setup.folder.path)
                try wait(for: "the next one") { life.told == ["written z"] }
                try life.handleAll()
                #expect(setup.stored.contains("fifo"))
            }
            try TreeSetup.shell("rm in/fifo", in: setup.folder.path)
            try setup.begin { life in
                try wait(for: "its end, not \(life.told)") { life.told == ["deleted fifo*"] }
            }
            try setup.expectNothing()
        }
    }

    @Test func aNewFolderIsKnownByItsNewNameAlone() throws {
        try with(true) { setup in
            try setup.live { life in
                let watches = life.rim.on(life.source) { $0.watchCount }
                try setup.folder.makeFolder("in/t")
                try wait(for: "it to be watched") { life.rim.on(life.source) { $0.watchCount } > watches }
                try life.handleAll()
                #expect(setup.stored == ["a", "b", "t"])
                try Linux.rename(setup.folder["in/t"], to: setup.folder["in/u"])
                try wait(for: "its other name alone") { setup.stored == ["a", "b", "u"] }
            }
            try setup.expectNothing()
        }
    }

    @Test(arguments: [false, true]) func aStopWritesWhatWasHandled(isRecursive: Bool) throws {
        try with(isRecursive) { setup in
            try setup.live { life in
                try life.handleAll()
                try setup.folder.write("in/new", "")
                // A program that another test starts may keep an older file open until it executes.
                try wait(for: "it, not \(life.told)") { life.told.contains("written new") }
                let changes = life.rim.inputs.compactMap { input -> (PathFact, PathState)? in
                    if case .change(_, let fact, let state) = input { (fact, state) } else { nil }
                }
                let (fact, state) = try #require(changes.last { $0.0.path == setup.folder["in/new"].pathBytes })
                let handled = try #require(life.rim.core.queue.sync { life.rim.parts.value.environment.handled })
                let bound = QueueBound(handled, to: life.rim.core)
                life.rim.core.queue.sync {
                    bound.value.note(
                        SourceID(.path, "test"), [PathMoment(root: fact.root, path: fact.path, state: state)])
                    bound.value.sourcesClose()
                    bound.value.close {}
                }
                try wait(for: "it to be written") { setup.stored.count == 3 }
            }
        }
    }
}
