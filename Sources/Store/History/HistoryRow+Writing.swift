extension HistoryRow {
    /// Of what a run has written, so many bytes at the end are kept.
    package static let outputLimit = 64 << 10

    func record(_ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        var row = self
        if let output, output.count > Self.outputLimit { row.output = Array(output.suffix(Self.outputLimit)) }
        if try !row.insert(database) {
            totals.replaced()
            try Self.remove(id, database, &totals)
            _ = try row.insert(database)
        }
        try row.insertEvents(database)
        try row.insertOutput(database)
        try usage?.record(of: id, UsageRow.last, database)
        totals.recorded(row)
    }

    /// False: there is one with its id.
    private func insert(_ database: Database) throws(StoreError) -> Bool {
        try database.run(
            """
            INSERT OR IGNORE INTO history VALUES
            (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            """
        ) {
            $0.bind(1, id)
            $0.bind(2, handler)
            $0.bind(3, queue)
            $0.bind(4, source)
            $0.bind(5, result)
            $0.bind(6, isSettled ? 1 : 0)
            $0.bind(7, ended)
            $0.bind(8, submitted)
            $0.bind(9, started)
            $0.bind(10, reason)
            $0.bind(11, exitStatus)
            $0.bind(12, signal)
            $0.bind(13, attempt)
            $0.bind(14, entries)
            $0.bind(15, deliveries)
            $0.bind(16, isRedelivered ? 1 : 0)
            $0.bind(17, successor)
            $0.bind(18, cause)
        }
        return database.changes > 0
    }

    private func insertEvents(_ database: Database) throws(StoreError) {
        guard let events else { return }
        try database.run("REPLACE INTO history_events VALUES (?1, ?2)") {
            $0.bind(1, id)
            $0.bind(2, events)
        }
    }

    private func insertOutput(_ database: Database) throws(StoreError) {
        guard let output else { return }
        try database.run("REPLACE INTO history_output VALUES (?1, ?2, ?3)") {
            $0.bind(1, id)
            $0.bind(2, output.count)
            $0.bind(3, output)
        }
    }

    static func settle(
        _ id: UInt64, by successor: UInt64?, _ database: Database, _ totals: inout HistoryTotals
    ) throws(StoreError) {
        guard let stub = try HistoryStub.with(id, database), stub.isFailure else { return }
        try totals.settled(stub, database)
        try database.run(
            "UPDATE history SET settled = 1, successor = coalesce(?2, successor) WHERE id = ?1"
        ) {
            $0.bind(1, id)
            $0.bind(2, successor)
        }
    }

    static func unsettle(
        _ id: UInt64, _ database: Database, _ totals: inout HistoryTotals
    ) throws(StoreError) {
        guard let stub = try HistoryStub.with(id, database), stub.isFailure, stub.isSettled else { return }
        totals.unsettled(stub)
        try database.run("UPDATE history SET settled = 0, successor = NULL WHERE id = ?1") { $0.bind(1, id) }
    }

    /// Removes a record with its events and output, but not its attempts.
    static func remove(_ id: UInt64, _ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        try database.run("DELETE FROM history WHERE id = ?1") { $0.bind(1, id) }
        try removeEvents(id, database, &totals)
        try removeOutput(id, database, &totals)
        try UsageRow.remove(of: id, from: UsageRow.last, upTo: UsageRow.last, database)
    }

    /// A record goes that a failure was tried again as. Else the retry would count as lost, and what had failed would
    /// wait for somebody again.
    static func forget(successor id: UInt64, _ database: Database) throws(StoreError) {
        try database.run("UPDATE history SET successor = NULL WHERE successor = ?1 AND settled = 1") { $0.bind(1, id) }
    }

    static func removeEvents(_ id: UInt64, _ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        let bytes = try database.number("DELETE FROM history_events WHERE id = ?1 RETURNING length(events)") {
            $0.bind(1, id)
        }
        totals.events.add(id, -Int(bytes ?? 0))
    }

    static func removeOutput(_ id: UInt64, _ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        let bytes = try database.number("DELETE FROM history_output WHERE id = ?1 RETURNING size") { $0.bind(1, id) }
        totals.outputs.add(id, -Int(bytes ?? 0))
    }
}

extension HistoryStub {
    static func with(_ id: UInt64, _ database: Database) throws(StoreError) -> HistoryStub? {
        try database.rows(
            "SELECT ended, handler, result, settled FROM history WHERE id = ?1", { $0.bind(1, id) }
        ) { row in
            HistoryStub(
                position: .init(ended: row.number(0), id: id), handler: row.text(1), result: row.text(2),
                isSettled: row.number(3) != 0)
        }.first
    }
}
