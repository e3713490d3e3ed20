import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// What is peculiar to trees of the snapshots of what was handled.
@Suite("Snapshots of trees", .ownThread) struct HandledTreeTests {
    private func with(
        _ files: [String] = ["a", "d/b", "d/e/c", "f/x"], _ body: (inout HandledSetup) throws -> Void
    ) throws {
        try HandledSetup.with(files) { setup in
            setup.isRecursive = true
            try body(&setup)
        }
    }

    private func shell(_ text: String, _ setup: HandledSetup) throws {
        try TreeSetup.shell(text, in: setup.folder["in"])
    }

    private func expect(_ told: [String], _ setup: HandledSetup, kept: Bool = true) throws {
        try setup.live { life in
            try wait(for: "\(told.sorted()), not \(life.told.sorted())") { life.told.sorted() == told.sorted() }
            try life.waitUntilCompared()
            if kept { try life.handleAll() }
            #expect(life.told.sorted() == told.sorted())
        }
    }

    @Test func theWholeTreeIsStored() throws {
        try with { setup in
            try setup.begin()
            #expect(setup.stored == ["a", "d", "d/b", "d/e", "d/e/c", "f", "f/x"])
            #expect(setup.store.root(setup.root, of: SourceID(.path, "test"))?.scope.isRecursive == true)
            try setup.expectNothing()
        }
    }

    @Test func whatHappenedInFoldersIsTold() throws {
        try with { setup in
            setup.events = .all
            try setup.begin()
            try shell("echo new >d/b; rm -r f; mkdir -p g/h; echo >g/h/y; mv d/e g/e; echo >d/e2; chmod 600 a", setup)
            try expect(
                [
                    "written d/b*", "deleted f/x*", "deleted f*", "created g*", "created g/h*", "created g/h/y*",
                    "written g/h/y*", "deleted d/e/c*", "deleted d/e*", "created g/e*", "created g/e/c*",
                    "written g/e/c*", "created d/e2*", "written d/e2*", "attributes a*",
                ], setup)
            setup.events = .changed
            try setup.expectNothing()
            #expect(setup.stored == ["a", "d", "d/b", "d/e2", "g", "g/e", "g/e/c", "g/h", "g/h/y", "last"])
        }
    }

    @Test func whatAFolderIsRenamedToIsRecorded() throws {
        try with { setup in
            try setup.begin { life in
                try Linux.rename(setup.folder["in/d"], to: setup.folder["in/z"])
                try wait(for: "all") { life.told.count == 4 }
            }
            #expect(setup.stored == ["a", "f", "f/x", "z", "z/b", "z/e", "z/e/c"])
            try setup.expectNothing()
        }
    }

    /// It was told of as written before anybody knew what it would become.
    @Test func whatIsReplacedByAFolderAndTheOtherWayRound() throws {
        try with { setup in
            try setup.begin()
            try shell("rm a; mkdir a; echo >a/n; rm -r f; echo >f; rm d/b; ln -s nowhere d/b", setup)
            try expect(
                ["deleted a*", "written a/n*", "deleted f/x*", "deleted f*", "written f*", "written d/b*"], setup)
            try setup.expectNothing()
        }
    }

    /// Its folder may not be recorded yet, as the handler of its coming is to run, though what came in it is handled.
    @Test func aFileInAFolderThatIsNotRecorded() throws {
        try with { setup in
            try setup.begin()
            setup.store.state.withLock { $0.entries[setup.root]?["d".pathBytes] = nil }
            setup.events = .all
            try expect(["created d*"], setup, kept: true)
            setup.events = .changed
            try setup.expectNothing()
        }
    }

    /// A folder came for a file, or a file for a folder, and one of both is not handled, as is what stood in the folder.
    @Test(arguments: [false, true]) func theEndOfWhatStoodInAFolderWhereAFileWasHandled(isGone: Bool) throws {
        try with(["a", "b", "d/b", "d/e/c"]) { setup in
            try setup.begin()
            setup.store.state.withLock { state in
                guard var rows = state.entries[setup.root] else { return }
                for (path, row) in [("a/e", "d/e"), ("a/e/c", "d/e/c"), ("b/n", "d/b")] {
                    rows[path.pathBytes] = rows[row.pathBytes]
                }
                state.entries[setup.root] = rows
            }
            let ends = ["deleted a/e*", "deleted a/e/c*"]
            if isGone {
                try shell("rm a b; mkdir b; echo >b/n", setup)
                // A file stood at its path before as well, which is not the new one.
                try expect(ends + ["deleted a*", "deleted b*", "deleted b/n*", "written b/n*"], setup)
            } else {
                try expect(ends + ["deleted b/n*"], setup)
            }
            try setup.expectNothing()
        }
    }

