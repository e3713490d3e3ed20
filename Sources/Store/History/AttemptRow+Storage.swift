extension AttemptRow {
    /// Attempts of one operation that are kept, and outputs of them, the newest ones: an operation may be tried again
    /// without end.
    package static let limitPerOperation = 1000
    package static let outputsPerOperation = 50

    func record(_ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        if attempt > Self.outputsPerOperation { try removeOldest(database, &totals) }
        try database.run("INSERT OR REPLACE INTO attempt VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)") {
            $0.bind(1, operation)
            $0.bind(2, attempt)
            $0.bind(3, reason)
            $0.bind(4, exitStatus)
            $0.bind(5, signal)
            $0.bind(6, started)
            $0.bind(7, ended)
        }
        try recordOutput(database, &totals)
        if let usage {
            try usage.record(of: operation, attempt, database)
        } else {
            try UsageRow.remove(of: operation, from: attempt, upTo: attempt, database)
        }
    }

    private func removeOldest(_ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        try Self.removeOutputs(of: operation, upTo: attempt - Self.outputsPerOperation, database, &totals)
        try database.run("DELETE FROM attempt WHERE operation = ?1 AND attempt <= ?2") {
            $0.bind(1, operation)
            $0.bind(2, attempt - Self.limitPerOperation)
        }
        try UsageRow.remove(of: operation, from: 1, upTo: attempt - Self.limitPerOperation, database)
    }

    private func recordOutput(_ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        try Self.removeOutputs(of: operation, from: attempt, upTo: attempt, database, &totals)
        guard let output else { return }
        let end = Array(output.suffix(HistoryRow.outputLimit))
        try database.run("INSERT INTO attempt_output VALUES (?1, ?2, ?3, ?4)") {
            $0.bind(1, operation)
            $0.bind(2, attempt)
            $0.bind(3, end.count)
            $0.bind(4, end)
        }
        totals.attemptOutputs.add(operation, end.count)
    }

    /// Removes the attempts of an operation, with their outputs.
    static func remove(of operation: UInt64, _ database: Database, _ totals: inout HistoryTotals) throws(StoreError) {
        try removeOutputs(of: operation, database, &totals)
        try database.run("DELETE FROM attempt WHERE operation = ?1") { $0.bind(1, operation) }
        try UsageRow.remove(of: operation, database)
    }

    /// Removes the outputs of attempts whose numbers lie between these.
    static func removeOutputs(
        of operation: UInt64, from first: Int = .min, upTo last: Int = .max, _ database: Database,
        _ totals: inout HistoryTotals
    ) throws(StoreError) {
        let sizes = try database.rows(
            "DELETE FROM attempt_output WHERE operation = ?1 AND attempt BETWEEN ?2 AND ?3 RETURNING size",
            {
                $0.bind(1, operation)
                $0.bind(2, first)
                $0.bind(3, last)
            }, { Int($0.number(0)) })
        totals.attemptOutputs.add(operation, -sizes.reduce(0, +))
    }

    // MARK: Reading

    /// The attempts of an operation, without their outputs, the first one first.
    static func all(of operation: UInt64, _ database: Database) throws(StoreError) -> [AttemptRow] {
        try database.rows(
            """
            SELECT attempt, reason, status, signal, started, ended FROM attempt WHERE operation = ?1 ORDER BY attempt
            """, { $0.bind(1, operation) }
        ) { row in
            AttemptRow(
                operation: operation, attempt: Int(row.number(0)), reason: row.isNull(1) ? nil : row.text(1),
                exitStatus: row.optional(2).map { Int32(truncatingIfNeeded: $0) },
                signal: row.optional(3).map { Int32(truncatingIfNeeded: $0) }, started: row.optional(4),
                ended: row.number(5))
        }
    }

    /// The end of what one attempt wrote; `nil`: it is not known, or kept no more.
    static func output(of operation: UInt64, _ attempt: Int, _ database: Database) throws(StoreError) -> [UInt8]? {
        try database.rows(
            "SELECT output FROM attempt_output WHERE operation = ?1 AND attempt = ?2",
            {
                $0.bind(1, operation)
                $0.bind(2, attempt)
            }, { $0.bytes(0) }
        ).first
    }
}
