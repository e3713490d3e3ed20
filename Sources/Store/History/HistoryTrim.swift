/// Removes from the history what the limits do not allow, a few records at a time. Records that it has looked at lie
/// behind the boundaries of `totals` and are looked at again only when something of their handler has changed.
///
/// Of every handler the last records and the last failed one stay, and of what failed and waits for somebody as many as
/// there may be records.
///
/// Where it takes up more bytes than it may, the oldest outputs go first, those of earlier attempts before all others,
/// while they are more than half of it; then the oldest records; and of those that stay the oldest lose their events. The file keeps the room, and what comes next is
/// written there.
struct HistoryTrim {
    typealias Position = HistoryQuery.Position

    /// Records of every handler that stay however old they are.
    static let keptOfHandler = 10
    static let usualBudget = 256

    let database: Database
    let limit: Int
    /// Bytes of it all.
    let bytes: Int
    /// Records that ended before are too old.
    let oldest: Int64
    var totals: HistoryTotals

    /// Records to look at; the more have come, the more.
    private var budget: Int
    private let runs: [HistoryRun]
    private var kept: [String: Kept] = [:]

    private struct Kept {
        /// And everything after it.
        var first: Position
        var lastFailed: Position?
    }

    init(_ database: Database, _ limits: HistoryLimits, now: Int64, _ totals: HistoryTotals) throws(StoreError) {
        self.database = database
        self.totals = totals
        limit = max(0, limits.records)
        bytes = max(0, limits.bytes)
        oldest = limits.age >= now ? .min : now - max(0, limits.age)
        runs = try HistoryRun.all(database)
        try self.totals.count(runs, database)
        budget = Self.usualBudget + 2 * self.totals.added
        self.totals.added = 0
    }

    /// Without the records that only those after them would take away: of every handler the last ones and the last
    /// failed one are left. Operations that have had attempts before are left too, so that those go with them.
    static func withoutShortLived(_ changes: [StoreChange]) -> [StoreChange] {
        var seen: [String: (records: Int, hasFailed: Bool)] = [:]
        let left = changes.reversed().filter { change in
            guard case .record(let row) = change else { return true }
            var (records, hasFailed) = seen[row.handler] ?? (0, false)
            let isLastFailed = row.isFailure && !hasFailed
            let stays = records < keptOfHandler || isLastFailed || row.attempt > 1
            hasFailed = hasFailed || isLastFailed
            records += 1
            seen[row.handler] = (records, hasFailed)
            return stays
        }
        return left.reversed()
    }

    /// True: there may be more to do.
    mutating func run() throws(StoreError) -> Bool {
        try removeOutputs(downTo: bytes / 2)
        if totals.areRecordsCounted {
            try passRecords()
            try passFailures()
        }
        try passTouched()
        if totals.recent == 0 { try removeEvents() }
        try removeAttempts()
        return budget <= 0 || totals.unseenAttempts != nil || totals.bytes == nil
    }

    private var isTooLarge: Bool { totals.bytes.map { $0 > bytes } ?? false }

    /// Moves the boundary on to where the limits are.
    private mutating func passRecords() throws(StoreError) {
        while budget > 0 {
            let wanted = min(max(totals.recent - limit, 1), budget)
            let positions = try HistoryRange(after: totals.boundary).oldest(wanted, of: runs, database)
            for position in positions {
                guard totals.recent > limit || position.ended < oldest || isTooLarge else { return }
                totals.boundary = position
                totals.recent -= 1
                try removeUnlessKept(position)
            }
            if positions.isEmpty { return }
        }
    }

    private mutating func passFailures() throws(StoreError) {
        while budget > 0, totals.failed > limit {
            let wanted = min(totals.failed - limit, budget)
            let positions = try HistoryRange(after: totals.failedBoundary).oldest(
                wanted, of: HistoryRun.unsettled, database)
            for position in positions {
                totals.failedBoundary = position
                totals.failed -= 1
                if position <= totals.boundary { try removeUnlessKept(position) } else { budget -= 1 }
            }
            if positions.isEmpty { return }
        }
    }