    @Test func namesAreBytesAndDepthIsNoLimit() throws {
        try with(["a"]) { setup in
            let deep = Array(repeating: String(repeating: "n", count: 250), count: 25).joined(separator: "/")
            try shell(
                #"""
                name=$(printf '\\377\\001 x'); mkdir "$name"
                for number in 1 2 3; do echo >"$name/$(printf 'f\\n\\200')$number"; done
                """#, setup)
            let made = try Program.run([
                "python3", "-c",
                "import os, sys\nos.chdir(sys.argv[1])\nfor n in sys.argv[2].split('/'): os.mkdir(n); os.chdir(n)\nopen('file', 'w').close()",
                setup.folder["in"], deep,
            ])
            #expect(made.status == .exited(0))
            defer { _ = try? Program.run(["rm", "-rf", setup.folder["in"]]) }
            try setup.begin()
            #expect(setup.stored.count == 1 + 4 + 25 + 1)
            try setup.expectNothing()
        }
    }

    @Test func timesInTheFutureAreTimesLikeAnyOther() throws {
        try with { setup in
            try shell("touch -d 2096-01-01 a d/b d", setup)
            try setup.begin()
            try setup.expectNothing()
            try shell("echo longer >a; echo new >d/b; touch -d 2096-01-01 a d/b", setup)
            try expect(["written a*", "written d/b*"], setup)
            try setup.expectNothing()
        }
    }

    // MARK: The rules of the beginning

    /// The source is armed before anything is told, and everything that comes then is told beside it.
    @Test func manyDifferencesDoNotHoldUpTheArming() throws {
        let files = (0..<3000).map { "d\($0 % 30)/f\($0)" }
        try with(files) { setup in
            try setup.begin()
            try shell("rm d0/*; for f in d1/* d2/* d3/*; do echo new >$f; done", setup)
            try setup.live { life in
                let early = life.rim.inputs.prefix { if case .source(_, .armed) = $0 { false } else { true } }
                #expect(!early.contains { if case .change = $0 { true } else { false } })
                try setup.folder.write("in/d5/new", "")
                try wait(for: "all") { life.told.count == 401 }
                #expect(life.told.contains("written d5/new"))
                #expect(Set(life.told).count == 401)
            }
        }
    }

    @Test func aSourceWithoutRoomIsArmedAndComparesLater() throws {
        try with { setup in
            try setup.begin()
            try shell("echo new >d/b; rm f/x", setup)
            let rim = try Rim(snapshots: setup.store)
            let trigger = setup.trigger
            let source = rim.open { id, environment in
                let source = PathSource(id, trigger, environment)
                source.hold()
                return source
            }
            defer { rim.core.queue.sync { source.value.close() } }
            let life = HandledLife(setup: setup, rim: rim, source: source)
            try rim.waitUntilArmed()
            #expect(rim.comparisons.last != .some(nil) && life.told == [])
            rim.core.queue.sync { source.value.release() }
            try wait(for: "both") { life.told.sorted() == ["deleted f/x*", "written d/b*"] }
        }
    }

    @Test func aLinkThatIsLedElsewhereIsAChangeOfAllBelow() throws {
        try with { setup in
            try shell("cd ..; mv in one; ln -s one in; mkdir two; echo >two/a; echo >two/n", setup)
            try setup.begin()
            #expect(setup.stored.count == 7)
            try shell("cd ..; ln -sfn two in", setup)
            try expect(
                [
                    "written a*", "written n*", "deleted d/b*", "deleted d/e/c*", "deleted f/x*", "deleted d/e*",
                    "deleted d*", "deleted f*",
                ],
                setup)
            try setup.expectNothing()
        }
    }

    @Test func aRootThatWasMissingBeforeIsNew() throws {
        try with { setup in
            try Linux.rename(setup.folder["in"], to: setup.folder["away"])
            try setup.live(isArmed: false) { life in
                try wait(for: "it to be stored") { setup.store.root(setup.root, of: SourceID(.path, "test")) != nil }
            }
            try Linux.rename(setup.folder["away"], to: setup.folder["in"])
            try expect(["written a*", "written d/b*", "written d/e/c*", "written f/x*"], setup)
            try setup.expectNothing()
            // It goes while it is watched.
            try setup.begin { life in
                try shell("rm -r ../in", setup)
                try wait(for: "all") { life.told.filter { $0.hasPrefix("deleted") }.count == 8 }
            }
            #expect(setup.store.names(below: setup.root) == [])
            try setup.live(isArmed: false) { life in
                try wait(for: "it to say so") { if case .waiting = life.rim.condition { true } else { false } }
                try setup.folder.makeFolder("in")
                try setup.folder.write("in/new", "")
                try wait(for: "it") { life.told.map { $0.replacing("*", with: "") } == ["written new"] }
            }
        }
    }

    @Test func withoutAStoreWhatIsStoredIsComparedInTheEnd() throws {
        try with { setup in
            try setup.begin()
            try shell("echo new >d/b; rm -r f; echo >d/n", setup)
            setup.store.state.withLock { $0.missing = "no space left" }
            try setup.live { life in
                #expect(life.told == [])
                setup.store.state.withLock { $0.missing = nil }
                life.rim.core.queue.sync { life.source.value.positionsCame() }
                let all = ["deleted f*", "deleted f/x*", "written d/b*", "written d/n*"]
                try wait(for: "all") { life.told.sorted() == all }
                try shell("echo >f2; mkdir -p d/deep; echo >d/deep/q", setup)
                try wait(for: "what comes then") { life.told.suffix(2).sorted() == ["written d/deep/q", "written f2"] }
                try life.handleAll()
            }
            try setup.expectNothing()
        }
    }

    @Test func aStoreThatHasLostAllIsGivenAllAgain() throws {
        try with { setup in
            try setup.live { life in
                try life.handleAll()
                setup.store.state.withLock { ($0.entries, $0.roots) = ([:], [:]) }
                life.rim.core.queue.sync { (life.source.value as? PathSource)?.storeAgain() }
                try wait(for: "it") { setup.stored == ["a", "d", "d/b", "d/e", "d/e/c", "f", "f/x"] }
                try wait(for: "its end") { setup.store.root(setup.root, of: SourceID(.path, "test")) != nil }
            }
        }
    }

    // MARK: Another watch file

    @Test func whatIsPrunedAtTheNextStartIsForgottenAndNoNewsLater() throws {
        try with { setup in
            try setup.begin()
            setup.prune = ["e"]
            try shell("echo new >d/e/c; echo new >d/b", setup)
            try expect(["written d/b*"], setup)
            #expect(setup.stored == ["a", "d", "d/b", "f", "f/x"])
            try shell("echo newer >d/e/c; echo >d/e/n", setup)
            setup.prune = []
            try setup.live { life in
                try life.waitUntilCompared()
                #expect(life.told == [])
                try life.handleAll()
                #expect(setup.stored == ["a", "d", "d/b", "d/e", "d/e/c", "d/e/n", "f", "f/x"])
            }
            try shell("rm d/e/n", setup)
            try expect(["deleted d/e/n*"], setup)
        }
    }

    @Test func aReloadThatPrunesOrDoesNoLongerTellsNothing() throws {
        try with { setup in
            try setup.live { life in
                try life.handleAll()
                life.reopen { $0.prune = HandledSetup.prune(["e"]) }
                try life.handleAll()
                try wait(for: "it to be forgotten") { setup.stored == ["a", "d", "d/b", "f", "f/x"] }
                try shell("echo new >d/e/c; echo >d/e/n", setup)
                // The times of files are behind the clock by up to that.
                let written = try Linux.lstat(setup.folder["in/d/e/n"]).changed
                try wait(for: "20 ms") { Linux.now(.realtime) * 1000 - written > 20_000_000 }
                life.reopen { _ in }
                try wait(for: "it to be known, not \(setup.stored)") {
                    setup.stored == ["a", "d", "d/b", "d/e", "d/e/c", "d/e/n", "f", "f/x"]
                }
                try wait(for: "the scope") {
                    setup.store.root(setup.root, of: SourceID(.path, "test"))?.scope.prune == []
                }
                #expect(life.told == [])
                try shell("echo >d/e/m", setup)
                try wait(for: "what comes then") { life.told == ["written d/e/m"] }
            }
            try expect(["written d/e/m*"], setup)
            try setup.expectNothing()
        }
    }

    @Test func aReloadThatWatchesTheWholeTreeTellsNothingOfIt() throws {
        try with { setup in
            setup.isRecursive = false
            try setup.live { life in
                try life.handleAll()
                #expect(setup.stored == ["a", "d", "f"])
                setup.isRecursive = true
                try shell("echo >n", setup)
                life.reopen { $0.isRecursive = true }
                try wait(for: "all to be known") { setup.stored.contains("d/e/c") }
                try wait(for: "what came just before, not \(life.told)") {
                    life.told.map { $0.replacing("*", with: "") } == ["written n"]
                }
                try shell("echo >d/e/m; mv d/b b", setup)
                try wait(for: "what comes then") { life.told.suffix(2) == ["written d/e/m", "renamed d/b b"] }
                try life.handleAll()
                let scope = setup.store.root(setup.root, of: SourceID(.path, "test"))?.scope
                #expect(scope?.isRecursive == true)
            }
            try setup.expectNothing()
        }
    }

    @Test func aReloadThatWatchesTheFolderAloneForgetsTheRest() throws {
        try with { setup in
            try setup.live { life in
                try life.handleAll()
                try shell("echo new >d/b; echo new >a", setup)
                life.reopen { $0.isRecursive = false }
                try wait(for: "what came just before, not \(life.told)") {
                    life.told.map { $0.replacing("*", with: "") }.contains("written a")
                }
                try life.handleAll()
                try wait(for: "the rest to be forgotten, not \(setup.stored)") {
                    // That of which the handler ran on is recorded, for nobody.
                    setup.stored.filter { $0.contains("/") && $0 != "d/b" } == []
                }
                try setup.folder.write("in/n", "")
                try wait(for: "what comes then") { life.told.contains("written n") }
                try life.handleAll()
            }
            setup.isRecursive = false
            try setup.expectNothing()
        }
    }

    @Test func whatAnEarlierStartWatchedInAnotherWayIsTakenOver() throws {
        try with { setup in
            setup.isRecursive = false
            try setup.begin()
            try shell("echo >d/n; echo >n; mkdir g; echo >g/y", setup)
            setup.isRecursive = true
            // Nothing was known of what stands in folders; of those that came all is new.
            try expect(["written n*", "written g/y*"], setup)
            #expect(setup.stored == ["a", "d", "d/b", "d/e", "d/e/c", "d/n", "f", "f/x", "g", "g/y", "n"])
            setup.isRecursive = false
            try shell("echo new >a; echo new >d/b", setup)
            try expect(["written a*"], setup)
            #expect(setup.stored == ["a", "d", "f", "g", "n"])
        }
    }

    @Test func whatAnEarlierPathHoldsIsHandledForTheOther() throws {
        try with { setup in
            let rim = try Rim(snapshots: setup.store)
            var trigger = setup.trigger
            trigger.paths.append(setup.root + "/d".pathBytes)
            let source = rim.open { [trigger] in PathSource($0, trigger, $1) }
            defer { rim.core.queue.sync { source.value.close() } }
            let life = HandledLife(setup: setup, rim: rim, source: source)
            try rim.waitUntilArmed()
            try setup.folder.write("in/d/b", "new")
            try wait(for: "it, once") { life.told == ["written d/b"] }
            try life.handleAll()
            let new = try Linux.lstat(setup.folder["in/d/b"])
            let states = setup.store.state.withLock { state in
                [
                    state.entries[setup.root]?["d/b".pathBytes],
                    state.entries[setup.root + "/d".pathBytes]?["b".pathBytes],
                ]
            }
            #expect(states.map { $0?.modified } == [new.modified, new.modified])
        }
    }

    /// Nobody is told of them, and the next start tells nobody that they have gone from their old places.
    @Test func youngFoldersThatChangePlacesAreKnownByTheirNewOnes() throws {
        try HandledSetup.with(["b/x"]) { setup in
            setup.isRecursive = true
            try setup.live { life in
                try TreeSetup.shell("mkdir -p in/a/k/l; echo >in/a/k/l/f", in: setup.folder.path)
                try wait(for: "the file") { life.told.contains("written a/k/l/f") }
                try life.handleAll()
                let exchange =
                    "import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, b'in/a', -100, b'in/b', 2))"
                try TreeSetup.shell("python3 -c \"\(exchange)\"", in: setup.folder.path)
                try wait(for: "its new path") { life.told.contains { $0.hasSuffix("b/k/l/f") } }
                // The folders were handled before.
                try life.handleAll { $0.change != .created }
            }
            #expect(setup.stored.filter { $0.hasPrefix("a/k") } == [])
            try setup.expectNothing()
        }
    }
}
