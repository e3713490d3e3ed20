import LinuxSystem
import ProgramKit
import Store
import Testing

extension Store {
    /// Of a folder `state` in a folder of the test.
    static func open(_ folder: Folder, _ durability: Durability = .crash) throws -> Store {
        try Store(folder: Array(folder["state"].utf8), durability: durability)
    }

    /// Opens, closes and says what stood there.
    static func contents(_ folder: Folder) throws -> StoreContents {
        let store = try open(folder)
        let contents = store.takeContents()
        store.close()
        return contents
    }
}

extension HistoryReader {
    static func open(_ folder: Folder) throws -> HistoryReader {
        try HistoryReader(folder: Array(folder["state"].utf8))
    }

    /// Everything, in pages of a few.
    func all() throws -> [HistoryRow] {
        var (rows, query) = ([HistoryRow](), HistoryQuery())
        query.limit = 7
        while true {
            let page = try page(query)
            rows += page
            guard let last = page.last else { return rows }
            query.after = .init(ended: last.ended, id: last.id)
        }
    }
}

extension Folder {
    static let database = "state/watchd.db"
    static let log = "state/watchd.db-wal"

    var damagedFiles: [String] {
        let names = (try? Linux.readFolder(self["state"]))?.map { String(decoding: $0.name, as: UTF8.self) } ?? []
        return names.filter { $0.hasPrefix("watchd.db.damaged-") && !$0.hasSuffix("-wal") }
    }

    func put(_ name: String, _ bytes: [UInt8]) throws { try write(Array(name.utf8), bytes) }
}

/// The error of a call that must fail.
func storeError(_ body: () throws -> Void) throws -> StoreError {
    do {
        try body()
    } catch {
        return try #require(error as? StoreError)
    }
    throw TimedOut(description: "no error")
}

func operation(_ id: UInt64, events: String = "e") -> OperationRow {
    OperationRow(
        id: id, handler: "thumbnail", queue: "uploads", source: "path/uploads", state: Array("state \(id)".utf8),
        events: Array("\(events) \(id)".utf8))
}

func record(_ id: UInt64, _ result: String = "done", handler: String = "thumbnail", ended: Int64? = nil) -> HistoryRow {
    HistoryRow(
        id: id, handler: handler, queue: "uploads", source: "path/uploads", result: result, submitted: 1,
        ended: ended ?? Int64(id) * 1_000_000, events: Array("events \(id)".utf8))
}
