import ProgramKit
import Store
import Testing

@Suite("Store, snapshots of paths") struct SnapshotTests {
    private let root = Array("/srv/in".utf8)

    private func change(_ content: SnapshotChange.Content, of source: String = "path/in") -> StoreChange {
        .snapshot(SnapshotChange(source: source, root: root, content))
    }

    private func entries(_ entries: [String: String?]) -> SnapshotChange.Content {
        .entries(entries.map { .init(path: Array($0.utf8), state: $1.map { Array($0.utf8) }) })
    }

    private func read(_ folder: Folder, of source: String = "path/in") throws -> [String: String] {
        var found: [String: String] = [:]
        try HistoryReader.open(folder).snapshot(source: source, root: root) {
            found[String(decoding: $0, as: UTF8.self)] = String(decoding: $1, as: UTF8.self)
        }
        return found
    }

    @Test func aSnapshotIsThereWhenItIsComplete() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([change(.begin), change(entries(["a": "1", "d/e": "2", "": "3"]))])
            #expect(try read(folder) == ["a": "1", "d/e": "2", "": "3"])
            store.close()
            #expect(try Store.contents(folder).snapshots.isEmpty)
            let again = try Store.open(folder)
            try again.commit([change(.complete(about: [7]))])
            again.close()
            let known = try Store.contents(folder).snapshots
            #expect(known.map(\.source) == ["path/in"] && known.map(\.root) == [root] && known.map(\.about) == [[7]])
        }
    }

    @Test func pathsAreReplacedAndTakenAway() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([change(.begin), change(entries(["a": "1", "b": "2"])), change(.complete(about: []))])
            try store.commit([change(entries(["a": nil, "b": "3", "c": "4", "never": nil]))])
            #expect(try read(folder) == ["b": "3", "c": "4"])
            try store.commit([change(.begin)])
            #expect(try read(folder).isEmpty)
            store.close()
            #expect(try Store.contents(folder).snapshots.isEmpty)
        }
    }

    @Test func whatIsForgottenLeavesTheOthers() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            for source in ["path/in", "path/out"] {
                try store.commit([
                    change(.begin, of: source), change(entries(["a": source]), of: source),
                    change(.complete(about: [1]), of: source),
                ])
            }
            try store.commit([change(.forget), change(.forget, of: "path/none")])
            #expect(try read(folder).isEmpty)
            #expect(try read(folder, of: "path/out") == ["a": "path/out"])
            store.close()
            #expect(try Store.contents(folder).snapshots.map(\.source) == ["path/out"])
        }
    }

    @Test func muchOfADamagedSnapshotIsTakenOver() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let many = Dictionary(uniqueKeysWithValues: (0..<2000).map { ("file-\($0)", Optional("state \($0)")) })
            try store.commit([change(.begin), change(entries(many)), change(.complete(about: [9]))])
            store.close()
            let whole = folder.bytes(Folder.database)
            try folder.put(Folder.database, Array(whole.dropLast(4096)))
            let again = try Store.open(folder)
            let contents = again.takeContents()
            #expect(contents.setAside != nil && contents.snapshots.map(\.about) == [[9]])
            let left = try read(folder)
            #expect(left.count > 500)
            for (path, state) in left { #expect(many[path] == state) }
            again.close()
        }
    }
}
