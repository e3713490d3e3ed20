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
    /// A folder with files, and sources one after the other that share a store.
    private struct Setup {
        let folder: Folder
        let store = MemorySnapshots()
        var events: PathEvents = .changed
        var initial = PathTrigger.Initial.changed
        var filter = PathFilter()

        var root: [UInt8] { folder["in"].pathBytes }

        /// A life of a source.
        func live(isArmed: Bool = true, ownPaths: [[UInt8]] = [], _ body: (Life) throws -> Void) throws {
            let rim = try Rim(snapshots: store, ownPaths: ownPaths)
            var trigger = PathTrigger(paths: [root], events: events, filter: filter)
            trigger.initial = initial
            let source = rim.open { PathSource($0, trigger, $1) }
            defer { rim.core.queue.sync { source.value.close() } }
            if isArmed { try rim.waitUntilArmed() }
            try body(Life(setup: self, rim: rim, source: source))
        }

        /// A first life that handles all that it tells of.
        func begin(_ body: (Life) throws -> Void = { _ in }) throws {
            try live { life in
                try body(life)
                try life.handleAll()
            }
        }

        /// Another life hears of nothing; a change that comes then is told as the first.
        func expectNothing() throws {
            try live { life in
                try life.waitUntilCompared()
                try folder.write("in/last", "")
                try wait(for: "the last one") { life.told == ["written last"] }
                try life.handleAll()
            }
        }
    }

    private struct Life {
        let setup: Setup
        let rim: Rim
        let source: QueueBound<any EventSource>

        /// `written a*`: recovered.
        var told: [String] {
            rim.paths.map { fact in
                func name(_ path: [UInt8]) -> String {
                    String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
                }
                let names = [fact.oldPath, fact.path].compactMap(\.self).map(name).joined(separator: " ")
                return "\(fact.change) \(names)\(fact.isRecovered ? "*" : "")"
            }
        }

        func waitUntilCompared() throws {
            try wait(for: "the comparison to be over") { rim.comparisons.last ?? nil == nil }
        }

        /// Everything that was told until now is handled, and looked at again.
        func handleAll() throws {
            let moments = rim.inputs.compactMap { input -> PathMoment? in
                guard case .change(_, let fact, let state) = input else { return nil }
                return PathMoment(root: fact.root, path: fact.path, state: state)
            }
            rim.core.queue.sync {
                rim.parts.value.environment.handled?.note(SourceID(.path, "test"), moments)
            }
            try wait(for: "it to be written") {
                rim.core.queue.sync { rim.parts.value.environment.handled?.isBehind == false }
            }
        }

        func reopen(_ change: (inout PathTrigger) -> Void) {
            var trigger = PathTrigger(paths: [setup.root], events: setup.events, filter: setup.filter)
            trigger.initial = setup.initial
            change(&trigger)
            rim.core.queue.sync { (source.value as? PathSource)?.reopen(trigger) }
        }
    }

    private func with(_ files: [String] = ["a", "b"], _ body: (inout Setup) throws -> Void) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            for name in files { try folder.write("in/\(name)", "old") }
            var setup = Setup(folder: folder)
            try body(&setup)
        }
    }

    // MARK: Comparing

    @Test func theFirstStartTellsNothingAndIsStoredBeforeItIsArmed() throws {
        try with { setup in
            try setup.live { life in
                #expect(setup.store.root(setup.root, of: SourceID(.path, "test")) != nil)
                #expect(setup.store.names(below: setup.root).map { $0.prefix(1) } == ["a", "b"])
                try life.handleAll()
                #expect(life.told == [])
                // Looked at again.
                #expect(setup.store.names(below: setup.root) == ["a", "b"])
            }
            try setup.expectNothing()
        }
    }

    @Test func whatHappenedMeanwhileIsToldAsRecovered() throws {
        try with(["a", "b", "c", "same"]) { setup in
            try setup.begin()
            try setup.folder.write("in/a", "new")
            try Linux.unlink(setup.folder["in/b"])
            try Linux.rename(setup.folder["in/c"], to: setup.folder["in/d"])
            try setup.begin { life in
                try wait(for: "all") { life.told.count == 4 }
                #expect(life.told == ["written a*", "deleted b*", "deleted c*", "written d*"])
            }
            try setup.expectNothing()
            #expect(setup.store.names(below: setup.root) == ["a", "d", "last", "same"])
        }
    }

    @Test func whatWasToldAndNotHandledIsToldAgain() throws {
        try with { setup in
            try setup.begin()
            try setup.live { life in
                try life.waitUntilCompared()
                try setup.folder.write("in/a", "new")
                try Linux.unlink(setup.folder["in/b"])
                try wait(for: "both") { life.told == ["written a", "deleted b"] }
            }
            try setup.begin { life in
                try wait(for: "both") { life.told == ["written a*", "deleted b*"] }
            }
            try setup.expectNothing()
        }
    }

    /// `touch -r` leaves size and time of writing as they were.
    @Test func newContentUnderTheOldTimesIsToldAndAnotherModeIsNot() throws {
        try with(["a", "b", "c"]) { setup in
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
                #expect(life.told == ["written a*"])
            }
        }
    }

    /// Another change may have left the same times, unless it was looked at again.
    @Test func aStampThatIsNotTrustedCountsAsChanged() throws {
        try with { setup in
            try setup.begin()
            let name = "a".pathBytes
            setup.store.state.withLock { $0.entries[setup.root]?[name]?.isFresh = true }
            try setup.live { life in
                try wait(for: "it") { life.told == ["written a*"] }
            }
            // An operation that the store has kept is still to run, and sees whatever stands there.
            setup.store.state.withLock { $0.stored = [setup.root + "/a".pathBytes] }
            try setup.expectNothing()
        }
    }

    /// As many programs do, and test helpers.
    @Test func aModeThatIsSetBehindTheCloseIsNoChange() throws {
        try with { setup in
            try setup.begin { life in
                try setup.folder.write("in/new".pathBytes, [])
                try wait(for: "it") { life.told == ["written new"] }
                try Linux.chmod(setup.folder["in/new"], 0o600)
                try Linux.chmod(setup.folder["in/new"], 0o644)
            }
            try setup.expectNothing()
        }
    }

    @Test func aStampIsNotTrustedWhileAnotherChangeIsNotHandled() throws {
        try with { setup in
            try setup.live { life in
                setup.store.state.withLock { $0.open = [setup.root + "/new".pathBytes] }
                try setup.folder.write("in/new", "")
                try wait(for: "it") { life.told == ["written new"] }
                try life.handleAll()
                #expect(setup.store.names(below: setup.root) == ["a", "b", "new?"])
            }
        }
    }

    @Test func manyAreToldOnceWhileOthersCome() throws {
        try with([]) { setup in
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

    @Test func aFileThatIsBeingWrittenIsToldAtItsClose() throws {
        try with { setup in
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

    @Test func whatIsDeletedWhileItIsAwaitedIsDeleted() throws {
        try with { setup in
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

    @Test func aSingleFileIsComparedToo() throws {
        try Folder.with { folder in
            try folder.write("in", "old")
            let setup = Setup(folder: folder)
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

    @Test func notThereIsNotDeleted() throws {
        try with { setup in
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

    @Test func anotherFileSystemIsNotCompared() throws {
        try with { setup in
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
            try setup.live { life in try wait(for: "both") { life.told == ["deleted a*", "written new*"] } }
        }
    }

    @Test func theSameFolderUnderAnotherNumberIsCompared() throws {
        try with { setup in
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

    @Test func withoutAStoreItComparesWhenThatCanBeOpened() throws {
        try with { setup in
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

    @Test func existingTellsAllAtEachStart() throws {
        try with { setup in
            setup.initial = .existing
            for _ in 1...2 {
                try setup.live { life in try wait(for: "all") { life.told == ["written a*", "written b*"] } }
            }
            #expect(setup.store.state.withLock { $0.entries.isEmpty })
        }
    }

    @Test func onceTellsAllAtTheFirstStartOnly() throws {
        try with { setup in
            setup.initial = .once
            try setup.live { life in
                try wait(for: "all") { life.told == ["written a*", "written b*"] }
            }
            // The first start was killed before they were handled.
            try setup.begin { life in try wait(for: "all") { life.told == ["written a*", "written b*"] } }
            try setup.expectNothing()
            try setup.folder.write("in/b", "new")
            try setup.live { life in try wait(for: "it") { life.told == ["written b*"] } }
        }
    }

    @Test func noneTellsNothingAndForgets() throws {
        try with { setup in
            try setup.begin()
            try setup.folder.write("in/a", "new")
            setup.initial = .none
            try setup.expectNothing()
            #expect(setup.store.state.withLock { $0.entries.isEmpty })
        }
    }

    @Test func aReloadTellsNothingOfWhatItNewlyLetsIn() throws {
        try with { setup in
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

    @Test func whatWatchdWritesItselfIsNeverToldOf() throws {
        try with { setup in
            let own = try Linux.realPath(setup.folder["in"])
            try setup.folder.makeFolder("in/state")
            try setup.live(ownPaths: [own + "/state".pathBytes, own + "/socket".pathBytes]) { life in
                for name in ["socket", "state2", "other"] { try setup.folder.write("in/\(name)", "") }
                try Linux.rmdir(setup.folder["in/state"])
                try setup.folder.write("in/last", "")
                try wait(for: "the others") { life.told == ["written state2", "written other", "written last"] }
                try life.handleAll()
                #expect(!setup.store.names(below: setup.root).contains { $0.hasPrefix("socket") })
            }
            try setup.live(ownPaths: [own]) { life in
                try life.waitUntilCompared()
                #expect(life.told == [])
            }
        }
    }

    /// A stop comes before it could be looked at again: what is so young stays untrusted, the rest is written.
    @Test func aStopWritesWhatWasHandled() throws {
        try with { setup in
            try setup.live { life in
                try life.handleAll()
                try setup.folder.write("in/new", "")
                try wait(for: "it") { life.told == ["written new"] }
                guard case .change(_, let fact, let state) = life.rim.inputs.last else { return }
                let handled = try #require(life.rim.core.queue.sync { life.rim.parts.value.environment.handled })
                let bound = QueueBound(handled, to: life.rim.core)
                life.rim.core.queue.sync {
                    bound.value.note(
                        SourceID(.path, "test"), [PathMoment(root: fact.root, path: fact.path, state: state)])
                    bound.value.sourcesClose()
                    bound.value.close {}
                }
                try wait(for: "it to be written") { setup.store.names(below: setup.root).count == 3 }
            }
        }
    }
}
