import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// A comparison and the kernel see the same changes: each of them is told once.
@Suite("Comparisons of paths", .ownThread) struct PathComparisonTests {
    private static let all: PathEvents = [.created, .written, .deleted, .renamed, .attributes]

    private struct Setup {
        let folder: Folder
        let rim: Rim
        let source: QueueBound<any EventSource>

        var hub: InotifyHub { rim.parts.value.environment.inotify }

        /// Makes it compare: with `change` made before the listing, and read from the kernel after it has begun or
        /// ended.
        func compare(_ change: () throws -> Void) throws {
            rim.on(source) { $0.hold() }
            try folder.write("in/dirty", "")
            try waitUntilRead()
            try rim.core.queue.sync {
                try change()
                source.value.release()
                // The listing has been made: what is read from here on comes after it.
                for lane in rim.parts.value.environment.slow.lanes.values { lane.context.sync {} }
            }
            try wait(for: "the listing") { rim.core.queue.sync { said.contains { $0.hasSuffix("in/dirty") } } }
            try waitUntilRead()
            try Linux.unlink(folder["in/dirty"])
            try wait(for: "what is dirty to go") { said.contains("deleted in/dirty") }
        }

        private func waitUntilRead() throws {
            try wait(for: "all to be read") { rim.core.queue.sync { hub.isCaughtUp } }
            // The second half of a rename may still be waited for.
            try wait(for: "a rename to be paired") {
                rim.core.queue.sync {
                    var isThrough = false
                    hub.whenCaughtUp { isThrough = true }
                    return isThrough
                }
            }
        }

        /// But for what makes it compare.
        var told: [String] { said.filter { !$0.hasSuffix("in/dirty") }.sorted() }

        private var said: [String] {
            rim.paths.map { fact in
                let name = String(decoding: fact.path.dropFirst(folder.path.utf8.count + 1), as: UTF8.self)
                return "\(fact.change) \(name)"
            }
        }
    }

