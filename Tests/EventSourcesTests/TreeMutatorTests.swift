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
    /// Of a file: nothing else may be there under the same stamp.
    private struct State: Equatable {
        var inode: UInt64
        var size: Int64
        var modified: Int64
        var isFolder: Bool
        /// Also where only a link to it came or went.
        var changed: Int64

        func isSame(as other: State?) -> Bool {
            guard let other else { return false }
            return (inode, size, modified, isFolder) == (other.inode, other.size, other.modified, other.isFolder)
        }
    }

    private func states(_ setup: TreeSetup, _ mutator: TreeMutator) -> [String: State] {
        var found: [String: State] = [:]
        for path in mutator.paths() {
            guard let status = try? Linux.lstat(setup.folder["in/\(path)"]) else { continue }
            let isFolder = status.kind == .folder
            found[path] = State(
                inode: status.inode, size: isFolder ? 0 : status.size, modified: isFolder ? 0 : status.modified,
                isFolder: isFolder, changed: status.changed)
        }
        return found
    }

    /// What is wrong after these facts, where `before` has become `after`; `nil`: nothing.
    private func flaw(
        _ facts: [PathFact], _ setup: TreeSetup, _ before: [String: State], _ after: [String: State],
        _ mutator: TreeMutator, _ earlier: Set<String> = []
    ) -> String? {
        // The last that was told of each path: whether it is there.
        var last: [String: Bool] = [:]
        for fact in facts {
            let slash = fact.isFolder ? "/" : ""
            let path = setup.below(fact.path) + slash
            if let old = fact.oldPath { last[setup.below(old) + slash] = false }
            last[path] = fact.change != .deleted
        }
        for (path, isThere) in last where isThere != (after[path] != nil) {
            return "\(path) was told to be \(isThere ? "there" : "gone") last"
        }
        for (path, state) in after where !state.isSame(as: before[path]) && last[path] != true {
            if state.isFolder, before[path]?.isFolder == true { continue }
            return "\(path) was not told"
        }
        for path in before.keys where after[path] == nil && last[path] != false {
            return "the end of \(path) was not told"
        }
        for path in last.keys where !mutator.touched.contains(path) && before[path] == after[path] {
            if earlier.contains(path) { continue }
            if let inode = after[path]?.inode, mutator.linked.contains(inode) { continue }
            return "\(path) was told, and is unchanged"
        }
        return nil
    }

    @Test(arguments: Seeds.range(4, long: 150)) func theLastStateOfEveryChangedPathIsTold(seed: UInt64) throws {
        try run(seed)
    }

    @Test(arguments: Seeds.range(4, long: 50)) func theSameWhereNothingIsWatched(seed: UInt64) throws {
        try run(seed, polling: PathTrigger.Polling(isAlways: true, interval: .milliseconds(5)))
    }

    private func run(_ seed: UInt64, polling: PathTrigger.Polling = PathTrigger.Polling()) throws {
        try TreeSetup.with([.created, .written, .deleted, .renamed], polling: polling) { setup in
            var mutator = TreeMutator(setup.folder, seed: seed)
            var random = SeededGenerator(seed: seed &+ 1_000_000)
            for round in 0..<12 {
                let (before, seen) = (states(setup, mutator), setup.rim.paths.count)
                // What somebody wrote at the last look (as a child of another test may) is told at the next.
                let earlier = polling.isAlways ? mutator.touched : []
                mutator.beginRound()
                for _ in 0..<(1 + random.upTo(30)) { mutator.step() }
                // Some are compared.
                if random.chance(25) { setup.rim.core.queue.sync { setup.hub.loseEvents() } }
                let after = states(setup, mutator)
                func facts() -> [PathFact] {
                    setup.rim.paths.dropFirst(seen).filter { !setup.below($0.path).hasPrefix("last") }
                }
                func flaw() -> String? {
                    self.flaw(facts(), setup, before, after, mutator, earlier)
                }
                do {
                    try wait(for: "all to be told", seconds: 10) { flaw() == nil }
                    try setup.settle()
                    if let flaw = flaw() { throw TimedOut(description: flaw) }
                } catch {
                    let told = facts().map { setup.text($0) }.joined(separator: "\n")
                    Issue.record("seed \(seed), round \(round): \(flaw() ?? "\(error)")\n\(told)")
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
