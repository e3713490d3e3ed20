import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// Random changes of a tree, with the real kernel: in the end the last state of every changed path is told, and nothing
/// of any other.
@Suite("Random changes of trees", .ownThread) struct TreeMutatorTests {
    @Test(arguments: Seeds.range(4, long: 150)) func theLastStateOfEveryChangedPathIsTold(seed: UInt64) throws {
        try run(seed)
    }

    @Test(arguments: Seeds.range(4, long: 50)) func theSameWhereNothingIsWatched(seed: UInt64) throws {
        try run(seed, polling: PathTrigger.Polling(isAlways: true, interval: .milliseconds(5)))
    }

    @Test(arguments: Seeds.range(4, long: 150)) func theSameThroughLinks(seed: UInt64) throws {
        try run(seed, follows: true)
    }

    @Test(arguments: Seeds.range(4, long: 50)) func theSameThroughLinksWhereNothingIsWatched(seed: UInt64) throws {
        try run(seed, follows: true, polling: PathTrigger.Polling(isAlways: true, interval: .milliseconds(5)))
    }

    @Test(arguments: Seeds.range(4, long: 150)) func theSameOfWhatGlobsMatch(seed: UInt64) throws {
        try run(seed, scope: (["[ad]*/?", "b", "last*/d"], isRecursive: seed.isMultiple(of: 2)))
    }

    private func run(
        _ seed: UInt64, follows: Bool = false, polling: PathTrigger.Polling = PathTrigger.Polling(),
        scope: (patterns: [String], isRecursive: Bool)? = nil
    ) throws {
        try TreeSetup.with(
            [.created, .written, .deleted, .renamed], follows: follows, polling: polling, scope: scope
        ) { setup in
            if follows { try setup.folder.makeFolder("out/shared") }
            var mutator = TreeMutator(setup.folder, seed: seed, makesLinks: follows)
            let scope = try scope.map { try setup.folder.scope($0.patterns, isRecursive: $0.isRecursive) }
            func truth() -> TreeTruth {
                var truth = follows ? TreeTruth(followed: setup.folder) : TreeTruth(mutator, setup.folder)
                if let scope { truth.keep(scope, setup.folder) }
                return truth
            }
            var random = SeededGenerator(seed: seed &+ 1_000_000)
            for round in 0..<12 {
                let (before, seen) = (truth(), setup.rim.paths.count)
                // What somebody wrote at the last look (as a child of another test may) is told at the next.
                let earlier = polling.isAlways ? mutator.touched : []
                mutator.beginRound()
                for _ in 0..<(1 + random.upTo(30)) { mutator.step() }
                // Some are compared.
                if random.chance(25) { setup.rim.core.queue.sync { setup.hub.loseEvents() } }
                let after = truth()
                func facts() -> [PathFact] {
                    setup.rim.paths.dropFirst(seen).filter { !setup.below($0.path).hasPrefix("last") }
                }
                func flaw() -> String? {
                    after.flaw(
                        facts(), since: before, mutator, earlier: earlier, allowsFleeting: follows, below: setup.below)
                }
                do {
                    try wait(for: "all to be told") {
                        flaw() == nil && after.untold(by: setup.source, setup.rim) == nil
                            && (!follows || after.unknown(by: setup.source, setup.rim) == nil)
                    }
                    try setup.settle()
                    if let flaw = flaw() { throw TimedOut(description: flaw) }
                } catch {
                    let told = facts().map { setup.text($0) }.joined(separator: "\n")
                    let reason =
                        flaw() ?? after.untold(by: setup.source, setup.rim)
                        ?? after.unknown(by: setup.source, setup.rim) ?? "\(error)"
                    let story = mutator.story(with: setup.rim.trail)
                    Issue.record("seed \(seed), round \(round): \(reason)\n\(told)\n\(story)")
                    return
                }
            }
        }
    }
}

extension InotifyHub {
    /// As after an overflow of the kernel's queue: everything is compared.
    fileprivate func loseEvents() { take(InotifyEvent(watch: -1, mask: .overflowed)) }
}
