/// Records of one result, which an index holds in order: lists are merged from these runs.
struct HistoryRun {
    var result: String
    var isSettled: Bool

    var isUnsettled: Bool { result == "failed" && !isSettled }

    /// Those that there are, by jumping from one to the next.
    static func all(_ database: Database) throws(StoreError) -> [HistoryRun] {
        var runs: [HistoryRun] = []
        while let next = try after(runs.last, database) { runs.append(next) }
        return runs
    }

    private static func after(_ run: HistoryRun?, _ database: Database) throws(StoreError) -> HistoryRun? {
        if let run, !run.isSettled {
            let settled = HistoryRun(result: run.result, isSettled: true)
            if try settled.exists(database) { return settled }
        }
        let result = try database.rows(
            """
            SELECT result, settled FROM history INDEXED BY history_result WHERE result > ?1
            ORDER BY result, settled LIMIT 1
            """, { $0.bind(1, run?.result ?? "") }
        ) { HistoryRun(result: $0.text(0), isSettled: $0.number(1) != 0) }
        return result.first
    }

    private func exists(_ database: Database) throws(StoreError) -> Bool {
        try database.number(
            "SELECT 1 FROM history INDEXED BY history_result WHERE result = ?1 AND settled = ?2 LIMIT 1"
        ) {
            $0.bind(1, result)
            $0.bind(2, isSettled ? 1 : 0)
        } != nil
    }
}

/// A part of the history, as far as the indices can tell.
struct HistoryRange {
    typealias Position = HistoryQuery.Position

    var handler: String?
    var source: String?
    /// Not before this instant.
    var since = Int64.min
    /// Only what stands after this place and before that one.
    var after = Position(ended: .min, id: UInt64(bitPattern: .min))
    var before = Position(ended: .max, id: UInt64(bitPattern: .max))

    /// The newest records of some results, newest first.
    func newest(_ limit: Int, of runs: [HistoryRun], _ database: Database) throws(StoreError) -> [Position] {
        var positions: [Position] = []
        for run in runs { positions += try newest(limit, of: run, database) }
        if runs.count > 1 { positions.sort(by: >) }
        return Array(positions.prefix(limit))
    }

    func oldest(_ limit: Int, of runs: [HistoryRun], _ database: Database) throws(StoreError) -> [Position] {
        var positions: [Position] = []
        for run in runs { positions += try oldest(limit, of: run, database) }
        if runs.count > 1 { positions.sort() }
        return Array(positions.prefix(limit))
    }

    /// How many records of some results stand after the place, of all handlers and sources.
    func count(of runs: [HistoryRun], _ database: Database) throws(StoreError) -> Int {
        var count = 0
        for run in runs {
            let found = try database.number(
                """
                SELECT count(*) FROM history INDEXED BY history_result
                WHERE result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5)
                AND (ended, id) < (?6, ?7) AND ?8 >= 0
                """
            ) { bind($0, run, 0) }
            count += Int(found ?? 0)
        }
        return count
    }

    private func newest(_ limit: Int, of run: HistoryRun, _ database: Database) throws(StoreError) -> [Position] {
        try database.rows(newestText, { bind($0, run, limit) }, Self.position)
    }

    private func oldest(_ limit: Int, of run: HistoryRun, _ database: Database) throws(StoreError) -> [Position] {
        try database.rows(oldestText, { bind($0, run, limit) }, Self.position)
    }

    private static func position(_ row: Statement) -> Position { Position(ended: row.number(0), id: row.id(1)) }

    private func bind(_ statement: Statement, _ run: HistoryRun, _ limit: Int) {
        statement.bind(1, run.result)
        statement.bind(2, run.isSettled ? 1 : 0)
        statement.bind(3, since)
        statement.bind(4, after.ended)
        statement.bind(5, after.id)
        statement.bind(6, before.ended)
        statement.bind(7, before.id)
        statement.bind(8, max(0, limit))
        if handler != nil || source != nil { statement.bind(9, handler ?? source) }
        if handler != nil { statement.bind(10, source) }
    }

    private var newestText: StaticString {
        if handler != nil {
            return """
                SELECT ended, id FROM history INDEXED BY history_handler
                WHERE handler = ?9 AND result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5)
                AND (ended, id) < (?6, ?7) AND (?10 IS NULL OR source = ?10) ORDER BY ended DESC, id DESC LIMIT ?8
                """
        }
        if source != nil {
            return """
                SELECT ended, id FROM history INDEXED BY history_source
                WHERE source = ?9 AND result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5)
                AND (ended, id) < (?6, ?7) ORDER BY ended DESC, id DESC LIMIT ?8
                """
        }
        return """
            SELECT ended, id FROM history INDEXED BY history_result
            WHERE result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5) AND (ended, id) < (?6, ?7)
            ORDER BY ended DESC, id DESC LIMIT ?8
            """
    }

    /// Of a handler, or of all.
    private var oldestText: StaticString {
        if handler != nil {
            return """
                SELECT ended, id FROM history INDEXED BY history_handler
                WHERE handler = ?9 AND result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5)
                AND (ended, id) < (?6, ?7) AND (?10 IS NULL OR source = ?10) ORDER BY ended, id LIMIT ?8
                """
        }
        return """
            SELECT ended, id FROM history INDEXED BY history_result
            WHERE result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5) AND (ended, id) < (?6, ?7)
            ORDER BY ended, id LIMIT ?8
            """
    }
}
