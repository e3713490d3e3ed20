import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// Links in trees across lives of a source: what was handled, and what comes of it.
@Suite("Links in trees across lives", .ownThread) struct TreeLinkLifeTests {
    private func with(_ before: String, follows: Bool = true, _ body: (inout HandledSetup) throws -> Void) throws {
        try HandledSetup.with(["a"]) { setup in
            setup.isRecursive = true
            setup.follows = follows
            try setup.folder.makeFolder("out")
            try TreeSetup.shell(before, in: setup.folder.path)
            try body(&setup)
        }
    }

    private func expect(_ expected: [String], _ setup: HandledSetup) throws {
        try setup.live { life in
            try life.waitUntilCompared()
            try wait(for: "\(expected), not \(life.told)") { life.told.sorted() == expected.sorted() }
            try life.handleAll()
        }
    }

    private static let tree = """
        mkdir -p out/t/d; echo > out/t/f; echo > out/t/d/g; echo > out/h; ln -s ../out/t in/l; ln -s ../out/h in/h
        """

    @Test func whatHasNotChangedBehindLinksIsNoNews() throws {
        try with(Self.tree) { setup in
            try setup.begin()
            #expect(
                setup.stored.map { $0.replacing("?", with: "") }.sorted() == ["a", "h", "l", "l/d", "l/d/g", "l/f"])
            try setup.expectNothing()
        }
    }

    @Test func whatHasChangedBehindLinksIsToldOnce() throws {
        try with(Self.tree) { setup in
            try setup.begin()
            try TreeSetup.shell("echo more >> t/d/g; echo > t/new; rm t/f; echo more >> h", in: setup.folder["out"])
            try expect(["written l/d/g*", "written l/new*", "deleted l/f*", "written h*"], setup)
            try setup.expectNothing()
        }
    }

    @Test func aLinkThatWasSwitchedMeanwhileIsComparedByName() throws {
        try with(Self.tree) { setup in
            try setup.begin()
            try TreeSetup.shell(
                "cp -a out/t out/u; echo > out/i; echo > out/u/more; rm out/u/d/g; ln -sfn ../out/u in/l; ln -sfn ../out/i in/h",
                in: setup.folder.path)
            try expect(["written l/f*", "written l/more*", "deleted l/d/g*", "written h*"], setup)
            try setup.expectNothing()
        }
    }

    @Test func whatALinkLedToWentMeanwhileAndComesBack() throws {
        try with(Self.tree) { setup in
            try setup.begin()
            try TreeSetup.shell("mv t u; mv h i", in: setup.folder["out"])
            try expect(
                ["deleted l/*", "deleted l/d/*", "deleted l/d/g*", "deleted l/f*", "written l*", "written h*"].map {
                    $0.replacing("/*", with: "*")
                }, setup)
            try setup.expectNothing()
            try TreeSetup.shell("rm ../in/last; mv u t; mv i h", in: setup.folder["out"])
            try expect(["deleted last*", "deleted l*", "written l/d/g*", "written l/f*", "written h*"], setup)
            try setup.expectNothing()
        }
    }

    @Test func whatIsWrittenThroughALinkAndNotHandledIsToldAgain() throws {
        try with(Self.tree) { setup in
            try setup.begin()
            try setup.live { life in
                try TreeSetup.shell("echo more >> t/f; echo more >> h", in: setup.folder["out"])
                try wait(for: "both") { Set(life.told) == ["written l/f", "written h*"] }
            }
            try expect(["written l/f*", "written h*"], setup)
            try setup.expectNothing()
        }
    }

    @Test(arguments: [false, true]) func anotherFollowSymlinksIsNoNewsAtTheNextStart(follows: Bool) throws {
        try with(Self.tree, follows: follows) { setup in
            try setup.begin()
            setup.follows = !follows
            try setup.expectNothing()
            try TreeSetup.shell("rm in/last; echo more >> out/t/f", in: setup.folder.path)
            try expect(follows ? ["deleted last*"] : ["deleted last*", "written l/f*"], setup)
        }
    }

    @Test(arguments: [false, true]) func anotherFollowSymlinksIsNoNewsAfterAReload(follows: Bool) throws {
        try with(Self.tree, follows: follows) { setup in
            try setup.begin()
            try setup.live { life in
                life.reopen { $0.followsLinks = !follows }
                func isFollowed() -> Bool {
                    life.rim.on(life.source) { source in
                        let root = (source as? PathSource)?.roots.first as? TreeRoot
                        return root?.tree.entry(at: Array("l/d/g".utf8)) != nil
                    }
                }
                try wait(for: "the change") { isFollowed() != follows }
                try setup.folder.append("out/t/f", "more")
                try setup.folder.append("in/a", "more")
                try wait(for: "a write") { life.told.contains("written a") }
                try wait(for: "a write") { follows || life.told.contains("written l/f") }
                #expect(life.told.sorted() == (follows ? ["written a"] : ["written a", "written l/f"]))
                try life.handleAll()
            }
            setup.follows = !follows
            try setup.expectNothing()
        }
    }

    @Test func aComparisonThatIsAskedForCountsWhatIsBehindLinks() throws {
        try with(Self.tree) { setup in
            try setup.live { life in
                func compare() throws -> Int? {
                    let result = Mutex<PathComparison?>(nil)
                    life.rim.core.queue.sync {
                        (life.source.value as? PathSource)?.compare { found in result.withLock { $0 = found } }
                    }
                    try wait(for: "the comparison") { result.withLock { $0 != nil } }
                    if case .found(let count)? = result.withLock({ $0 }) { return count }
                    return nil
                }
                #expect(try compare() == 0)
                let paths = ["t/f", "h"].map { setup.folder["out/\($0)"] }
                let made = try Program.run(
                    ["python3", "-c", "import os, sys; [os.truncate(p, 0) for p in sys.argv[1:]]"] + paths)
                #expect(made.status == .exited(0))
                #expect(try compare() == 2)
                try wait(for: "both") { Set(life.told) == ["written l/f*", "written h*"] }
            }
        }
    }
}
