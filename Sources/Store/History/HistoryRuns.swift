/// Records of one result, which an index holds in order: lists are merged from these runs.
struct HistoryRun: Equatable {
    var result: String
    var isSettled: Bool

    /// Results that are failures: kept longer, until somebody deals with them.
    static let failures = ["failed", "stopped"]
    /// Of failures that nobody has dealt with.
    static let unsettled = failures.map { HistoryRun(result: $0, isSettled: false) }

    var isUnsettled: Bool { Self.failures.contains(result) && !isSettled }

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
        Array(try merged(newestText, limit, runs, database).sorted(by: >).prefix(limit))
    }

    func oldest(_ limit: Int, of runs: [HistoryRun], _ database: Database) throws(StoreError) -> [Position] {
        Array(try merged(oldestText, limit, runs, database).sorted().prefix(limit))
    }

    /// So many of each run.
    private func merged(
        _ text: StaticString, _ limit: Int, _ runs: [HistoryRun], _ database: Database
    ) throws(StoreError) -> [Position] {
        var positions: [Position] = []
        for source in try sources(database) {
            for run in runs {
                positions += try database.rows(text, { bind($0, run, limit, source: source) }, Self.position)
            }
        }
        return positions
    }

    /// The sources to look at one by one: those of the handler, by jumping from one to the next. `nil`: all at once.
    private func sources(_ database: Database) throws(StoreError) -> [String?] {
        guard let handler, source == nil else { return [source] }
        var sources: [String?] = []
        var last: String?
        repeat {
            last = try database.rows(
                """
                SELECT source FROM history INDEXED BY history_handler WHERE handler = ?1 AND source > ?2
                ORDER BY source LIMIT 1
                """,
                {
                    $0.bind(1, handler)
                    $0.bind(2, last ?? "")
                }, { $0.text(0) }
            ).first
            if let last { sources.append(last) }
        } while last != nil
        return sources
    }

    private static func position(_ row: Statement) -> Position { Position(ended: row.number(0), id: row.id(1)) }

    private func bind(_ statement: Statement, _ run: HistoryRun, _ limit: Int, source: String?) {
        statement.bind(1, run.result)
        statement.bind(2, run.isSettled ? 1 : 0)
        // SQLite looks for the first one by this instant alone, and passes over those at it that do not stand after the
        // place.
        statement.bind(3, max(since, after.ended))
        statement.bind(4, after.ended)
        statement.bind(5, after.id)
        statement.bind(6, before.ended)
        statement.bind(7, before.id)
        statement.bind(8, max(0, limit))
        if source != nil { statement.bind(9, source) }
        if handler != nil { statement.bind(10, handler) }
    }

    private var newestText: StaticString {
        if handler != nil {
            return """
                SELECT ended, id FROM history INDEXED BY history_handler
                WHERE handler = ?10 AND source = ?9 AND result = ?1 AND settled = ?2 AND ended >= ?3
                AND (ended, id) > (?4, ?5) AND (ended, id) < (?6, ?7) ORDER BY ended DESC, id DESC LIMIT ?8
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
                WHERE handler = ?10 AND source = ?9 AND result = ?1 AND settled = ?2 AND ended >= ?3
                AND (ended, id) > (?4, ?5) AND (ended, id) < (?6, ?7) ORDER BY ended, id LIMIT ?8
                """
        }
        return """
            SELECT ended, id FROM history INDEXED BY history_result
            WHERE result = ?1 AND settled = ?2 AND ended >= ?3 AND (ended, id) > (?4, ?5) AND (ended, id) < (?6, ?7)
            ORDER BY ended, id LIMIT ?8
            """
    }
}
