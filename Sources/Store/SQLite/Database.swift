import CSQLite
import LinuxSystem

/// A connection to an SQLite file, and its prepared statements, which are kept. To be used by one thread at a time.
final class Database {
    let path: [UInt8]
    private let handle: OpaquePointer
    /// By the address of their text, which is a literal.
    private var statements: [UnsafePointer<UInt8>: Statement] = [:]

    /// - Parameter isReadOnly: the file must exist, and is never changed.
    init(_ path: [UInt8], isReadOnly: Bool = false) throws(StoreError) {
        var handle: OpaquePointer?
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let code = (path + [0]).withUnsafeBytes { bytes in
            sqlite3_open_v2(
                bytes.assumingMemoryBound(to: CChar.self).baseAddress, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
        }
        guard let handle, code == SQLITE_OK else {
            let error = StoreError(code, handle, path)
            sqlite3_close_v2(handle)
            throw error
        }
        (self.path, self.handle) = (path, handle)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, 1000)
        // Only `finish` empties the log: any other end leaves the files as a crash would.
        _ = csqlite_keep_log(handle, 1)
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// To be called before the last use: closing moves the log into the file, if nobody else has it open.
    func finish() { _ = csqlite_keep_log(handle, 0) }

    /// Gives back what its pages in memory take (`sqlite3_db_release_memory`).
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    /// The file or its folder lets nobody write.
    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    /// Rows that the last statement inserted, changed or removed.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    /// Rows that were ever inserted, changed or removed.
    var allChanges: Int64 { sqlite3_total_changes64(handle) }

    func error(_ code: Int32) -> StoreError { StoreError(code, handle, path) }

    /// Runs statements that are not kept: pragmas, schemas.
    func execute(_ text: String) throws(StoreError) {
        let code = sqlite3_exec(handle, text, nil, nil, nil)
        if code != SQLITE_OK { throw error(code) }
    }

    /// A statement that is made once. It must not be in use already.
    func statement(_ text: StaticString) throws(StoreError) -> Statement {
        if let known = statements[text.utf8Start] { return known }
        var statement: OpaquePointer?
        let code = text.withUTF8Buffer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                sqlite3_prepare_v3(
                    handle, bytes.baseAddress, Int32(bytes.count), UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
            }
        }
        // It does not fit the tables: they are not what this version has made.
        if code == SQLITE_ERROR { throw .damaged(path: path, detail: String(cString: sqlite3_errmsg(handle))) }
        guard code == SQLITE_OK, let statement else { throw error(code) }
        let new = Statement(statement)
        statements[text.utf8Start] = new
        return new
    }

    /// Runs a statement to its end; its rows, if there are any, go to `body`, in which it must not be run again.
    func run(
        _ text: StaticString, _ bind: (Statement) -> Void = { _ in }, rows body: (Statement) -> Void = { _ in }
    ) throws(StoreError) {
        let statement = try statement(text)
        bind(statement)
        defer { statement.reset() }
        while true {
            switch statement.step() {
            case SQLITE_ROW: body(statement)
            case SQLITE_DONE: return
            case let code: throw error(code)
            }
        }
    }

    /// Rows, each as `body` makes it.
    func rows<Row>(
        _ text: StaticString, _ bind: (Statement) -> Void = { _ in }, _ body: (Statement) -> Row
    ) throws(StoreError) -> [Row] {
        var rows: [Row] = []
        try run(text, bind, rows: { rows.append(body($0)) })
        return rows
    }

    /// The first number of the first row; `nil`: there is no row, or it is NULL.
    func number(
        _ text: StaticString, _ bind: (Statement) -> Void = { _ in }
    ) throws(StoreError) -> Int64? {
        var number: Int64?
        try run(text, bind, rows: { number = number ?? $0.optional(0) })
        return number
    }

    /// All of what `body` does, or nothing.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            try body()
            try run("COMMIT")
        } catch {
            // Some errors have ended it already.
            if isInTransaction { try? run("ROLLBACK") }
            throw error
        }
    }
}
