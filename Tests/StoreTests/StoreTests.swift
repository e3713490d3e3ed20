import LinuxSystem
import ProgramKit
import Store
import Testing

@Suite("Store") struct StoreTests {
    @Test func aNewStoreIsEmptyAndCountsAsClosed() throws {
        try Folder.with { folder in
            let contents = try Store.contents(folder)
            #expect(StoreModel(contents) == StoreModel())
            #expect(contents.wasClosed && contents.setAside == nil && contents.lastRecorded == 0)
        }
    }

    @Test func onlyItsUserCanReadIt() throws {
        try Folder.with { folder in
            let store = try Store(folder: Array(folder["a/b/state"].utf8), durability: .power)
            try store.commit([.put(operation(1))])
            #expect(try Linux.stat(folder["a"]).permissions == 0o755)
            #expect(try Linux.stat(folder["a/b"]).permissions == 0o755)
            #expect(try Linux.stat(folder["a/b/state"]).permissions == 0o700)
            for name in ["watchd.db", "watchd.db-wal", "watchd.lock"] {
                #expect(try Linux.stat(folder["a/b/state/\(name)"]).permissions == 0o600)
            }
        }
    }

    @Test(arguments: [Store.Durability.power, .crash]) func whatWasCommittedIsThereAgain(
        _ durability: Store.Durability
    ) throws {
        try Folder.with { folder in
            let changes: [StoreChange] = [
                .put(operation(1)), .put(operation(2)), .append(id: 1, events: [1]), .append(id: 1, events: [2, 3]),
                .update(id: 2, state: [9]), .mark(name: "ids", value: [4]), .mark(name: "empty", value: []),
                .hold(source: "signal/HUP", events: [5], replacing: false),
                .hold(source: "signal/HUP", events: [6], replacing: false), .record(record(7)),
            ]
            var model = StoreModel()
            model.apply(changes)
            let store = try Store.open(folder, durability)
            try store.commit(changes)
            store.close()
            let contents = try Store.contents(folder)
            #expect(StoreModel(contents) == model.contents)
            #expect(contents.operations.map(\.id) == [1, 2])
            #expect(contents.lastRecorded == 7)
        }
    }

    @Test func contentsAreGivenOnce() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.put(operation(1))])
            store.close()
            let again = try Store.open(folder)
            #expect(again.takeContents().operations.count == 1)
            #expect(again.takeContents().operations.isEmpty)
        }
    }

    @Test func whoWasNotClosedIsKnown() throws {
        try Folder.with { folder in
            do {
                let store = try Store.open(folder)
                try store.commit([.put(operation(1))])
                // It ends here, as in a crash.
            }
            let store = try Store.open(folder)
            let contents = store.takeContents()
            #expect(!contents.wasClosed)
            #expect(contents.operations == [operation(1)])
            store.close()
            #expect(try Store.contents(folder).wasClosed)
        }
    }

    @Test func afterCloseNothingIsCommitted() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            store.close()
            store.close()
            #expect(throws: StoreError.self) { try store.commit([.put(operation(1))]) }
            // A closed one leaves no log behind.
            #expect(!folder.exists(Folder.log))
        }
    }

    @Test func aSwitchOfDurabilityChangesNothingElse() throws {
        try Folder.with { folder in
            let store = try Store.open(folder, .power)
            try store.commit([.put(operation(1))])
            store.set(.crash)
            try store.commit([.put(operation(2))])
            store.set(.power)
            try store.commit([.remove(id: 1)])
            store.close()
            #expect(try Store.contents(folder).operations == [operation(2)])
        }
    }

    @Test func theHighestRecordIsRemembered() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.put(operation(41)), .remove(id: 41), .record(record(41)), .record(record(8))])
            store.close()
            #expect(try Store.contents(folder).lastRecorded == 41)
        }
    }
}