    private func with(
        _ events: PathEvents = all, files: [String] = ["in/old"], _ body: (Setup) throws -> Void
    ) throws {
        try Folder.with { folder in
            for name in ["in", "in/sub", "out"] { try folder.makeFolder(name) }
            for name in files { try folder.write(name, "") }
            let trigger = PathTrigger(paths: [folder["in"].pathBytes], events: events)
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                try body(Setup(folder: folder, rim: rim, source: source))
            }
        }
    }

    @Test func aDeletionIsToldOnce() throws {
        try with { setup in
            try setup.compare { try Linux.unlink(setup.folder["in/old"]) }
            #expect(setup.told == ["deleted in/old"])
            try setup.folder.append("in/old", "")
            try Linux.unlink(setup.folder["in/old"])
            try wait(for: "the next one, told \(setup.told)") { setup.told.count == 4 }
            #expect(setup.told == ["created in/old", "deleted in/old", "deleted in/old", "written in/old"])
        }
    }

    @Test func aMoveInIsToldOnce() throws {
        try with(files: ["out/new", "in/old"]) { setup in
            try setup.compare {
                try Linux.rename(setup.folder["out/new"], to: setup.folder["in/new"])
                try Linux.rename(setup.folder["in/old"], to: setup.folder["out/old"])
            }
            #expect(setup.told == ["created in/new", "deleted in/old", "written in/new"])
            try Linux.rename(setup.folder["out/old"], to: setup.folder["in/old"])
            try wait(for: "the next one") { setup.told.count == 4 }
            try Linux.rename(setup.folder["in/new"], to: setup.folder["out/new"])
            try wait(for: "its going") { setup.told.contains("deleted in/new") }
            try Linux.rename(setup.folder["out/new"], to: setup.folder["in/new"])
            try wait(for: "its return") { setup.told.count { $0 == "written in/new" } == 2 }
        }
    }

    @Test func aRenameIsToldOnce() throws {
        try with { setup in
            try setup.compare { try Linux.rename(setup.folder["in/old"], to: setup.folder["in/new"]) }
            #expect(setup.told == ["created in/new", "deleted in/old", "written in/new"])
            try Linux.rename(setup.folder["in/new"], to: setup.folder["in/old"])
            try wait(for: "the next one") { setup.told.contains("renamed in/old") }
            #expect(setup.rim.paths.last?.hasReplaced == false)
        }
    }

    /// What no comparison tells, none may swallow.
    @Test func aRenameIsToldWhereOnlyRenamesAre() throws {
        try with([.renamed, .written]) { setup in
            try setup.folder.write("in/a", "")
            try wait(for: "a") { setup.told == ["written in/a"] }
            let facts = setup.rim.paths.count
            rim(setup) { $0.hold() }
            try setup.folder.write("in/dirty", "")
            try wait(for: "all to be read") { setup.rim.core.queue.sync { setup.hub.isCaughtUp } }
            try setup.rim.core.queue.sync {
                try Linux.rename(setup.folder["in/a"], to: setup.folder["in/b"])
                setup.source.value.release()
                for lane in setup.rim.parts.value.environment.slow.lanes.values { lane.context.sync {} }
            }
            try wait(for: "the rename") { setup.told.contains("renamed in/b") }
            #expect(setup.rim.paths.dropFirst(facts).contains { $0.change == .renamed && !$0.hasReplaced })
        }
    }

    private func rim(_ setup: Setup, _ body: (any EventSource) -> Void) { setup.rim.on(setup.source, body) }

    @Test func aFileThatWasReplacedIsToldOnce() throws {
        try with { setup in
            try setup.compare {
                try Linux.unlink(setup.folder["in/old"])
                try setup.folder.append("in/old", "another")
            }
            #expect(setup.told == ["written in/old"])
            try Linux.unlink(setup.folder["in/old"])
            try wait(for: "its going") { setup.told == ["deleted in/old", "written in/old"] }
        }
    }

    @Test func aFileThatWasWrittenAndDeletedIsToldToBeGone() throws {
        try with { setup in
            try setup.compare {
                try setup.folder.append("in/old", "x")
                try Linux.chmod(setup.folder["in/old"], 0o600)
                try Linux.unlink(setup.folder["in/old"])
            }
            #expect(setup.told == ["deleted in/old"])
        }
    }

    @Test func thoseOfTheFolderItselfAreOfItsPath() throws {
        try with { setup in
            try Linux.chmod(setup.folder["in"], 0o750)
            try wait(for: "the change, not \(setup.told)") { setup.told == ["attributes in"] }
        }
    }

    @Test func attributesAreToldOnce() throws {
        try with { setup in
            try Linux.chmod(setup.folder["in/old"], 0o600)
            try wait(for: "the change") { setup.told == ["attributes in/old"] }
            try setup.compare {}
            #expect(setup.told == ["attributes in/old"], "told by the kernel's report")
            try setup.compare { try Linux.chmod(setup.folder["in/old"], 0o640) }
            #expect(setup.told == ["attributes in/old", "attributes in/old"], "told by the comparison")
            try Linux.chmod(setup.folder["in/old"], 0o644)
            try wait(for: "the next one") { setup.told.count == 3 }
        }
    }

    @Test func aChangeOfAttributesHidesNoWriting() throws {
        try with { setup in
            try Linux.open(setup.folder["in/old"], .writing).use { file in
                try Linux.writeAll(file, "x".utf8)
                try Linux.chmod(setup.folder["in/old"], 0o600)
                try wait(for: "the change") { setup.told == ["attributes in/old"] }
                rim(setup) { $0.hold() }
            }
            rim(setup) { $0.release() }
            try setup.compare {}
            // A program that another test starts may keep it open until it executes.
            try wait(for: "the writing") { setup.told.contains("written in/old") }
        }
    }

    @Test func whatHappensInASubfolderIsNoChangeOfIt() throws {
        try with { setup in
            try setup.compare { try setup.folder.write("in/sub/file", "") }
            #expect(setup.told == [])
            try setup.compare {
                try setup.folder.write("in/sub/another", "")
                try Linux.chmod(setup.folder["in/sub"], 0o700)
            }
            #expect(setup.told == ["attributes in/sub"])
            try setup.compare {}
            #expect(setup.told == ["attributes in/sub"])
        }
    }

    /// Whatever happened while it was held, read late or opened anew: who was told knows what stands there, and of
    /// every name that something happened to it after it had happened.
    @Test func whatWasToldIsHowTheFolderStands() throws {
        for seed in Seeds.range(60) {
            try with { setup in
                var random = SeededGenerator(seed: seed)
                var history = PathHistory(folder: setup.folder)
                for _ in 0..<12 {
                    let isAtOnce = random.chance(50)
                    let steps = (0..<random.upTo(8)).map { _ in random.next() }
                    let work = {
                        for step in steps {
                            try history.change(SeededGenerator(seed: step), told: setup.rim.paths.count)
                        }
                    }
                    let ending = random.upTo(4)
                    // What it does at once is unread when the source is told something.
                    if !isAtOnce { try work() }
                    try setup.rim.core.queue.sync {
                        if isAtOnce { try work() }
                        switch ending {
                        case 0, 1: setup.source.value.hold()
                        case 2, 3: setup.source.value.release()
                        default:
                            let trigger = PathTrigger(paths: [setup.folder["in"].pathBytes], events: Self.all)
                            (setup.source.value as? PathSource)?.reopen(trigger)
                        }
                    }
                }
                rim(setup) { $0.release() }
                try wait(for: "seed \(seed): \(history.difference(setup.rim.paths) ?? "")") {
                    history.difference(setup.rim.paths) == nil
                }
                try setup.compare {}
                #expect(history.difference(setup.rim.paths) == nil, "seed \(seed), in the end")
            }
        }
    }
}

