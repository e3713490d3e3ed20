import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// When a path source takes a file to be written (Semantics.md, "Complete files").
@Suite("Files that come and change", .ownThread) struct NewFileTests {
    private func with(
        _ events: PathEvents = .written, isRecursive: Bool = false, files: [String] = [],
        _ body: (Folder, Rim, QueueBound<any EventSource>) throws -> Void
    ) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            for name in files { try folder.write(name, "old") }
            let trigger = PathTrigger(paths: [folder["in"].pathBytes], events: events, isRecursive: isRecursive)
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                try body(folder, rim, source)
            }
        }
    }

    private func told(_ rim: Rim) -> [String] {
        rim.paths.map { fact in
            "\(fact.change) \(String(decoding: fact.path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self))"
        }
    }

    /// `rename(2)` RENAME_EXCHANGE.
    private func exchange(_ one: String, with other: String) throws {
        let code = "import ctypes,sys; a=[x.encode() for x in sys.argv[1:]]; "
        let call = "sys.exit(ctypes.CDLL(None).renameat2(-100, a[0], -100, a[1], 2))"
        let made = try Program.run(["python3", "-c", code + call, one, other])
        #expect(made.status == .exited(0), "\(made)")
    }

    /// A later change is told after it.
    private func waitForLast(_ folder: Folder, _ rim: Rim) throws {
        try folder.write("in/last", "")
        try wait(for: "the last one") { told(rim).last == "written last" }
    }

    @Test func aLinkToAFileThatNobodyWritesIsWritten() throws {
        try with(files: ["whole"]) { folder, rim, _ in
            try Linux.link(folder["whole"], to: folder["in/h"])
            try wait(for: "it") { told(rim) == ["written h"] }
            #expect(rim.paths.last?.before == .nothing)
        }
    }

    @Test func aLinkToAFileThatIsBeingWrittenIsWrittenAtItsClose() throws {
        try with(files: ["whole"]) { folder, rim, source in
            let file = try Linux.open(folder["whole"], .writing).release()
            try Linux.link(folder["whole"], to: folder["in/h"])
            try wait(for: "the file to be watched") { rim.on(source) { $0.watchCount } == 3 + folder.depth }
            #expect(told(rim) == [])
            FileDescriptor(owning: file).close()
            try wait(for: "it") { told(rim) == ["written h"] }
            try wait(for: "its watch to go") { rim.on(source) { $0.watchCount } == 2 + folder.depth }
        }
    }

    @Test(arguments: [true, false], [[], ["in/h"]])
    func aFileThatIsMovedInWhileItIsWrittenIsWrittenAtItsClose(isRecursive: Bool, before: [String]) throws {
        guard isRecursive || before.isEmpty else { return }
        try with(isRecursive: isRecursive, files: ["half"] + before) { folder, rim, _ in
            let file = try Linux.open(folder["half"], .writing).release()
            try Linux.rename(folder["half"], to: folder["in/h"])
            try waitForLast(folder, rim)
            #expect(told(rim) == ["written last"])
            try Linux.writeAll(file, "x".utf8)
            FileDescriptor(owning: file).close()
            try wait(for: "it") { told(rim) == ["written last", "written h"] }
        }
    }

    @Test func aFileThatIsWrittenForLongIsWrittenOnce() throws {
        try with { folder, rim, source in
            let file = try Linux.open(folder["in/slow"], [.writing, .creating]).release()
            try wait(for: "the file to be watched") { rim.on(source) { $0.watchCount } == 3 + folder.depth }
            try Linux.writeAll(file, "x".utf8)
            FileDescriptor(owning: file).close()
            // A program that another test starts may keep it open until it executes.
            try wait(for: "the slow one") { told(rim) == ["written slow"] }
            try waitForLast(folder, rim)
            #expect(told(rim) == ["written slow", "written last"])
        }
    }

    @Test func whoeverOpensAFileAndDoesNotWriteChangesNothing() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/old", "old")
            let changed = try Linux.lstat(folder["in/old"]).changed
            try wait(for: "its times to be old") { Linux.now(.realtime) * 1000 - changed > 20_000_000 }
            let trigger = PathTrigger(paths: [folder["in"].pathBytes])
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try waitForLast(folder, rim)
                try Linux.open(folder["in/old"], .readingAndWriting).use { _ in }
                try folder.write("in/next", "")
                try wait(for: "the next one") { told(rim) == ["written last", "written next"] }
            }
        }
    }

    @Test func aFileThatGoesBeforeItWasClosedWasNeverThere() throws {
        try with(.changed) { folder, rim, _ in
            try Linux.open(folder["in/lock"], [.writing, .creating]).use { _ in try Linux.unlink(folder["in/lock"]) }
            try waitForLast(folder, rim)
            #expect(told(rim) == ["written last"])
        }
    }

    @Test(arguments: [PathEvents.written, .changed])
    func filesThatChangePlacesAreWritten(events: PathEvents) throws {
        try with(events, files: ["in/a", "in/b"]) { folder, rim, _ in
            try exchange(folder["in/a"], with: folder["in/b"])
            try waitForLast(folder, rim)
            #expect(told(rim) == ["written a", "written b", "written last"])
        }
    }

    @Test func aFileThatChangesPlacesWithOneElsewhereIsWritten() throws {
        try with(.changed, files: ["in/a"]) { folder, rim, _ in
            try folder.makeFolder("out")
            try folder.write("out/b", "another")
            try exchange(folder["in/a"], with: folder["out/b"])
            try waitForLast(folder, rim)
            #expect(told(rim) == ["written a", "written last"])
        }
    }

    /// After an overflow only the change of the inode shows it.
    @Test func newContentUnderTheOldSizeAndTimeIsFound() throws {
        try Folder.with { folder in
            for name in ["same", "other", "mode"] { try folder.write(name, "1") }
            let old = try FolderSnapshot(listing: folder.path.pathBytes)
            let times = "touch -r other mark; printf 2 > other; touch -r mark other; rm mark; chmod 600 mode"
            let made = try Program.run(["/bin/sh", "-c", "cd '\(folder.path)'; \(times)"])
            #expect(made.status == .exited(0))
            let differences = old.differences(to: try FolderSnapshot(listing: folder.path.pathBytes))
            #expect(differences.map(\.name) == ["mode", "other"].map(\.pathBytes))
            #expect(differences.map(\.difference) == [.attributesChanged, .contentChanged])
        }
    }
}

extension Folder {
    /// Folders above it, each of which is watched for the next.
    fileprivate var depth: Int { path.split(separator: "/").count }
}
