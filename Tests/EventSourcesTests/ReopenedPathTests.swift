import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A path source that a reload closes and opens again with another trigger: it goes on with what it has not told.
@Suite("Reopened paths", .ownThread) struct ReopenedPathTests {
    private static let id = SourceID(.path, "test")
    private static let all: PathEvents = [.created, .written, .deleted, .renamed]

    private struct Setup {
        let folder: Folder
        let rim: Rim
        let set: QueueBound<SourceSet>

        func on(_ body: (SourceSet) throws -> Void) rethrows { try rim.core.queue.sync { try body(set.value) } }

        func open(_ paths: [String], _ events: PathEvents) { on { $0.open(definition(paths, events)) } }

        /// As the engine does it: nothing else happens in between.
        func reopen(_ paths: [String], _ events: PathEvents, isHeld: Bool = false, first: () throws -> Void = {})
            throws
        {
            try on { set in
                try first()
                set.close(ReopenedPathTests.id)
                set.open(definition(paths, events))
                if isHeld { set.hold(ReopenedPathTests.id) }
            }
        }

        /// Makes changes that the source sees, held.
        func whileHeld(_ change: () throws -> Void) throws {
            on { $0.hold(ReopenedPathTests.id) }
            try change()
            try wait(for: "the changes to be read") {
                rim.core.queue.sync { rim.parts.value.environment.inotify.isCaughtUp }
            }
        }

        func waitFor(_ wanted: Set<String>) throws {
            try wait(for: "\(wanted), and not only \(said)") { wanted.isSubset(of: said) }
        }

        /// Everything that happened until now was told, and this.
        func waitForLast(_ name: String) throws {
            try folder.write(name, "")
            try waitFor(["written \(name)"])
        }

        var said: [String] {
            rim.paths.map { fact in
                let name = String(decoding: fact.path.dropFirst(folder.path.utf8.count + 1), as: UTF8.self)
                return "\(fact.change) \(name)"
            }
        }

        private func definition(_ paths: [String], _ events: PathEvents) -> SourceDefinition {
            let trigger = PathTrigger(paths: paths.map { folder[$0].pathBytes }, events: events)
            return SourceDefinition(id: ReopenedPathTests.id, routes: [], trigger: .path(trigger))
        }
    }

