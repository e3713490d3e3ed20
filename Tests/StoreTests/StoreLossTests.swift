import LinuxSystem
import ProgramKit
import Store
import Testing

/// Commits that were made and are not there any more, though the file is.
@Suite("Store, lost commits") struct StoreLossTests {
    /// Eight commits, and an end as by `kill -9`.
    private func fill(_ folder: Folder) throws {
        let store = try Store.open(folder)
        for id in UInt64(1)...8 { try store.commit([.put(operation(id))]) }
    }

    /// The store says that so many commits are missing, and the next time that none is.
    private func expectMissing(_ count: Int, _ folder: Folder, _ what: Comment) throws {
        var store: Store? = try Store.open(folder)
        let contents = try #require(store?.takeContents())
        #expect(contents.missing == count && contents.setAside == nil && !contents.wasRemoved, what)
        #expect(!contents.wasClosed, what)
        try store?.commit([.put(operation(9))])
        store = nil
        #expect(try Store.contents(folder).missing == 0, "it is told once")
    }

    @Test func nothingIsMissingAfterACrash() throws {
        try Folder.with { folder in
            try fill(folder)
            try expectMissing(0, folder, "killed")
            try fill(folder)
            try Store.open(folder).close()
            #expect(try Store.contents(folder).missing == 0, "closed")
        }
    }

    @Test func aLogThatWasEmptiedIsNoticed() throws {
        try Folder.with { folder in
            try fill(folder)
            try folder.put(Folder.log, [])
            try expectMissing(8, folder, "emptied")
            try Store.open(folder).close()
            try fill(folder)
            try Linux.unlink(folder[Folder.log])
            try expectMissing(8, folder, "removed")
        }
    }

    @Test func aLogThatWasCutIsNoticed() throws {
        try Folder.with { folder in
            try fill(folder)
            let log = folder.bytes(Folder.log)
            // In the middle of the last commit.
            try folder.put(Folder.log, Array(log.dropLast(100)))
            try expectMissing(1, folder, "cut")
        }
    }

    @Test func anOlderFileInItsPlaceIsNoticed() throws {
        try Folder.with { folder in
            try fill(folder)
            try Store.open(folder).close()
            let old = folder.bytes(Folder.database)
            try fill(folder)
            try Store.open(folder).close()
            try folder.put(Folder.database, old)
            // The commit of its end counts.
            try expectMissing(9, folder, "an older one")
        }
    }

    /// It ended between a commit and its number.
    @Test func aStoreThatIsFurtherThanWasSaidIsAsItShouldBe() throws {
        try Folder.with { folder in
            try fill(folder)
            let before = folder.text("state/watchd.lock")
            try folder.write("state/watchd.lock", before.replacing("8 used", with: "7 used"))
            try expectMissing(0, folder, "one commit further")
        }
    }

    /// Nothing is counted where nothing was written.
    @Test func aCommitOfNothingWritesNothing() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.put(operation(1))])
            let (log, lock) = (folder.bytes(Folder.log), folder.bytes("state/watchd.lock"))
            try store.commit([])
            _ = try store.trim(HistoryLimits(records: 10, age: .max))
            #expect(folder.bytes(Folder.log) == log && folder.bytes("state/watchd.lock") == lock)
        }
    }

    /// An earlier version wrote the file of the lock.
    @Test func withoutANumberNothingIsMissing() throws {
        try Folder.with { folder in
            try fill(folder)
            try folder.write("state/watchd.lock", "0000001234\nused\n")
            try folder.put(Folder.log, [])
            #expect(try Store.contents(folder).missing == 0)
        }
    }
}
