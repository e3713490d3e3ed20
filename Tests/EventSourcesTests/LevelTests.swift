import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// `PathExists=`, `PathExistsGlob=`, `DirectoryNotEmpty=`; the handler is played by the test.
@Suite("Conditions of paths", .ownThread) struct LevelTests {
    private struct Setup {
        var rim: Rim
        var facts: [PathFact] {
            rim.facts.compactMap { if case .path(let fact) = $0, fact.handover != nil { fact } else { nil } }
        }

        func waitForFact(_ count: Int) throws -> PathFact {
            try wait(for: "\(count) facts, got \(facts.count)") { facts.count >= count }
            #expect(facts.count == count)
            return facts[count - 1]
        }

        /// A handler has run.
        func end(_ fact: PathFact, hasFailed: Bool = false, _ body: () throws -> Void = {}) throws {
            let number = try #require(fact.handover)
            rim.core.queue.sync {
                rim.parts.value.environment.handovers.accepted(number, deliveries: 1)
                rim.parts.value.environment.handovers.settle(number)
            }
            try body()
            rim.core.queue.sync { rim.parts.value.environment.handovers.ended(number, hasFailed: hasFailed) }
        }

        func waitForCondition(_ text: String) throws {
            try wait(for: "\(text), is \(String(describing: rim.condition))") { rim.condition == .waiting(text) }
        }
    }

    private func with(
        _ conditions: [PathLevels.Condition], pause: TimeSpan = .milliseconds(20), longest: TimeSpan = .seconds(60),
        _ body: (Setup, QueueBound<any EventSource>) throws -> Void
    ) throws {
        var levels = PathLevels(conditions)
        (levels.pause, levels.longestPause) = (pause, longest)
        var trigger = PathTrigger(paths: [])
        trigger.levels = levels
        try Rim.with {
            PathSource($0, trigger, $1)
        } then: {
            try body(Setup(rim: $0), $1)
        }
    }

    private func pattern(_ text: String) throws -> PathLevels.Condition {
        .existsGlob(try PathPattern(Array(text.utf8)))
    }

    /// A link above the folder leads to another one from now on: that is watched, and not the one before.
    @Test(arguments: [false, true]) func whatIsBehindALinkThatWasSwitchedIsWatched(isGlob: Bool) throws {
        try Folder.with { folder in
            for name in ["1", "1/s", "2", "2/s"] { try folder.makeFolder(name) }
            try Linux.symlink(folder["now"], to: "1")
            let condition =
                isGlob ? try pattern(folder["now/s/*.job"]) : .notEmpty(Array(folder["now/s"].utf8))
            try with([condition]) { setup, _ in
                try setup.rim.waitUntilArmed()
                try Linux.symlink(folder["next"], to: "2")
                try Linux.rename(folder["next"], to: folder["now"])
                try folder.write("2/s/a.job", "")
                let first = try setup.waitForFact(1)
                try setup.end(first) { try Linux.unlink(folder["2/s/a.job"]) }
                try folder.write("2/s/b.job", "")
                _ = try setup.waitForFact(2)
            }
        }
    }

    @Test func whatExistsIsToldAndToldAgainAfterARunThatChangedIt() throws {
        try Folder.with { folder in
            try folder.write("flag", "1")
            try with([.exists(Array(folder["flag"].utf8))], pause: .seconds(3600)) { setup, _ in
                let first = try setup.waitForFact(1)
                #expect(first.path == Array(folder["flag"].utf8) && first.change == .written)
                try setup.end(first) { try folder.write("flag", "22") }
                let second = try setup.waitForFact(2)
                try setup.end(second) { try Linux.unlink(folder["flag"]) }
                try wait(for: "armed") { setup.rim.condition == .armed }
                try folder.write("flag", "3")
                _ = try setup.waitForFact(3)
            }
        }
    }

    @Test(arguments: ["there", "not/yet/there"]) func aLinkIsFulfilledWhenSomethingComesWhereItLeads(target: String)
        throws
    {
        try Folder.with { folder in
            try Linux.symlink(folder["link"], to: target)
            try with([.exists(folder["link"].pathBytes), .notEmpty(folder["link"].pathBytes)]) { setup, _ in
                try wait(for: "armed") { setup.rim.condition == .armed }
                for end in target.indices where target[end] == "/" { try folder.makeFolder(String(target[..<end])) }
                try folder.makeFolder(target)
                #expect(try setup.waitForFact(1).path == folder["link"].pathBytes)
            }
        }
    }

    @Test func aRunThatChangesNothingIsFollowedByAPauseThatDoubles() throws {
        try Folder.with { folder in
            try folder.write("flag", "1")
            try with([.exists(Array(folder["flag"].utf8))], pause: .milliseconds(20), longest: .milliseconds(50)) {
                setup, _ in
                var told = try setup.waitForFact(1)
                for (run, pause) in [(1, "20ms"), (2, "40ms"), (3, "50ms"), (4, "50ms")] {
                    try setup.end(told)
                    let runs = run == 1 ? "1 run" : "\(run) runs"
                    try wait(for: "the condition") {
                        setup.rim.inputs.contains {
                            if case .source(_, .waiting(let text)) = $0 {
                                text == "unchanged after \(runs); looking again in \(pause)"
                            } else {
                                false
                            }
                        }
                    }
                    told = try setup.waitForFact(run + 1)
                }
            }
        }
    }

