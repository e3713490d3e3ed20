import Engine
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// Random changes of a tree while it is watched, while it is compared, and while nobody is there, with the real kernel:
/// what was not handled is told in the next life, its last state at least, and nothing of any other path.
@Suite("Random changes of trees across lives", .ownThread) struct TreeLifeTests {
    @Test(arguments: Seeds.range(4, long: 150)) func whatIsNotHandledIsToldInTheNextLife(seed: UInt64) throws {
        try HandledSetup.with([]) { setup in
            (setup.isRecursive, setup.events) = (true, [.created, .written, .deleted, .renamed])
            setup.store.noteOpen()
            try setup.folder.makeFolder("out")
            var mutator = TreeMutator(setup.folder, seed: seed)
            var random = SeededGenerator(seed: seed &+ 3_000_000)
            for _ in 0..<30 { mutator.step() }
            try setup.begin()
            // What was handled.
            var before = TreeTruth(mutator, setup.folder)
            mutator.beginRound()
            for life in 1...8 {
                for _ in 0..<random.upTo(30) { mutator.step() }
                let isHandled = random.chance(60)
                guard let after = try live(setup, &mutator, &random, before, "seed \(seed), life \(life)", isHandled)
                else { return }
                guard isHandled else { continue }
                before = after
                mutator.beginRound()
            }
        }
    }

    /// - Returns: what stands there in the end; `nil`: something was wrong.
    private func live(
        _ setup: HandledSetup, _ mutator: inout TreeMutator, _ random: inout SeededGenerator, _ before: TreeTruth,
        _ name: String, _ isHandled: Bool
    ) throws -> TreeTruth? {
        var (result, changes) = (TreeTruth?.none, mutator)
        defer { mutator = changes }
        let (early, late) = (random.chance(50) ? random.upTo(20) : 0, random.chance(70) ? random.upTo(20) : 0)
        try setup.live(isArmed: false) { life in
            for _ in 0..<early { changes.step() }
            try life.rim.waitUntilArmed()
            for _ in 0..<late { changes.step() }
            let after = TreeTruth(changes, setup.folder)
            func below(_ path: [UInt8]) -> String {
                String(decoding: HandledPaths.relative(path, to: setup.root), as: UTF8.self)
            }
            func facts() -> [PathFact] {
                life.rim.paths.filter {
                    setup.events.contains(PathEvents($0.change)) && !below($0.path).hasPrefix("last")
                }
            }
            func flaw() -> String? { after.flaw(facts(), since: before, changes, allowsFleeting: true, below: below) }
            do {
                try wait(for: "all to be told") {
                    flaw() == nil && after.untold(by: life.source, life.rim) == nil
                }
                try life.waitUntilCompared()
                try settle(life)
                if let flaw = flaw() { throw TimedOut(description: flaw) }
                if isHandled { try life.handleAll() }
                result = after
            } catch {
                let told = facts().map {
                    "\($0.change) \($0.oldPath.map(below) ?? "") \(below($0.path)) \($0.isRecovered)"
                }
                let reason = flaw() ?? after.untold(by: life.source, life.rim) ?? "\(error)"
                let story = changes.story(with: life.rim.trail)
                Issue.record("\(name): \(reason)\n\(told.joined(separator: "\n"))\n\(story)")
            }
        }
        return result
    }

    private func settle(_ life: HandledLife) throws {
        let name = "last\(UInt64.random(in: 0...(.max)))"
        try life.setup.folder.write("in/\(name)", "")
        try wait(for: "the last one") { life.told.contains { $0.hasPrefix("written \(name)") } }
    }
}
