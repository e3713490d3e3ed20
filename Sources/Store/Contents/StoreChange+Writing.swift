extension StoreChange {
    /// Writes a change, as a part of a transaction. `totals` goes along.
    func write(_ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        switch self {
        case .put(let row): try row.put(database)
        case .update(let id, let state):
            try database.run("UPDATE operation SET state = ?2 WHERE id = ?1") {
                $0.bind(1, id)
                $0.bind(2, state)
            }
        case .append(let id, let events): try Self.append(id, events, database)
        case .remove(let id): try Self.remove(id, database)
        case .hold(let source, let events, let replacing): try Self.hold(source, events, replacing, database)
        case .record(let row): try row.record(database, &totals)
        case .attempt(let row): try row.record(database, &totals)
        case .settle(let id, let successor): try HistoryRow.settle(id, by: successor, database, &totals)
        case .unsettle(let id): try HistoryRow.unsettle(id, database, &totals)
        case .mark(let name, let value): try Self.mark(name, value, database)
        case .snapshot(let change): try change.write(database)
        }
    }

    private static func append(_ id: UInt64, _ events: [UInt8], _ database: Database) throws(StoreError) {
        try database.run(
            """
            INSERT INTO appended (operation, events)
            SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM operation WHERE id = ?1)
            """
        ) {
            $0.bind(1, id)
            $0.bind(2, events)
        }
    }

    private static func remove(_ id: UInt64, _ database: Database) throws(StoreError) {
        try database.run("DELETE FROM operation WHERE id = ?1") { $0.bind(1, id) }
        // Nothing is appended to what is not there.
        if database.changes > 0 { try removeAppended(id, database) }
    }

    fileprivate static func removeAppended(_ id: UInt64, _ database: Database) throws(StoreError) {
        try database.run("DELETE FROM appended WHERE operation = ?1") { $0.bind(1, id) }
    }

    private static func hold(
        _ source: String, _ events: [UInt8], _ replacing: Bool, _ database: Database
    ) throws(StoreError) {
        if replacing || events.isEmpty {
            try database.run("DELETE FROM held WHERE source = ?1") { $0.bind(1, source) }
        }
        if events.isEmpty { return }
        try database.run("INSERT INTO held (source, events) VALUES (?1, ?2)") {
            $0.bind(1, source)
            $0.bind(2, events)
        }
    }

    private static func mark(_ name: String, _ value: [UInt8]?, _ database: Database) throws(StoreError) {
        guard let value else {
            return try database.run("DELETE FROM mark WHERE name = ?1") { $0.bind(1, name) }
        }
        try database.run("INSERT OR REPLACE INTO mark (name, value) VALUES (?1, ?2)") {
            $0.bind(1, name)
            $0.bind(2, value)
        }
    }
}

extension OperationRow {
    fileprivate func put(_ database: Database) throws(StoreError) {
        try database.run(
            """
            INSERT OR IGNORE INTO operation (id, handler, queue, source, state, events)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, bind)
        if database.changes > 0 { return }
        try StoreChange.removeAppended(id, database)
        try database.run(
            """
            REPLACE INTO operation (id, handler, queue, source, state, events)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, bind)
    }

    private func bind(_ statement: Statement) {
        statement.bind(1, id)
        statement.bind(2, handler)
        statement.bind(3, queue)
        statement.bind(4, source)
        statement.bind(5, state)
        statement.bind(6, events)
    }
}
