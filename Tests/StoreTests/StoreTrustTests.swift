import LinuxSystem
import ProgramKit
import Store
import Testing

/// Whom the store believes: nothing of a folder is read that others could have put there.
@Suite("Store, trust") struct StoreTrustTests {
    private func path(_ folder: Folder, _ name: String) -> [UInt8] { Array(folder[name].utf8) }

    /// The store is refused, by the writer and by the reader, for the same reason, and goes on when that is mended.
    private func expectRefusal(
        _ expected: StoreError, _ folder: Folder, at place: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try storeError { _ = try Store.open(folder) } == expected, sourceLocation: place)
        #expect(try storeError { _ = try HistoryReader.open(folder) } == expected, sourceLocation: place)
        #expect(!expected.isTransient && expected.description.contains("/"), sourceLocation: place)
    }

    @Test(arguments: [0o777, 0o770, 0o1777] as [UInt32]) func aFolderThatOthersMayWriteIsRefused(
        _ permissions: UInt32
    ) throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            try Linux.chmod(folder["state"], permissions)
            let before = try Linux.readFolder(folder["state"]).count
            try expectRefusal(.writable(path: path(folder, "state")), folder)
            #expect(try Linux.readFolder(folder["state"]).count == before)
            for mended in [0o700, 0o755] as [UInt32] {
                try Linux.chmod(folder["state"], mended)
                try Store.open(folder).close()
            }
        }
    }

    @Test func aFolderInOneThatOthersMayWriteIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("open")
            try Linux.chmod(folder["open"], 0o777)
            let state = path(folder, "open/state")
            let error = try storeError { _ = try Store(folder: state, durability: .crash) }
            #expect(error == .writable(path: path(folder, "open")))
            // There nobody can replace what is somebody else's.
            try Linux.chmod(folder["open"], 0o1777)
            try Store(folder: state, durability: .crash).close()
        }
    }

    @Test func aLinkThatOnlyWeCouldMakeIsFollowed() throws {
        try Folder.with { folder in
            try folder.makeFolder("private")
            try Linux.symlink(folder["state"], to: "private/state")
            try folder.makeFolder("private/state")
            try Store.open(folder).close()
            #expect(folder.exists("private/state/watchd.db"))
        }
    }

    @Test(.enabled(if: StorePlaceTests.isRoot, "only root can make links of others")) func aLinkOfAnotherUserIsRefused()
        throws
    {
        try Folder.with { folder in
            try Linux.chmod(folder.path, 0o1777)
            try folder.makeFolder("elsewhere")
            try Linux.symlink(folder["state"], to: "elsewhere")
            let words = ["chown", "-h", "12345", folder["state"]]
            #expect(try Program.run(words).code == 0)
            try expectRefusal(.foreign(path: path(folder, "state"), owner: 12_345), folder)
            #expect(!folder.exists("elsewhere/watchd.lock"))
        }
    }

    private static let files = [
        "watchd.db", "watchd.db-wal", "watchd.db-shm", "watchd.db-journal", "watchd.db.new", "watchd.db.suspect",
        "watchd.lock", "watchd.instance", "watchd.configuration",
    ].map { "state/\($0)" }

    /// None of them hangs who opens it.
    @Test(arguments: files) func anythingButAFileIsRefused(_ name: String) throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            try? Linux.unlink(folder[name])
            try Linux.mkfifo(folder[name])
            try expectRefusal(.notAFile(path: path(folder, name)), folder)
            try Linux.unlink(folder[name])
            try folder.write("other", "")
            try Linux.symlink(folder[name], to: folder["other"])
            try expectRefusal(.notAFile(path: path(folder, name)), folder)
        }
    }

    @Test(arguments: files) func aFileThatOthersMayWriteIsRefused(_ name: String) throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            if !folder.exists(name) { try folder.write(name, "") }
            try Linux.chmod(folder[name], 0o660)
            try expectRefusal(.writable(path: path(folder, name)), folder)
            try Linux.chmod(folder[name], 0o600)
            try Linux.link(folder[name], to: folder["other"])
            try expectRefusal(.linked(path: path(folder, name)), folder)
        }
    }

    @Test(.enabled(if: StorePlaceTests.isRoot, "only root can give files away"), arguments: files)
    func aFileOfAnotherUserIsRefused(_ name: String) throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            if !folder.exists(name) { try folder.write(name, "") }
            try Linux.chown(folder[name], user: 12_345, group: nil)
            try expectRefusal(.foreign(path: path(folder, name), owner: 12_345), folder)
        }
    }
}
