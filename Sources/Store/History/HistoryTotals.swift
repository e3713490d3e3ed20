/// The totals of the history, known without reading it, so that to see that nothing has to go costs nothing. Counted
/// after the start, a slice at a time, so that no commit has to wait for all of it; kept up to date by every change;
/// forgotten when one fails.
struct HistoryTotals {
    typealias Position = HistoryQuery.Position

    /// Everything up to here (by `ended` and id) has been looked at: what still stands there is kept for a reason.
    var boundary = Self.start
    /// Records after the boundary.
    var recent = 0
    /// The same for failed ones that were neither tried again nor forgotten.
    var failedBoundary = Self.start
    var failed = 0
    /// Bytes of all outputs, of those of earlier attempts, and of all events.
    var outputs = Volume()
    var attemptOutputs = Volume()
    var events = Volume()
    /// Handlers of which something has come or has changed, so that what is behind the boundary may have to go.
    var touched: Set<String> = []
    /// Records since it was last looked at.
    var added = 0
    /// Attempts of operations in this range were there when the store was opened, and have not been looked at.
    var unseenAttempts: ClosedRange<Int64>?

    private var knowsAttempts = false
    private var records = Progress<Place>.upTo(nil)
    private static let start = Position(ended: .min, id: 0)

    /// Records that are counted at once.
    private static let recordsPerSlice = 8192
    /// Bytes of a record with its places in the indices.
    private static let bytesOfRecord = 512

    /// Bytes of one of the tables that hold more than the records.
    struct Volume {
        private(set) var bytes = 0
        private var progress = Progress<Int64>.upTo(nil)

        /// Rows that are counted at once. Their sizes stand before what they are the sizes of: a page is read for each
        /// row, however large it is. More than one commit can bring, so that it catches up with what comes meanwhile.
        private static let rowsPerSlice = 4096

        var isCounted: Bool { if case .complete = progress { true } else { false } }

        /// - Parameter text: gives ids and sizes behind an id, at most so many.
        fileprivate mutating func count(_ text: StaticString, _ database: Database) throws(StoreError) {
            guard case .upTo(let last) = progress else { return }
            let sizes = try database.rows(
                text,
                {
                    $0.bind(1, last ?? .min)
                    $0.bind(2, Self.rowsPerSlice)
                }, { (id: $0.number(0), size: Int($0.number(1))) })
            bytes += sizes.reduce(0) { $0 + $1.size }
            progress = sizes.count < Self.rowsPerSlice ? .complete : .upTo(sizes.last?.id)
        }

        mutating func add(_ id: UInt64, _ change: Int) {
            if progress.contains(Int64(bitPattern: id)) { bytes += change }
        }

        /// There is nothing.
        mutating func clear() { bytes = 0 }
    }

    /// How far it has been counted. Records that come or go behind that are counted with it.
    fileprivate enum Progress<Place: Comparable> {
        /// `nil`: nothing.
        case upTo(Place?)
        case complete

        func contains(_ place: Place) -> Bool {
            switch self {
            case .upTo(let last): last.map { place <= $0 } ?? false
            case .complete: true
            }
        }
    }

    /// Where a record stands in the index that is counted along.
    private struct Place: Comparable {
        var run: HistoryRun
        var position: Position

        static func < (first: Self, second: Self) -> Bool {
            if first.run.result != second.run.result { return first.run.result < second.run.result }
            if first.run.isSettled != second.run.isSettled { return second.run.isSettled }
            return first.position < second.position
        }
    }

    var areRecordsCounted: Bool { if case .complete = records { true } else { false } }
    /// Of the whole history; `nil`: not counted yet.
    var bytes: Int? {
        guard areRecordsCounted, outputs.isCounted, attemptOutputs.isCounted, events.isCounted else { return nil }
        return outputs.bytes + attemptOutputs.bytes + events.bytes + recent * Self.bytesOfRecord
    }

    /// Nothing is counted any more; which attempts were there stays known.
    mutating func startAnew() {
        var new = HistoryTotals()
        (new.unseenAttempts, new.knowsAttempts) = (unseenAttempts, knowsAttempts)
        self = new
    }

    // MARK: Counting

    /// Goes on with what is not counted yet.
    mutating func count(_ runs: [HistoryRun], _ database: Database) throws(StoreError) {
        if case .upTo(let last) = records { try countRecords(runs, after: last, database) }
        try outputs.count("SELECT id, size FROM history_output WHERE id > ?1 ORDER BY id LIMIT ?2", database)
        try attemptOutputs.count(
            """
            SELECT operation, sum(size) FROM attempt_output WHERE operation > ?1
            GROUP BY operation ORDER BY operation LIMIT ?2
            """, database)
        try events.count(
            "SELECT id, length(events) FROM history_events WHERE id > ?1 ORDER BY id LIMIT ?2", database)
    }

