import LinuxSystem
import ProgramKit
import Store
import Testing

/// Where the store cannot be, or not any more.
@Suite("Store, place") struct StorePlaceTests {
    static let isRoot = Linux.effectiveUserID == 0

    /// Mounts are not permitted everywhere root is.
    private func mounting(
        _ options: [String], on path: String, _ body: () throws -> Void
    ) throws {
        guard try Program.run(["mount"] + options + [path]).code == 0 else { return }
        defer { _ = try? Program.run(["umount", "-l", path]) }
        try body()
    }

    @Test func anotherOneInTheSameFolderIsNamed() throws {
        try Folder.with { folder in
            var store: Store? = try Store.open(folder)
            let error = try storeError { _ = try Store.open(folder) }
            #expect(error == .locked(folder: Array(folder["state"].utf8), pid: Linux.processID))
            #expect(!error.isTransient && error.description.contains("process \(Linux.processID)"))
            #expect(store != nil)
            store = nil
            store = try Store.open(folder)
            store?.close()
            _ = try Store.open(folder)
        }
    }

    /// The kernel gives the lock back with the last process that has the file open.
    @Test func theLockEndsWithItsProcess() throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            let lock = folder["state/watchd.lock"]
            let descriptors = try (0..<3).map { _ in try Linux.open("/dev/null", .readingAndWriting).release() }
            defer { for descriptor in descriptors { FileDescriptor(owning: descriptor).close() } }
            let words = ["flock", "--no-fork", lock, "sleep", "1000"].map { Array($0.utf8) }
            let other = try Program(words, environment: Program.environment, descriptors: descriptors)
            try wait(for: "the lock of another process") { (try? Store.open(folder)) == nil }
            other.send(9)
            other.wait()
            _ = try Store.open(folder)
        }
    }

    @Test func aFolderInThePlaceOfTheFileIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try folder.makeFolder(Folder.database)
            let error = try storeError { _ = try Store.open(folder) }
            #expect(error == .notAFile(path: Array(folder[Folder.database].utf8)) && !error.isTransient)
        }
    }

    @Test func aFIFOInThePlaceOfTheFileIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try Linux.mkfifo(folder[Folder.database])
            let error = try storeError { _ = try Store.open(folder) }
            #expect(error == .notAFile(path: Array(folder[Folder.database].utf8)))
        }
    }

    @Test(arguments: ["state", "above"]) func aFileInThePlaceOfAFolderIsRefused(_ name: String) throws {
        try Folder.with { folder in
            try folder.write(name, "a file")
            let path = Array(folder[name == "above" ? "above/state" : "state"].utf8)
            let error = try storeError { _ = try Store(folder: path, durability: .crash) }
            #expect(error == .notAFolder(path: Array(folder[name].utf8)) && !error.isTransient)
        }
    }

    @Test(.enabled(if: isRoot), arguments: ["state", Folder.database]) func whatAnotherUserOwnsIsRefused(
        _ name: String
    ) throws {
        try Folder.with { folder in
            try Store.open(folder).close()
            try Linux.chown(folder[name], user: 12_345, group: nil)
            let error = try storeError { _ = try Store.open(folder) }
            #expect(error == .foreign(path: Array(folder[name].utf8), owner: 12_345) && !error.isTransient)
            #expect(error.description.contains("12345"))
        }
    }

    @Test func aRemovedFolderIsNoticedAndMadeAnew() throws {
        try Folder.with { folder in
            var store: Store? = try Store.open(folder)
            try store?.commit([.put(operation(1))])
            for entry in try Linux.readFolder(folder["state"]) {
                try Linux.unlink(folder["state/" + String(decoding: entry.name, as: UTF8.self)])
            }
            try Linux.rmdir(folder["state"])
            let error = try storeError { try store?.commit([.put(operation(2))]) }
            #expect(error == .gone(path: Array(folder[Folder.database].utf8)) && error.isTransient)
            #expect(throws: error) { _ = try store?.trim(HistoryLimits(records: 1, age: 1)) }
            store = nil
            store = try Store.open(folder)
            #expect(store?.takeContents().operations.isEmpty == true)
            try store?.commit([.put(operation(2))])
        }
    }

    @Test func aFileThatWasPutInItsPlaceIsNoticed() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try Linux.rename(folder[Folder.database], to: folder["state/old"])
            try folder.write(Folder.database, "")
            #expect(try storeError { try store.commit([]) } == .gone(path: Array(folder[Folder.database].utf8)))
        }
    }

    @Test(.enabled(if: isRoot)) func aFullDiskTakesNothingAndHeals() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try mounting(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"], on: folder["state"]) {
                var store: Store? = try Store.open(folder)
                try store?.commit([.put(operation(1))])
                try? folder.put("state/ballast", [UInt8](repeating: 1, count: 800_000))
                let large = [UInt8](repeating: 2, count: 300_000)
                let changes: [StoreChange] = [.put(operation(2)), .append(id: 2, events: large), .remove(id: 1)]
                let error = try storeError { try store?.commit(changes) }
                #expect(error == .full(path: Array(folder[Folder.database].utf8)) && error.isTransient)
                #expect(folder.bytes(Folder.log).count < 300_000)
                try Linux.unlink(folder["state/ballast"])
                try store?.commit(changes)
                store = nil
                var expected = operation(2)
                expected.appended = [large]
                #expect(try Store.contents(folder).operations == [expected])
            }
        }
    }

    @Test(.enabled(if: isRoot)) func ofACommitOnAFullDiskNothingIsThereLater() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try mounting(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"], on: folder["state"]) {
                var store: Store? = try Store.open(folder)
                try store?.commit([.put(operation(1))])
                try? folder.put("state/ballast", [UInt8](repeating: 1, count: 800_000))
                let large = [UInt8](repeating: 2, count: 300_000)
                #expect(throws: StoreError.self) {
                    try store?.commit([.put(operation(2)), .append(id: 2, events: large), .remove(id: 1)])
                }
                store = nil
                try Linux.unlink(folder["state/ballast"])
                #expect(try Store.contents(folder).operations == [operation(1)])
            }
        }
    }

    @Test(.enabled(if: isRoot)) func aReadOnlyFolderIsSaidToBeThat() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.put(operation(1))])
            store.close()
            try mounting(["--bind", folder["state"]], on: folder["state"]) {
                guard try Program.run(["mount", "-o", "remount,bind,ro", folder["state"]]).code == 0 else { return }
                let error = try storeError { _ = try Store.open(folder) }
                #expect(error == .readOnly(path: Array(folder["state/watchd.lock"].utf8)) && error.isTransient)
            }
            #expect(try Store.contents(folder).operations == [operation(1)])
        }
    }

    @Test func aReaderWithoutAStoreSaysSo() throws {
        try Folder.with { folder in
            _ = #expect(throws: StoreError.gone(path: Array(folder[Folder.database].utf8))) {
                _ = try HistoryReader.open(folder)
            }
        }
    }
}