    /// With the folders `in` and `more`, and the files `in/old` and `more/old`.
    private func with(
        _ paths: [String] = ["in"], _ events: PathEvents = .written, _ body: (Setup) throws -> Void
    ) throws {
        try Folder.with { folder in
            for name in ["in", "more"] {
                try folder.makeFolder(name)
                try folder.write("\(name)/old", "")
            }
            let rim = try Rim()
            let set = try rim.core.queue.sync {
                QueueBound(try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }, to: rim.core)
            }
            let setup = Setup(folder: folder, rim: rim, set: set)
            setup.open(paths, events)
            defer { setup.on { $0.close(Self.id) } }
            try rim.waitUntilArmed()
            try body(setup)
        }
    }

    @Test func whatWasHeldIsTold() throws {
        try with { setup in
            try setup.whileHeld {
                try setup.folder.write("in/new", "1")
                try Linux.unlink(setup.folder["in/old"])
            }
            #expect(setup.said.isEmpty)
            try setup.reopen(["in"], [.written, .deleted])
            try setup.waitFor(["written in/new", "deleted in/old"])
            #expect(setup.rim.gap == 0 && setup.rim.warnings.isEmpty)
        }
    }

    @Test func oneThatIsHeldAgainTellsItLater() throws {
        try with { setup in
            try setup.whileHeld { try setup.folder.write("in/new", "1") }
            try setup.reopen(["in"], [.written, .deleted], isHeld: true)
            try wait(for: "its listing") { setup.rim.condition == .armed }
            #expect(setup.said.isEmpty)
            setup.on { $0.release(Self.id) }
            try setup.waitFor(["written in/new"])
        }
    }

    /// No comparison could find them.
    @Test func whatIsUnreadInTheKernelIsToldAsItHappened() throws {
        try with(["in"], [.created]) { setup in
            let watches = try Linux.inotifyWatches(setup.rim.core.queue.sync { hub(setup).storeDescriptor })
            try setup.reopen(["in", "more"], Self.all) {
                try Linux.mkfifo(setup.folder["in/brief"])
                try Linux.unlink(setup.folder["in/brief"])
                try Linux.rename(setup.folder["in/old"], to: setup.folder["in/other"])
                // No file: a process that another test starts meanwhile would close it later, and that is told.
                try Linux.mkfifo(setup.folder["more/new"])
            }
            try setup.waitForLast("in/last")
            try setup.waitForLast("more/last")
            let wanted = ["in/last", "more/last"].flatMap { ["created \($0)", "written \($0)"] }
            let unread = ["created in/brief", "deleted in/brief", "renamed in/other"]
            #expect(setup.said.sorted() == (unread + wanted).sorted())
            let now = try Linux.inotifyWatches(setup.rim.core.queue.sync { hub(setup).storeDescriptor })
            #expect(watches.isSubset(of: now) && now.count == watches.count + 1)
        }
    }

    private func hub(_ setup: Setup) -> InotifyHub { setup.rim.parts.value.environment.inotify }

    @Test func aFileThatIsStillBeingWrittenIsToldWhenItIsClosed() throws {
        try with(["in"], [.written]) { setup in
            try Linux.open(setup.folder["in/new"], [.writing, .creating]).use { file in
                try Linux.writeAll(file, "some".utf8)
                try setup.reopen(["in"], [.written, .deleted])
                try Linux.unlink(setup.folder["in/old"])
                try setup.waitFor(["deleted in/old"])
                #expect(setup.said == ["deleted in/old"])
                try Linux.writeAll(file, " more".utf8)
            }
            try setup.waitFor(["written in/new"])
            #expect(setup.said == ["deleted in/old", "written in/new"])
        }
    }

    @Test func moreEventsAreWatchedForAndFewerToo() throws {
        try with(["in", "more/old"]) { setup in
            try setup.reopen(["in", "more/old"], [.written, .attributes])
            for name in ["in/old", "more/old"] { try Linux.chmod(setup.folder[name], 0o600) }
            try setup.waitFor(["attributes in/old", "attributes more/old"])
            try setup.whileHeld { try setup.folder.write("in/new", "1") }
            try setup.reopen(["in", "more/old"], [.written, .deleted])
            try setup.waitFor(["written in/new"])
            let watches = setup.rim.core.queue.sync { setup.set.value.watchCount(Self.id) }
            let number = setup.rim.core.queue.sync { hub(setup).storeDescriptor }
            // The folders above are shared.
            #expect(try Linux.inotifyWatches(number).count == watches)
            let text = try Linux.readFile("/proc/self/fdinfo/\(number)")
            let masks = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("mask:") }?.dropFirst(5)
            }
            #expect(masks.count > 2)
            let all = masks.map { UInt32($0, radix: 16).map(InotifyMask.init(rawValue:)) }
            #expect(all.allSatisfy { $0?.isDisjoint(with: .attributes) == true }, "taken back")
            try setup.folder.append("more/old", "x")
            try setup.waitFor(["written more/old"])
        }
    }

    @Test func aPathThatIsNewBeginsAndOneThatIsGoneEnds() throws {
        try with(["in"]) { setup in
            try setup.reopen(["in", "more"], [.written])
            try setup.waitForLast("in/new")
            try setup.waitForLast("more/new")
            try setup.reopen(["more"], [.written])
            try setup.folder.write("in/late", "")
            try setup.waitForLast("more/late")
            #expect(setup.said == ["written in/new", "written more/new", "written more/late"])
            #expect(setup.rim.gap == 0 && setup.rim.warnings.isEmpty)
        }
    }

    @Test func whatIsTakenAwayWithChangesThatAreNotToldIsSaidToBeLost() throws {
        try with(["in", "more"]) { setup in
            try setup.whileHeld { for name in ["in", "more"] { try setup.folder.write("\(name)/new", "1") } }
            try setup.reopen(["more"], [.written])
            try setup.waitFor(["written more/new"])
            #expect(setup.rim.gap == 1)
            #expect(setup.rim.warnings.map { $0.hasPrefix("\(setup.folder["in"]): ") } == [true])
            try setup.whileHeld { try setup.folder.write("more/last", "1") }
            setup.on { $0.close(Self.id) }
            try wait(for: "the loss to be said") { setup.rim.gap == 2 }
            #expect(setup.rim.warnings.count == 2)
            #expect(!setup.said.contains("written more/last"))
            setup.open(["more"], [.written])
            try setup.waitForLast("more/after")
            #expect(!setup.said.contains("written more/last"), "it began afresh")
        }
    }
}
