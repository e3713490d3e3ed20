import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

@Suite("Folder snapshot", .ownThread) struct FolderSnapshotTests {
    @Test func whatDiffersIsNamedInOrder() throws {
        try Folder.with { folder in
            for name in ["changed", "gone", "mode", "same"] { try folder.write(name, "1") }
            let old = try FolderSnapshot(listing: folder.path.pathBytes)
            try folder.write("changed", "22")
            try Linux.unlink(folder["gone"])
            try Linux.chmod(folder["mode"], 0o600)
            try folder.write("new", "")
            let differences = old.differences(to: try FolderSnapshot(listing: folder.path.pathBytes))
            #expect(differences.map(\.name) == ["changed", "gone", "mode", "new"].map(\.pathBytes))
            #expect(differences.map(\.difference) == [.contentChanged, .disappeared, .attributesChanged, .appeared])
        }
    }

    @Test func aSubfolderDiffersByItsAttributesAlone() throws {
        try Folder.with { folder in
            try folder.makeFolder("sub")
            let old = try FolderSnapshot(listing: folder.path.pathBytes)
            try folder.write("sub/file", "")
            let written = try FolderSnapshot(listing: folder.path.pathBytes)
            #expect(old.entries != written.entries)
            #expect(old.differences(to: written).isEmpty)
            try Linux.chmod(folder["sub"], 0o700)
            let changed = try FolderSnapshot(listing: folder.path.pathBytes)
            for older in [old, written] {
                #expect(older.differences(to: changed).map(\.difference) == [.attributesChanged])
            }
        }
    }

    @Test func aFileThatWasNotSeenToBeClosedIsStillDue() throws {
        try Folder.with { folder in
            try folder.write("file", "complete already")
            var old = try FolderSnapshot(listing: folder.path.pathBytes)
            let new = old
            #expect(old.differences(to: new).isEmpty)
            old.entries["file".pathBytes]?.isOpen = true
            #expect(old.differences(to: new).map(\.difference) == [.contentChanged])
        }
    }

    @Test func aFolderThatIsNotThereIsEmpty() throws {
        #expect(try FolderSnapshot(listing: "/nonexistent".pathBytes).entries.isEmpty)
        #expect(try FolderSnapshot(of: "/nonexistent".pathBytes).entries.isEmpty)
        #expect(throws: SystemError.self) { try FolderSnapshot(listing: "/proc/self/fd/\0".pathBytes) }
    }
}