    private mutating func passTouched() throws(StoreError) {
        if totals.boundary.ended == .min { return totals.touched.removeAll() }
        while budget > 0, let handler = totals.touched.first {
            for run in runs where budget > 0 {
                var end = totals.boundary
                if run.isUnsettled { end = min(end, totals.failedBoundary) }
                let range = HistoryRange(handler: handler, before: .init(ended: end.ended, id: end.id &+ 1))
                for position in try range.oldest(budget, of: [run], database) { try removeUnlessKept(position) }
            }
            if budget > 0 { totals.touched.remove(handler) }
        }
    }

    private mutating func removeUnlessKept(_ position: Position) throws(StoreError) {
        budget -= 1
        guard let stub = try HistoryStub.with(position.id, database) else { return }
        if stub.isUnsettled, totals.failedBoundary < position { return }
        let kept = try kept(of: stub.handler)
        if kept.first <= position || kept.lastFailed == position { return }
        try HistoryRow.remove(position.id, database, &totals)
        try HistoryRow.forget(successor: position.id, database)
        try AttemptRow.remove(of: position.id, database, &totals)
    }

    private mutating func kept(of handler: String) throws(StoreError) -> Kept {
        if let known = kept[handler] { return known }
        let range = HistoryRange(handler: handler)
        let last = try range.newest(Self.keptOfHandler, of: runs, database)
        let failed = try range.newest(1, of: runs.filter { HistoryRun.failures.contains($0.result) }, database)
        let none = HistoryRange().before
        kept[handler] = Kept(first: last.last ?? none, lastFailed: failed.first)
        return kept[handler] ?? Kept(first: none)
    }

    /// Removes the oldest outputs while the history is too large and they take up more than so many bytes.
    private mutating func removeOutputs(downTo bytes: Int) throws(StoreError) {
        let outputs = totals.outputs.bytes
        while budget > 0, isTooLarge, outputs + totals.attemptOutputs.bytes > bytes {
            let operation = try database.number("SELECT min(operation) FROM attempt_output")
            guard let operation else {
                totals.attemptOutputs.clear()
                break
            }
            try AttemptRow.removeOutputs(of: UInt64(bitPattern: operation), database, &totals)
            budget -= 1
        }
        while budget > 0, isTooLarge, totals.outputs.bytes > bytes {
            let ids = try database.rows("SELECT id FROM history_output ORDER BY id LIMIT 16", { _ in }) { $0.id(0) }
            for id in ids where isTooLarge && totals.outputs.bytes > bytes {
                try HistoryRow.removeOutput(id, database, &totals)
                budget -= 1
            }
            if ids.isEmpty { return totals.outputs.clear() }
        }
    }

    private mutating func removeEvents() throws(StoreError) {
        while budget > 0, isTooLarge {
            let ids = try database.rows("SELECT id FROM history_events ORDER BY id LIMIT 16", { _ in }) { $0.id(0) }
            for id in ids where isTooLarge {
                try HistoryRow.removeEvents(id, database, &totals)
                budget -= 1
            }
            if ids.isEmpty { return totals.events.clear() }
        }
    }

    /// Of operations that neither run nor have ended: what the process before this one could not bring to an end.
    private mutating func removeAttempts() throws(StoreError) {
        guard budget > 0, let unseen = totals.unseenAttempts else { return }
        let operations = try database.rows(
            """
            SELECT DISTINCT operation FROM attempt WHERE operation >= ?1 AND operation <= ?2
            ORDER BY operation LIMIT 64
            """,
            {
                $0.bind(1, unseen.lowerBound)
                $0.bind(2, unseen.upperBound)
            }, { $0.number(0) })
        for id in operations {
            let known = try database.number(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM operation WHERE id = ?1)
                OR EXISTS (SELECT 1 FROM history WHERE id = ?1)
                """
            ) { $0.bind(1, id) }
            if known == nil { try AttemptRow.remove(of: UInt64(bitPattern: id), database, &totals) }
        }
        let last = operations.last ?? unseen.upperBound
        totals.unseenAttempts = last < unseen.upperBound ? last + 1...unseen.upperBound : nil
    }
}