    @Test func aRunThatFailedIsFollowedByAPauseEvenIfItChangedSomething() throws {
        try Folder.with { folder in
            try folder.write("flag", "1")
            try with([.exists(Array(folder["flag"].utf8))], pause: .seconds(3600)) { setup, _ in
                try setup.end(try setup.waitForFact(1), hasFailed: true) { try folder.write("flag", "22") }
                try setup.waitForCondition("unchanged after 1 run; looking again in 1h")
                #expect(setup.facts.count == 1)
                // What somebody else does meanwhile is news.
                try folder.write("flag", "333")
                _ = try setup.waitForFact(2)
            }
        }
    }

    @Test func whatComesIntoBeingIsToldWhereverItsFoldersComeFrom() throws {
        try Folder.with { folder in
            try with([.exists(Array(folder["a/b/c"].utf8))]) { setup, _ in
                try wait(for: "armed") { setup.rim.condition == .armed }
                try folder.makeFolder("a")
                try folder.makeFolder("x")
                try folder.write("x/c", "1")
                #expect(setup.facts == [])
                try Linux.rename(folder["x"], to: folder["a/b"])
                #expect(try setup.waitForFact(1).path == Array(folder["a/b/c"].utf8))
            }
        }
    }

    @Test func aLinkThatLeadsNowhereDoesNotExist() throws {
        try Folder.with { folder in
            try Linux.symlink(folder["link"], to: folder["target"])
            try with([.exists(Array(folder["link"].utf8))]) { setup, source in
                try wait(for: "armed") { setup.rim.condition == .armed }
                #expect(setup.facts == [])
                try folder.write("target", "1")
                setup.rim.on(source) { $0.release() }
                _ = try setup.waitForFact(1)
            }
        }
    }

    @Test func globsTellAllThatMatchesOnce() throws {
        try Folder.with { folder in
            for file in ["s/1.job", "s/2.job", "s/.3.job", "s/4.txt", "t/5.job"] {
                if (try? Linux.lstat(folder[String(file.prefix(1))])) == nil {
                    try folder.makeFolder(String(file.prefix(1)))
                }
                try folder.write(file, "x")
            }
            try with([try pattern(folder["[st]/*.job"])]) { setup, _ in
                let files = ["s/1.job", "s/2.job", "t/5.job"]
                _ = try setup.waitForFact(3)
                #expect(setup.facts.map(\.path) == files.map { Array(folder[$0].utf8) })
                // One operation each: what is left is not told again until the last has ended.
                for (fact, file) in zip(setup.facts, files) { try setup.end(fact) { try Linux.unlink(folder[file]) } }
                try wait(for: "armed") { setup.rim.condition == .armed }
                try folder.write("t/6.job", "x")
                _ = try setup.waitForFact(4)
            }
        }
    }

    @Test func aFolderIsToldAsLongAsSomethingIsInIt() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/.hidden", "x")
            try folder.write("in/backup~", "x")
            try with([.notEmpty(Array(folder["in"].utf8))], pause: .seconds(3600)) { setup, _ in
                try wait(for: "armed") { setup.rim.condition == .armed }
                for file in ["1", "2", "3"] { try folder.write("in/\(file)", "x") }
                var told = try setup.waitForFact(1)
                #expect(told.path == Array(folder["in"].utf8))
                // One for each run; the last leaves nothing.
                for (index, file) in ["1", "2", "3"].enumerated() {
                    try setup.end(told) { try Linux.unlink(folder["in/\(file)"]) }
                    if index < 2 { told = try setup.waitForFact(index + 2) }
                }
                try wait(for: "armed") { setup.rim.condition == .armed }
                #expect(setup.facts.count == 3)
                try folder.write("in/4", "x")
                _ = try setup.waitForFact(4)
            }
        }
    }

    @Test func whatIsHeldIsToldAtItsRelease() throws {
        try Folder.with { folder in
            try with([.exists(Array(folder["flag"].utf8))]) { setup, source in
                setup.rim.on(source) { $0.hold() }
                try folder.write("flag", "1")
                setup.rim.on(source) { $0.release() }
                _ = try setup.waitForFact(1)
            }
        }
    }

    @Test(arguments: [
        ("a", false), (".a", true), ("a~", true), ("lost+found", true), ("a.swp", true), ("a.dpkg-new", true),
        ("a.jpg", false), ("swp", false), ("a.b.old", true),
    ]) func whatCountsAsNothing(name: String, isNothing: Bool) {
        #expect(PathLevels.isHiddenOrBackup(Array(name.utf8)) == isNothing)
    }
}
