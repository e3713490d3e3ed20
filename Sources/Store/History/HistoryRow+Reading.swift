extension HistoryRow {
    /// Without events and output.
    static func with(_ id: UInt64, _ database: Database) throws(StoreError) -> HistoryRow? {
        try database.rows(
            """
            SELECT id, handler, queue, source, result, reason, status, signal, submitted, started, ended, attempt,
                entries, deliveries, redelivered, successor, settled, cause
            FROM history WHERE id = ?1
            """, { $0.bind(1, id) }, Self.init
        ).first
    }

    private init(_ row: Statement) {
        self.init(
            id: row.id(0), handler: row.text(1), queue: row.text(2), source: row.text(3), result: row.text(4),
            reason: row.isNull(5) ? nil : row.text(5),
            exitStatus: row.optional(6).map { Int32(truncatingIfNeeded: $0) },
            signal: row.optional(7).map { Int32(truncatingIfNeeded: $0) }, submitted: row.number(8),
            started: row.optional(9), ended: row.number(10), attempt: Int(row.number(11)),
            entries: Int(row.number(12)), deliveries: Int(row.number(13)), isRedelivered: row.number(14) != 0,
            successor: row.optional(15).map { UInt64(bitPattern: $0) }, isSettled: row.number(16) != 0,
            cause: row.text(17))
    }

    mutating func readEvents(_ database: Database) throws(StoreError) {
        events = try database.rows(
            "SELECT events FROM history_events WHERE id = ?1", { $0.bind(1, id) }, { $0.bytes(0) }
        ).first
    }

    mutating func readOutput(_ database: Database) throws(StoreError) {
        output = try database.rows(
            "SELECT output FROM history_output WHERE id = ?1", { $0.bind(1, id) }, { $0.bytes(0) }
        ).first
    }

    /// The records of a query, without output, and without events but for those that it asks for.
    static func page(_ query: HistoryQuery, _ database: Database) throws(StoreError) -> [HistoryRow] {
        var range = HistoryRange(handler: query.handler, source: query.source)
        range.since = query.since ?? .min
        if let until = query.until { range.before = .init(ended: until, id: UInt64(bitPattern: .min)) }
        if let after = query.after { range.before = min(range.before, after) }
        let runs = try HistoryRun.all(database).filter { run in
            (query.results?.contains(run.result) ?? true) && (!query.isUnsettled || run.isUnsettled)
        }
        var rows = try rows(try range.newest(query.limit, of: runs, database), database)
        guard let handler = query.eventsOf else { return rows }
        for index in rows.indices where rows[index].handler == handler { try rows[index].readEvents(database) }
        return rows
    }

    static func failed(_ handler: String, _ limit: Int, _ database: Database) throws(StoreError) -> [HistoryRow] {
        let range = HistoryRange(handler: handler)
        var rows = try rows(try range.oldest(limit, of: HistoryRun.unsettled, database), database)
        for index in rows.indices { try rows[index].readEvents(database) }
        return rows
    }

    private static func rows(
        _ positions: [HistoryQuery.Position], _ database: Database
    ) throws(StoreError) -> [HistoryRow] {
        var rows: [HistoryRow] = []
        for position in positions {
            guard var row = try with(position.id, database) else { continue }
            row.usage = try UsageRow.all(
                of: position.id, from: UsageRow.last, upTo: UsageRow.last, database)[UsageRow.last]
            rows.append(row)
        }
        return rows
    }
}
