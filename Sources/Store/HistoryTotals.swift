/// What is known of the history without reading it, so that to see that nothing has to go costs nothing. Counted when
/// it is first needed, kept up to date by every change; forgotten when one fails.
struct HistoryTotals {
    typealias Position = HistoryQuery.Position

    /// Everything up to here (by `ended` and id) has been looked at: what still stands there is kept for a reason.
    var boundary = Self.start
    /// Records after the boundary.
    var recent = 0
    /// The same for failed ones that were neither tried again nor forgotten.
    var failedBoundary = Self.start
    var failed = 0
    /// Bytes of all outputs.
    var outputBytes = 0
    /// Handlers of which something has come or has changed, so that what is behind the boundary may have to go.
    var touched: Set<String> = []
    /// Records since it was last looked at.
    var added = 0
    /// Attempts of operations in this range have not been looked at since the store was opened.
    var unseenAttempts: ClosedRange<Int64>?

    private var isCounted = false
    private var knowsAttempts = false
    private static let start = Position(ended: .min, id: 0)

    mutating func count(_ database: Database) throws(StoreError) {
        if isCounted { return }
        let runs = try HistoryRun.all(database)
        recent = try HistoryRange(after: boundary).count(of: runs, database)
        failed = try HistoryRange(after: failedBoundary).count(of: runs.filter(\.isUnsettled), database)
        outputBytes = Int(try database.number("SELECT sum(size) FROM history_output") ?? 0)
        if !knowsAttempts {
            let first = try database.number("SELECT min(operation) FROM attempt")
            let last = try database.number("SELECT max(operation) FROM attempt")
            if let first, let last { unseenAttempts = first...last }
            knowsAttempts = true
        }
        isCounted = true
    }

    mutating func recorded(_ row: HistoryRow) {
        added += 1
        outputBytes += row.output?.count ?? 0
        touched.insert(row.handler)
        recent += 1
        if row.isUnsettled { failed += 1 }
        // Older than what is known, as after the clock was set back: that is looked at anew.
        let before = Position(ended: row.ended, id: row.id &- 1)
        if before < boundary { (boundary, isCounted) = (before, false) }
        if row.isUnsettled, before < failedBoundary { (failedBoundary, isCounted) = (before, false) }
    }

    /// Another one comes in its place: what was behind the boundaries may be in front of them.
    mutating func replaced() { (boundary, failedBoundary, isCounted) = (Self.start, Self.start, false) }

    mutating func settled(_ row: HistoryStub) {
        if row.isUnsettled { (failedBoundary, isCounted) = (Self.start, false) }
        touched.insert(row.handler)
    }
}

extension HistoryQuery.Position: Comparable {
    /// As SQLite orders them.
    package static func < (first: Self, second: Self) -> Bool {
        (first.ended, Int64(bitPattern: first.id)) < (second.ended, Int64(bitPattern: second.id))
    }
}

/// What decides where a record stands in the history, and whether it stays.
struct HistoryStub {
    var position: HistoryQuery.Position
    var handler: String
    var result: String
    var isSettled: Bool

    var isUnsettled: Bool { result == "failed" && !isSettled }
}

extension HistoryRow {
    var position: HistoryQuery.Position { .init(ended: ended, id: id) }
    var isUnsettled: Bool { result == "failed" && !isSettled }
}
