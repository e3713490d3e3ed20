/// Reads the history beside the writer. To be used by one thread at a time.
///
/// Every answer is of one moment; what is written meanwhile is not held up, except that the log cannot start anew.
package final class HistoryReader {
    private let files: StoreFiles
    private var database: Database
    private var place: StoreFiles.Place

    package init(folder: [UInt8]) throws(StoreError) {
        files = StoreFiles(folder: folder)
        (database, place) = try Self.open(files)
    }

    private static func open(_ files: StoreFiles) throws(StoreError) -> (Database, StoreFiles.Place) {
        try files.inspect()
        let place = try files.place()
        let database = try Database(files.database, isReadOnly: true)
        try database.execute("PRAGMA cache_size = -512; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON")
        return (database, place)
    }

    /// Gives back what the file's pages in memory take.
    package func releaseMemory() { database.releaseMemory() }

    /// Ended operations, newest first, without output, and without events but for those that the query asks for.
    package func page(_ query: HistoryQuery) throws(StoreError) -> [HistoryRow] {
        try read { database throws(StoreError) in try HistoryRow.page(query, database) }
    }

    /// One of them with everything, and its failed attempts, without their outputs, the first one first.
    package func record(_ id: UInt64) throws(StoreError) -> (row: HistoryRow, attempts: [AttemptRow])? {
        try read { database throws(StoreError) in
            guard var row = try HistoryRow.with(id, database) else { return nil }
            try row.readEvents(database)
            try row.readOutput(database)
            let (attempts, last) = try Self.attempts(of: id, database)
            row.usage = last
            return (row, attempts)
        }
    }

    /// The failed attempts of an operation that may not have ended, as above.
    package func attempts(of id: UInt64) throws(StoreError) -> [AttemptRow] {
        try read { database throws(StoreError) in try Self.attempts(of: id, database).attempts }
    }

    private static func attempts(
        of id: UInt64, _ database: Database
    ) throws(StoreError) -> (attempts: [AttemptRow], last: UsageRow?) {
        var attempts = try AttemptRow.all(of: id, database)
        let usages = try UsageRow.all(of: id, database)
        for index in attempts.indices { attempts[index].usage = usages[attempts[index].attempt] }
        return (attempts, usages[UsageRow.last])
    }

    /// The end of what an attempt before the last one wrote; `nil`: it is not known, or kept no more.
    package func output(of operation: UInt64, attempt: Int) throws(StoreError) -> [UInt8]? {
        try read { database throws(StoreError) in try AttemptRow.output(of: operation, attempt, database) }
    }

    /// Failed ones of a handler that were neither tried again nor forgotten, oldest first, with their events.
    package func failed(handler: String, limit: Int) throws(StoreError) -> [HistoryRow] {
        try read { database throws(StoreError) in try HistoryRow.failed(handler, limit, database) }
    }

    /// Failed operations that were tried again, each with the operation that it runs again as, which has not ended, or
    /// has not run.
    package func unfinishedRetries() throws(StoreError) -> [(failed: UInt64, successor: UInt64)] {
        try read { database throws(StoreError) in
            var found: [(failed: UInt64, successor: UInt64)] = []
            for result in HistoryRun.failures {
                found += try database.rows(
                    """
                    SELECT id, successor FROM history AS one INDEXED BY history_result
                    WHERE result = ?1 AND settled = 1 AND successor IS NOT NULL
                    AND NOT EXISTS (
                        SELECT 1 FROM history WHERE id = one.successor AND result <> 'cancelled')
                    """, { $0.bind(1, result) }
                ) { (UInt64(bitPattern: $0.number(0)), UInt64(bitPattern: $0.number(1))) }
            }
            return found
        }
    }

    /// The handled state of a source below a root: paths relative to it, in the order of their bytes.
    package func snapshot(
        source: String, root: [UInt8], _ entry: (_ path: [UInt8], _ state: [UInt8]) -> Void
    ) throws(StoreError) {
        try read { database throws(StoreError) in
            try database.run(
                """
                SELECT path, state FROM path_entry
                WHERE root = (SELECT id FROM path_root WHERE source = ?1 AND root = ?2) ORDER BY path
                """
            ) {
                $0.bind(1, source)
                $0.bind(2, root)
            } rows: {
                entry($0.bytes(0), $0.bytes(1))
            }
        }
    }

    /// Looks through the whole file; a sentence for what is wrong. May take minutes. A file that is damaged is set
    /// aside when the store is opened the next time.
    package func check() throws(StoreError) -> String? {
        try reopenIfReplaced()
        let problem = try findProblem()
        if problem != nil { try? files.touch(files.suspicion) }
        return problem
    }

    private func findProblem() throws(StoreError) -> String? {
        do throws(StoreError) {
            let tables = try database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'", { _ in }) {
                $0.text(0)
            }
            // Table by table, so that the log can start anew in between.
            for table in tables {
                let problems = try database.problems(of: table)
                if let problem = problems.first { return "\(table): \(problem)" }
            }
            return nil
        } catch {
            if case .damaged(_, let detail) = error { return detail }
            throw error
        }
    }

    private func read<Answer>(
        _ body: (Database) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try reopenIfReplaced()
        do throws(StoreError) {
            try database.run("BEGIN")
            // After an error there may be nothing left to end.
            defer { try? database.run("COMMIT") }
            return try body(database)
        } catch {
            // As after a check: unless the writer has just done it, the file is to be set aside.
            if case .damaged = error, (try? files.place()) == place { try? files.touch(files.suspicion) }
            throw error
        }
    }

    /// The writer puts another file in the place of a damaged one.
    private func reopenIfReplaced() throws(StoreError) {
        if try files.place() == place { return }
        (database, place) = try Self.open(files)
    }
}

extension Database {
    /// The problems that SQLite finds in a table and its indices.
    fileprivate func problems(of table: String) throws(StoreError) -> [String] {
        try rows("SELECT integrity_check FROM pragma_integrity_check(?1)", { $0.bind(1, table) }) { $0.text(0) }
            .filter { $0 != "ok" }
    }
}
