import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// Changes of files while no daemon runs, but the service manager holds its inotify descriptor.
@Suite("Adopted inotify", .ownThread) struct AdoptedInotifyTests {
    private static let all: PathEvents = [.created, .written, .deleted, .renamed]

    /// What a daemon tells that comes after one that watched `path`, with `change` made in between.
    private func told(
        _ folder: Folder, path: String, events: PathEvents = all, isHeldFirst: Bool = false, isRecursive: Bool = false,
        change: () throws -> Void,
        until: (Rim) -> Bool
    ) throws -> (facts: [PathFact], rim: Rim) {
        let trigger = PathTrigger(paths: [folder[path].pathBytes], events: events, isRecursive: isRecursive)
        let before = try Rim()
        let source = before.open { PathSource($0, trigger, $1) }
        try wait(for: "the first daemon to watch") {
            switch before.condition {
            case .armed, .waiting: true
            default: false
            }
        }
        // It is killed: nothing is taken back, and a copy of its descriptor stays.
        let stored = try before.core.queue.sync {
            let hub = before.parts.value.environment.inotify
            let stored = try Linux.duplicate(hub.storeDescriptor).release()
            hub.close()
            return stored
        }
        try change()
        let after = try Rim(adopting: stored)
        let next = after.open { PathSource($0, trigger, $1) }
        after.core.queue.sync {
            if isHeldFirst { next.value.hold() }
            after.parts.value.environment.inotify.startReading()
        }
        if isHeldFirst {
            try wait(for: "the end of what had waited") {
                after.core.queue.sync { !after.parts.value.environment.inotify.isReplaying }
            }
            #expect(after.paths.isEmpty)
            after.on(next) { $0.release() }
        }
        func stand() -> String {
            "\(names(after, folder).suffix(10)), gap \(after.gap), \(after.trail.suffix(30).map(\.text))"
        }
        try wait(for: "what was missed, and not \(stand())") { until(after) }
        after.on(next) { $0.close() }
        before.on(source) { $0.close() }
        return (after.paths, after)
    }

    @Test func whatHappenedInATreeIsTold() throws {
        try Folder.with { folder in
            for name in ["in", "in/d", "in/d/e"] { try folder.makeFolder(name) }
            for name in ["in/d/f", "in/d/e/gone", "in/d/e/still"] { try folder.write(name, "") }
            let (facts, rim) = try told(
                folder, path: "in", isRecursive: true,
                change: {
                    try folder.write("in/d/f", "more")
                    try Linux.unlink(folder["in/d/e/gone"])
                    try folder.write("in/d/e/new", "")
                    try folder.makeFolder("in/x")
                    try folder.makeFolder("in/x/y")
                    try folder.write("in/x/y/z", "")
                }, until: { rim in rim.paths.contains { $0.change == .written && $0.path.last == UInt8(ascii: "z") } })
            let wanted = [
                "created in/d/e/new", "created in/x", "created in/x/y", "created in/x/y/z", "deleted in/d/e/gone",
                "written in/d/e/new", "written in/d/f", "written in/x/y/z",
            ]
            #expect(names(rim, folder).sorted() == wanted)
            #expect(!facts.contains { $0.isRecovered })
        }
    }

    private func names(_ rim: Rim, _ folder: Folder) -> [String] {
        rim.paths.map { fact in
            let name = String(decoding: fact.path.dropFirst(folder.path.utf8.count + 1), as: UTF8.self)
            return "\(fact.change) \(name)"
        }
    }

    /// In any order, as often as they are named.
    private func expect(_ expected: [String], _ folder: Folder, _ rim: Rim) {
        #expect(names(rim, folder).sorted() == expected.sorted())
    }

