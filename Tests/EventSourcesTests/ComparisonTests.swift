import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// A comparison that a client asks for.
@Suite("Comparisons on demand", .ownThread) struct ComparisonTests {
    /// `nil`: it was refused.
    private func compare(_ life: HandledLife) throws -> Int? {
        let result = Mutex<PathComparison?>(nil)
        life.rim.core.queue.sync {
            (life.source.value as? PathSource)?.compare { found in result.withLock { $0 = found } }
        }
        try wait(for: "the comparison") { result.withLock { $0 != nil } }
        if case .found(let count)? = result.withLock({ $0 }) { return count }
        return nil
    }

    /// By its path, of which no watch is told unless `modified` is asked for.
    private func cut(_ names: String..., in life: HandledLife) throws {
        for name in names {
            let path = life.setup.folder["in/\(name)"]
            let made = try Program.run(["python3", "-c", "import os, sys; os.truncate(sys.argv[1], 1)", path])
            #expect(made.status == .exited(0), "\(made)")
        }
    }

    @Test(arguments: [false, true]) func whatNoWatchTellsIsFoundOnce(isRecursive: Bool) throws {
        try HandledSetup.with(isRecursive ? ["a", "b", "d/c"] : ["a", "b", "c"]) { setup in
            setup.isRecursive = isRecursive
            try setup.live { life in
                #expect(try compare(life) == 0)
                let other = isRecursive ? "d/c" : "c"
                try cut("a", other, in: life)
                #expect(try compare(life) == 2)
                func told() -> [String] { life.told.filter { $0.hasSuffix("*") } }
                try wait(for: "both, not \(life.told)") { Set(told()) == ["written a*", "written \(other)*"] }
                #expect(try compare(life) == 0)
                #expect(told().count == 2, "\(life.told)")
            }
        }
    }

    @Test(arguments: [false, true]) func aFileThatIsBeingWrittenCounts(isRecursive: Bool) throws {
        try HandledSetup.with(["a", "b"]) { setup in
            setup.isRecursive = isRecursive
            try setup.live { life in
                let file = try Linux.open(setup.folder["in/a"], [.writing]).release()
                try cut("a", in: life)
                #expect(try compare(life) == 1)
                // A child of another test may have inherited the other file, which was just made, and close it now.
                func told() -> [String] { life.told.map { $0.replacing("*", with: "") }.filter { $0 != "written b" } }
                #expect(told() == [])
                FileDescriptor(owning: file).close()
                try wait(for: "its end") { told() == ["written a"] }
            }
        }
    }

    /// A filter, and `Events=`, say what a change is.
    @Test(arguments: [false, true]) func whatIsNotToldIsNoChange(isRecursive: Bool) throws {
        try HandledSetup.with(["a", "b"]) { setup in
            setup.isRecursive = isRecursive
            setup.filter = PathFilter(exclude: [try PathGlob(Array("b".utf8))])
            try setup.live { life in
                try cut("b", in: life)
                #expect(try compare(life) == 0)
            }
            setup.events = [.deleted]
            try setup.live { life in
                try life.waitUntilCompared()
                try cut("a", in: life)
                #expect(try compare(life) == 0)
                #expect(life.told == [])
            }
        }
    }

    @Test func whatIsHeldBackOrTakenAwayIsNotCompared() throws {
        try HandledSetup.with(["a"]) { setup in
            setup.isRecursive = true
            try setup.live { life in
                life.rim.core.queue.sync { life.source.value.hold() }
                let found = try compare(life)
                #expect(found == nil)
                life.rim.core.queue.sync { life.source.value.release() }
                let result = Mutex<PathComparison?>(nil)
                life.rim.core.queue.sync {
                    (life.source.value as? PathSource)?.compare { found in result.withLock { $0 = found } }
                    life.source.value.close()
                }
                guard case .refused(let reason)? = result.withLock({ $0 }) else {
                    Issue.record("\(String(describing: result.withLock { $0 }))")
                    return
                }
                #expect(reason == "it was taken away meanwhile")
            }
        }
    }

    @Test func aMissingRootHasNoChanges() throws {
        try HandledSetup.with([]) { setup in
            try Linux.rmdir(setup.folder["in"])
            for isRecursive in [false, true] {
                setup.isRecursive = isRecursive
                try setup.live(isArmed: false) { life in
                    try wait(for: "it to wait") { life.rim.condition != nil }
                    #expect(try compare(life) == 0)
                }
            }
        }
    }
}
