import ProgramKit
import Store
import Testing

@Suite("Store, versions") struct SchemaTests {
    private let next = Schema.migrations + ["ALTER TABLE operation ADD COLUMN note TEXT; UPDATE mark SET value = x'09'"]

    private func open(_ folder: Folder, _ migrations: [String]) throws -> Store {
        try Store(folder: Array(folder["state"].utf8), durability: .crash, migrations: migrations)
    }

    @Test func anOlderFileIsBroughtUpToDateOnce() throws {
        try Folder.with { folder in
            let old = try Store.open(folder)
            try old.commit([.put(operation(1)), .mark(name: "ids", value: [1])])
            old.close()
            let store = try open(folder, next)
            let contents = store.takeContents()
            #expect(contents.operations == [operation(1)])
            #expect(contents.marks == ["ids": [9]])
            try store.commit([.mark(name: "ids", value: [2])])
            store.close()
            let again = try open(folder, next)
            #expect(again.takeContents().marks == ["ids": [2]])
        }
    }

    @Test func aMigrationThatFailsChangesNothing() throws {
        try Folder.with { folder in
            let old = try Store.open(folder)
            try old.commit([.put(operation(1))])
            old.close()
            let bad = Schema.migrations + ["DELETE FROM operation; DELETE FROM nothing"]
            let error = try storeError { _ = try open(folder, bad) }
            #expect(error.description.contains("nothing") && folder.damagedFiles.isEmpty)
            #expect(try Store.contents(folder).operations == [operation(1)])
        }
    }

    /// It may hold what the later version has accepted: it is neither changed nor set aside.
    @Test func aFileOfALaterVersionIsNotTouched() throws {
        try Folder.with { folder in
            do {
                let store = try open(folder, next)
                try store.commit([.put(operation(1))])
            }
            let (database, log) = (folder.bytes(Folder.database), folder.bytes(Folder.log))
            let error = try storeError { _ = try Store.open(folder) }
            let known = Schema.migrations.count
            #expect(error == .newer(path: Array(folder[Folder.database].utf8), version: known + 1, known: known))
            #expect(!error.isTransient)
            #expect(folder.bytes(Folder.database) == database && folder.bytes(Folder.log) == log)
            #expect(folder.damagedFiles.isEmpty)
        }
    }

    @Test func aDamagedOlderFileIsBroughtUpToDate() throws {
        try Folder.with { folder in
            let old = try Store.open(folder)
            try old.commit((1...300).map { .put(operation($0)) } + [.mark(name: "ids", value: [1])])
            old.close()
            let whole = folder.bytes(Folder.database)
            try folder.put(Folder.database, Array(whole.dropLast(4096)))
            let store = try open(folder, next)
            let contents = store.takeContents()
            #expect(contents.setAside != nil && contents.operations.count > 100)
            #expect(contents.marks == ["ids": [9]])
        }
    }
}
