import CSQLite

extension Database {
    /// Copies what can be read of a damaged file into this new one, row by row: what cannot be read is skipped. Of the
    /// history only the highest id is taken over.
    func takeOver(_ damaged: Database, _ migrations: [String]) throws(StoreError) {
        // Reads files that are shorter than they say.
        try? damaged.execute("PRAGMA writable_schema = ON; PRAGMA cell_size_check = ON")
        // Rows of an older version are brought up to date like any others.
        let version = (try? damaged.version(knowing: migrations.count)) ?? 0
        let isKnown = migrations.indices.contains(version - 1)
        try migrate(isKnown ? Array(migrations[..<version]) : migrations)
        try transaction { () throws(StoreError) in
            try takeOverOperations(damaged)
            try copy(
                damaged, from: "SELECT id, source, events FROM held WHERE id >= ?1 ORDER BY id LIMIT ?2",
                to: "REPLACE INTO held (id, source, events) VALUES (?1, ?2, ?3)")
            // From both ends, as far as it goes.
            let marks: StaticString = "REPLACE INTO mark (name, value) VALUES (?1, ?2)"
            try takeOver(damaged, "SELECT name, value FROM mark ORDER BY name", to: marks)
            try takeOver(damaged, "SELECT name, value FROM mark ORDER BY name DESC", to: marks)
            try takeOverSnapshots(damaged)
            try takeOverLastRecorded(damaged)
        }
    }

    private func takeOverOperations(_ damaged: Database) throws(StoreError) {
        try copy(
            damaged,
            from: """
                SELECT id, handler, queue, source, state, events FROM operation WHERE id >= ?1 ORDER BY id LIMIT ?2
                """,
            to: """
                REPLACE INTO operation (id, handler, queue, source, state, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                """)
        try copy(
            damaged, from: "SELECT id, operation, events FROM appended WHERE id >= ?1 ORDER BY id LIMIT ?2",
            to: "REPLACE INTO appended (id, operation, events) VALUES (?1, ?2, ?3)")
    }

    private func takeOverLastRecorded(_ damaged: Database) throws(StoreError) {
        let newest = (try? damaged.number("SELECT max(id) FROM history")) ?? 0
        let earlier = (try? damaged.number("SELECT value FROM state WHERE name = 'lastRecorded'")) ?? 0
        try run("REPLACE INTO state VALUES ('lastRecorded', ?1)") { $0.bind(1, max(newest, earlier)) }
    }

    /// Whether what was written can be read again, before it counts.
    func checkWritten() throws(StoreError) { _ = try StoreContents(self) }

    /// A path that is missed counts as changed at the next comparison. (A file of an older version has none.)
    private func takeOverSnapshots(_ damaged: Database) throws(StoreError) {
        guard try number("SELECT count(*) FROM sqlite_schema WHERE name = 'path_root'") == 1 else { return }
        try copy(
            damaged, from: "SELECT id, source, root, about FROM path_root WHERE id >= ?1 ORDER BY id LIMIT ?2",
            to: "REPLACE INTO path_root (id, source, root, about) VALUES (?1, ?2, ?3, ?4)")
        let entries: StaticString = "REPLACE INTO path_entry (root, path, state) VALUES (?1, ?2, ?3)"
        try takeOver(damaged, "SELECT root, path, state FROM path_entry ORDER BY root, path", to: entries)
        try takeOver(damaged, "SELECT root, path, state FROM path_entry ORDER BY root DESC, path DESC", to: entries)
        try run("DELETE FROM path_entry WHERE root NOT IN (SELECT id FROM path_root)")
    }

    private func takeOver(
        _ damaged: Database, _ source: StaticString, to target: StaticString
    ) throws(StoreError) {
        guard let statement = try? damaged.statement(source) else { return }
        defer { statement.reset() }
        // A damaged page may lead back to where it has been.
        for _ in 0..<Self.rowsAtMost {
            guard statement.step() == SQLITE_ROW else { return }
            try insert(statement, target)
        }
    }

    private static let rowsAtMost = 20_000_000

    /// Damages to go on behind, at most: a file may be made so that there is no end of them.
    private static let patience = 10_000

    /// Copies rows in the order of their numbers. Where one cannot be read it goes on behind the damage.
    private func copy(
        _ damaged: Database, from source: StaticString, to target: StaticString
    ) throws(StoreError) {
        guard let statement = try? damaged.statement(source) else { return }
        var next: Int64? = .min
        for _ in 0..<Self.patience {
            guard let start = next, let bad = try copyRun(statement, from: start, to: target) else { return }
            next = Self.firstReadable(after: bad, statement)
        }
    }

    /// Copies rows up to the next damage and returns the first number that was not read; `nil`: there are no more.
    private func copyRun(
        _ statement: Statement, from start: Int64, to target: StaticString
    ) throws(StoreError) -> Int64? {
        statement.bind(1, start)
        statement.bind(2, -1)
        defer { statement.reset() }
        var wanted = start
        var code = statement.step()
        // A damaged page may lead back to where it has been.
        while code == SQLITE_ROW, statement.number(0) >= wanted {
            try insert(statement, target)
            if statement.number(0) == .max { return nil }
            wanted = statement.number(0) + 1
            code = statement.step()
        }
        return code == SQLITE_DONE ? nil : wanted
    }

    /// A row that is not as it should be is not taken.
    private func insert(_ row: Statement, _ target: StaticString) throws(StoreError) {
        let statement = try statement(target)
        defer { statement.reset() }
        for column in 0..<row.columnCount { statement.bind(column + 1, row, column: column) }
        let code = statement.step()
        switch code & 0xFF {
        case SQLITE_DONE, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_RANGE: return
        default: throw error(code)
        }
    }

    /// Numbers to try one by one behind what cannot be read; after that in steps that double.
    private static let closeLook: Int64 = 1024

    /// The lowest number from which a row can be read. A page of rows that is damaged cannot even be asked which
    /// numbers it has: so they are tried, first each, then in growing steps with a search back.
    private static func firstReadable(after start: Int64, _ statement: Statement) -> Int64? {
        // Before the first row there is no hint: numbers begin at 1.
        var bad = max(start, 0)
        for _ in 0..<closeLook {
            if bad == .max { return nil }
            bad += 1
            if isReadable(bad, statement) { return bad }
        }
        var step = closeLook
        while true {
            let (next, isOver) = bad.addingReportingOverflow(step)
            if isOver { return nil }
            if isReadable(next, statement) { return search(between: bad, and: next, statement) }
            (bad, step) = (next, step * 2)
        }
    }

    private static func search(between unreadable: Int64, and readable: Int64, _ statement: Statement) -> Int64 {
        var (low, high) = (unreadable, readable)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if isReadable(middle, statement) { high = middle } else { low = middle }
        }
        return high
    }

    private static func isReadable(_ number: Int64, _ statement: Statement) -> Bool {
        statement.bind(1, number)
        statement.bind(2, 1)
        defer { statement.reset() }
        let code = statement.step()
        return code == SQLITE_DONE || code == SQLITE_ROW && statement.number(0) >= number
    }
}