/// What was done to the entries of `in`, compared with what was told.
private struct PathHistory {
    private static let names = ["a", "b", "c", "d"]

    let folder: Folder
    /// How many facts had been told before the last thing that happened to a name.
    private var last: [String: Int] = [:]
    private var size = 1

    init(folder: Folder) { self.folder = folder }

    mutating func change(_ random: SeededGenerator, told: Int) throws {
        var random = random
        let (name, other) = (random.pick(Self.names), random.pick(Self.names))
        let (path, stands) = (folder["in/\(name)"], folder.exists("in/\(name)"))
        size += 1
        switch random.upTo(5) {
        case 0 where stands: try Linux.unlink(path)
        case 1 where stands && name != other:
            try Linux.rename(path, to: folder["in/\(other)"])
            last[other] = told
        case 2 where stands: try Linux.rename(path, to: folder["out/\(name)"])
        case 3 where folder.exists("out/\(name)"): try Linux.rename(folder["out/\(name)"], to: path)
        case 4 where stands: return try Linux.chmod(path, random.chance(50) ? 0o600 : 0o640)
        default: try folder.append("in/\(name)", String(repeating: "x", count: size))
        }
        last[name] = told
    }

    /// `nil`: none.
    func difference(_ facts: [PathFact]) -> String? {
        for name in Self.names {
            let path = folder["in/\(name)"].pathBytes
            let exists = folder.exists("in/\(name)")
            let own = facts.enumerated().filter { $1.path == path || $1.oldPath == path }
            let comings = own.map(\.element).filter { $0.change != .attributes }
            let isTold = comings.last.map { $0.change != .deleted && $0.path == path } ?? false
            if isTold != exists {
                return "\(name) \(exists ? "stands there" : "is gone"), told: \(comings.map(\.change))"
            }
            // What went and came back may have kept all but its times.
            if exists, let due = last[name], !own.contains(where: { $0.offset >= due }) {
                return "\(name): nothing was told after it had changed"
            }
        }
        return nil
    }
}