    /// Goes before all that is written: attempts that come later belong to operations that may have no record yet.
    mutating func noteAttempts(_ database: Database) throws(StoreError) {
        if knowsAttempts { return }
        let first = try database.number("SELECT min(operation) FROM attempt")
        let last = try database.number("SELECT max(operation) FROM attempt")
        if let first, let last { unseenAttempts = first...last }
        knowsAttempts = true
    }

    private mutating func countRecords(
        _ runs: [HistoryRun], after last: Place?, _ database: Database
    ) throws(StoreError) {
        var left = Self.recordsPerSlice
        for run in runs {
            var range = HistoryRange()
            if let last {
                if run == last.run { range.after = last.position }
                if Place(run: run, position: range.before) < last { continue }
            }
            let positions = try range.oldest(left, of: [run], database)
            for position in positions { count(Place(run: run, position: position), 1) }
            left -= positions.count
            guard left > 0 else {
                records = .upTo(positions.last.map { Place(run: run, position: $0) } ?? last)
                return
            }
        }
        records = .complete
    }

    private mutating func count(_ place: Place, _ number: Int) {
        if place.position > boundary { recent += number }
        if place.run.isUnsettled, place.position > failedBoundary { failed += number }
    }

    // MARK: Changes

    mutating func recorded(_ row: HistoryRow) {
        added += 1
        touched.insert(row.handler)
        outputs.add(row.id, min(row.output?.count ?? 0, HistoryRow.outputLimit))
        events.add(row.id, row.events?.count ?? 0)
        // Older than what is known, as after the clock was set back: that is looked at anew.
        let before = Position(ended: row.ended, id: row.id &- 1)
        if before < boundary || row.isUnsettled && before < failedBoundary {
            boundary = min(boundary, before)
            if row.isUnsettled { failedBoundary = min(failedBoundary, before) }
            return countAnew()
        }
        let place = Place(run: HistoryRun(result: row.result, isSettled: row.isSettled), position: row.position)
        if records.contains(place) { count(place, 1) }
    }

    private mutating func countAnew() { (records, recent, failed) = (.upTo(nil), 0, 0) }

    /// Another one comes in its place: what was behind the boundaries may be in front of them.
    mutating func replaced() {
        (boundary, failedBoundary) = (Self.start, Self.start)
        countAnew()
    }

    mutating func unsettled(_ stub: HistoryStub) {
        touched.insert(stub.handler)
        failedBoundary = min(failedBoundary, Position(ended: stub.position.ended, id: stub.position.id &- 1))
        countAnew()
    }

    mutating func settled(_ stub: HistoryStub, _ database: Database) throws(StoreError) {
        touched.insert(stub.handler)
        guard stub.isUnsettled else { return }
        let run = HistoryRun(result: stub.result, isSettled: false)
        if records.contains(Place(run: run, position: stub.position)) {
            count(Place(run: run, position: stub.position), -1)
        }
        let settled = Place(run: HistoryRun(result: stub.result, isSettled: true), position: stub.position)
        if records.contains(settled) { count(settled, 1) }
        // One that there was no room for beside it may stay now, if it is still there.
        guard failedBoundary != Self.start, stub.position > failedBoundary else { return }
        let before = Position(ended: failedBoundary.ended, id: failedBoundary.id &+ 1)
        guard let next = try HistoryRange(before: before).newest(1, of: [run], database).first else { return }
        failedBoundary = Position(ended: next.ended, id: next.id &- 1)
        if records.contains(Place(run: run, position: next)) { failed += 1 }
    }
}

extension HistoryQuery.Position: Comparable {
    /// As SQLite orders them.
    package static func < (first: Self, second: Self) -> Bool {
        (first.ended, Int64(bitPattern: first.id)) < (second.ended, Int64(bitPattern: second.id))
    }
}

/// The properties that decide where a record stands in the history, and whether it stays.
struct HistoryStub {
    var position: HistoryQuery.Position
    var handler: String
    var result: String
    var isSettled: Bool

    var isFailure: Bool { HistoryRun.failures.contains(result) }
    var isUnsettled: Bool { isFailure && !isSettled }
}

extension HistoryRow {
    var position: HistoryQuery.Position { .init(ended: ended, id: id) }
    var isFailure: Bool { HistoryRun.failures.contains(result) }
    var isUnsettled: Bool { isFailure && !isSettled }
}
