import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("MakeDirectory=", .ownThread) struct MakeDirectoryTests {
    private func with(_ path: String, mode: UInt32?, _ body: (Rim) throws -> Void) throws {
        var trigger = PathTrigger(paths: [Array(path.utf8)])
        trigger.directoryMode = mode
        try Rim.with {
            PathSource($0, trigger, $1)
        } then: { rim, _ in
            try body(rim)
        }
    }

    private func permissions(_ path: String) throws -> UInt32 { try Linux.stat(path).permissions }

    @Test func whatIsMissingIsMadeWithTheseAndOnlyThesePermissions() throws {
        try Folder.with { folder in
            try folder.makeFolder("a")
            try Linux.chmod(folder["a"], 0o700)
            try with(folder["a/b/c"], mode: 0o773) { rim in
                try wait(for: "armed") { rim.condition == .armed }
                #expect(try permissions(folder["a/b"]) == 0o773 && permissions(folder["a/b/c"]) == 0o773)
                #expect(try permissions(folder["a"]) == 0o700, "what stands there stays as it is")
                try folder.write("a/b/c/file", "1")
                try wait(for: "the event") { rim.facts.count == 1 }
            }
        }
    }

    @Test func aFolderThatIsAskedToBeFilledIsMadeAndAPathThatIsToExistIsNot() throws {
        try Folder.with { folder in
            var trigger = PathTrigger(paths: [])
            trigger.directoryMode = 0o755
            trigger.levels = PathLevels([.notEmpty(Array(folder["full"].utf8)), .exists(Array(folder["there"].utf8))])
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { _, _ in
                try wait(for: "the folder") { (try? Linux.lstat(folder["full"])) != nil }
                #expect((try? Linux.lstat(folder["there"])) == nil)
            }
        }
    }

    @Test func whatStandsThereAlreadyIsWatchedAsItIs() throws {
        try Folder.with { folder in
            try folder.write("file", "1")
            try with(folder["file"], mode: 0o755) { rim in
                try wait(for: "armed") { rim.condition == .armed }
                #expect(try Linux.lstat(folder["file"]).kind == .regular)
            }
        }
    }

    @Test func withoutItNothingIsMade() throws {
        try Folder.with { folder in
            try with(folder["a"], mode: nil) { rim in
                try wait(for: "waiting") { if case .waiting = rim.condition { true } else { false } }
                #expect((try? Linux.lstat(folder["a"])) == nil)
            }
        }
    }

    @Test func whereItCannotBeMadeTheSourceIsTriedAgain() throws {
        try Folder.with { folder in
            try folder.write("file", "1")
            try with(folder["file/a"], mode: 0o755) { rim in
                try wait(for: "failed") { if case .failed = rim.condition { true } else { false } }
                guard case .failed(let reason, let next) = rim.condition else { return }
                #expect(reason.contains(folder["file/a"]) && next != nil, "\(reason)")
                try Linux.unlink(folder["file"])
                try wait(for: "armed") { rim.condition == .armed }
                #expect(try Linux.stat(folder["file/a"]).kind == .folder)
            }
        }
    }
}
