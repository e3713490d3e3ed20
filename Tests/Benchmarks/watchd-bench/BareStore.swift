import CSQLite

/// A file with the same tables as a store of watchd, without watchd: the same rows, as fast as SQLite takes them.
///
/// Tables and rows are copied from a file that watchd has made, so they cannot get out of step with it.
final class BareStore {
    /// As of the store: after so many pages the log is moved into the file, and begins anew.
    static let pagesOfLog = 1000

    private let handle: OpaquePointer
    /// One for each table, with a row bound that is written again and again, with another id each time.
    private var inserts: [OpaquePointer] = []
    private var nextID: Int64 = 1

    /// - Parameters:
    ///   - template: a store; it may be in use.
    ///   - tables: those that one operation writes a row into, if it does: of the newest operation is seen whether.
    init(_ path: String, like template: String, tables: [String]) throws(Failure) {
        handle = try Self.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        // As `Database.configure` of the store with `Sync=full`.
        try execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -512;
            PRAGMA wal_autocheckpoint = \(Self.pagesOfLog); PRAGMA journal_size_limit = \(2 * Self.pagesOfLog * 4096)
            """)
        try execute("ATTACH '\(template)' AS template")
        for statement in try texts("SELECT sql FROM template.sqlite_schema WHERE sql IS NOT NULL") {
            try execute(statement)
        }
        for table in tables { try addRow(of: table, newest: tables[0]) }
        guard !inserts.isEmpty else { throw Failure(message: "\(template) has no row of \(tables[0])") }
        try execute("DETACH template")
    }

    deinit {
        for insert in inserts { sqlite3_finalize(insert) }
        sqlite3_close_v2(handle)
    }

    /// Writes the rows of so many operations in so many transactions of about one size.
    func write(operations: Int, transactions: Int) throws(Failure) {
        var written = 0
        for transaction in 1...max(1, transactions) {
            let end = operations * transaction / max(1, transactions)
            try execute("BEGIN IMMEDIATE")
            while written < end {
                for insert in inserts { try write(insert) }
                written += 1
                nextID += 1
            }
            try execute("COMMIT")
        }
    }

    private func write(_ insert: OpaquePointer) throws(Failure) {
        sqlite3_bind_int64(insert, 1, nextID)
        guard sqlite3_step(insert) == SQLITE_DONE else { throw failure }
        sqlite3_reset(insert)
    }

    // MARK: What is written

    private func addRow(of table: String, newest: String) throws(Failure) {
        let row = try prepare(
            "SELECT * FROM template.\(table) WHERE id = (SELECT max(id) FROM template.\(newest))")
        defer { sqlite3_finalize(row) }
        guard sqlite3_step(row) == SQLITE_ROW else { return }
        let columns = sqlite3_column_count(row)
        let places = (1...columns).map { "?\($0)" }.joined(separator: ", ")
        let statement = try prepare("INSERT OR IGNORE INTO main.\(table) VALUES (\(places))")
        // Copies what it binds.
        for column in 1..<columns { sqlite3_bind_value(statement, column + 1, sqlite3_column_value(row, column)) }
        inserts.append(statement)
    }

    private func texts(_ query: String) throws(Failure) -> [String] {
        let statement = try prepare(query)
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            if let text = sqlite3_column_text(statement, 0) { texts.append(String(cString: text)) }
        }
        return texts
    }

    // MARK: SQLite

    private static func open(_ path: String, _ flags: Int32) throws(Failure) -> OpaquePointer {
        var handle: OpaquePointer?
        guard sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw Failure(message: "\(path) cannot be opened")
        }
        return handle
    }

    private func prepare(_ text: String) throws(Failure) -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure }
        return statement
    }

    private func execute(_ text: String) throws(Failure) {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    private var failure: Failure { Failure(message: "SQLite: \(String(cString: sqlite3_errmsg(handle)))") }
}