    @Test func everyChangeIsToldAndNoneTwice() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/old", "")
            try folder.write("in/gone", "")
            try folder.write("in/moved", "")
            let (_, rim) = try told(folder, path: "in") {
                try folder.write("in/new", "text")
                try folder.append("in/old", "more")
                try Linux.unlink(folder["in/gone"])
                try Linux.rename(folder["in/moved"], to: folder["in/renamed"])
            } until: {
                names($0, folder).contains("renamed in/renamed")
            }
            expect(
                ["created in/new", "written in/new", "written in/old", "deleted in/gone", "renamed in/renamed"], folder,
                rim)
        }
    }

    @Test func heldFromTheBeginningItIsToldAfterwards() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/old", "")
            try folder.write("in/gone", "")
            let (_, rim) = try told(folder, path: "in", isHeldFirst: true) {
                try folder.write("in/new", "text")
                try folder.append("in/old", "more")
                try Linux.unlink(folder["in/gone"])
            } until: {
                $0.paths.count >= 4
            }
            expect(["created in/new", "written in/new", "written in/old", "deleted in/gone"], folder, rim)
        }
    }

    @Test func aFileThatIsWatchedAloneTellsItsChange() throws {
        try Folder.with { folder in
            try folder.write("file", "a")
            try folder.write("other", "a")
            let (_, rim) = try told(folder, path: "file") {
                try folder.append("file", "b")
                try folder.append("other", "b")
                try folder.write("next", "c")
                try Linux.rename(folder["next"], to: folder["file"])
            } until: {
                $0.paths.count >= 2
            }
            expect(["written file", "written file"], folder, rim)
        }
    }

    @Test func aFolderThatCameMeanwhileIsToldAsAWhole() throws {
        try Folder.with { folder in
            let (_, rim) = try told(folder, path: "a/in") {
                try folder.makeFolder("a")
                try folder.makeFolder("a/in")
                try folder.write("a/in/file", "text")
            } until: {
                $0.paths.count >= 2
            }
            expect(["created a/in/file", "written a/in/file"], folder, rim)
        }
    }

    @Test func aFolderThatWasReplacedIsToldAsAWhole() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/old", "")
            let (_, rim) = try told(folder, path: "in") {
                try Linux.unlink(folder["in/old"])
                try Linux.rmdir(folder["in"])
                try folder.makeFolder("in")
                try folder.write("in/new", "text")
            } until: {
                names($0, folder).contains("written in/new")
            }
            let said = names(rim, folder)
            #expect(said.filter { $0 == "created in/new" }.count == 1)
            #expect(said.filter { $0 == "written in/new" }.count == 1)
        }
    }

    @Test func moreChangesThanAListingKeepsAreAllTold() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            let count = 5_250
            let (facts, _) = try told(folder, path: "in") {
                // Never open: the kernel tells no closing of a file that has gone, and a process that another test is
                // starting may have it open for longer.
                for index in 0..<count {
                    try Linux.mkfifo(folder["in/\(index)"])
                    try Linux.unlink(folder["in/\(index)"])
                }
            } until: {
                $0.paths.count >= 2 * count
            }
            #expect(facts.count { $0.change == .created } == count)
            #expect(facts.count { $0.change == .deleted } == count)
        }
    }

    @Test func whatTheKernelCouldNotKeepIsSaidToBeLost() throws {
        let limit = try #require(
            Int(String(decoding: Linux.readFile("/proc/sys/fs/inotify/max_queued_events").dropLast(), as: UTF8.self)))
        try #require(limit <= 100_000)
        try Folder.with { folder in
            try folder.makeFolder("in")
            var isLastWritten = false
            let (facts, rim) = try told(folder, path: "in", events: [.created, .written]) {
                // The kernel merges what comes twice in a row: nothing is opened, which would be closed at any time.
                for _ in 0...limit / 2 + 5 {
                    try Linux.mkfifo(folder["in/fifo"])
                    try Linux.unlink(folder["in/fifo"])
                }
            } until: { rim in
                guard rim.inputs.contains(where: { if case .gap = $0 { true } else { false } }) else { return false }
                // When it is told, what the folder holds was compared: closed before that, the source would lose more.
                if !isLastWritten { isLastWritten = (try? folder.write("in/last", "")) != nil }
                return names(rim, folder).contains("written in/last")
            }
            #expect(rim.inputs.count { if case .gap = $0 { true } else { false } } == 1)
            // The others are of folders above.
            #expect(facts.count > limit / 2)
            // Whether the kernel has kept its last removal is a matter of what else it had to keep.
            let real: [[UInt8]: Set<PathChange>] = [
                folder["in/last"].pathBytes: [.created, .written], folder["in/fifo"].pathBytes: [.deleted],
            ]
            let madeUp = facts.filter { $0.isRecovered && real[$0.path]?.contains($0.change) != true }
            #expect(madeUp.isEmpty)
        }
    }

    @Test func watchesThatNobodyWantsAnyMoreAreTakenAway() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.makeFolder("unwanted")
            let stored = try Linux.inotifyCreate().release()
            _ = try Linux.inotifyAdd(stored, folder["unwanted"], .created)
            let wanted = try Linux.inotifyAdd(stored, folder["in"], .created)
            #expect(try Linux.inotifyWatches(stored).count == 2)
            let rim = try Rim(adopting: try Linux.duplicate(stored).release())
            let trigger = PathTrigger(paths: [folder["in"].pathBytes], events: Self.all)
            let source = rim.open { PathSource($0, trigger, $1) }
            try rim.waitUntilArmed()
            rim.core.queue.sync { rim.parts.value.environment.inotify.startReading() }
            let count = rim.core.queue.sync { source.value.watchCount }
            try wait(for: "the other to go") { try Linux.inotifyWatches(stored).count == count }
            #expect(try Linux.inotifyWatches(stored).contains(wanted))
            rim.on(source) { $0.close() }
            FileDescriptor(owning: stored).close()
        }
    }
}
