import ControlInterface
import Schedule

/// The table of what has ended, newest first, with a heading for each day.
struct FinishedTable {
    let screen: Screen
    /// Runs of one handler that went well one after the other share a line.
    var isFolding = true
    /// With what each has used, where there is room.
    var isOfResources = false

    /// Operations that share a line: one, or several that went well.
    private struct Row {
        var operations: [OperationSummary]
        var day: Int?

        var newest: OperationSummary { operations[0] }
    }

    /// - Parameter limit: lines at most, without headings.
    func lines(_ operations: [OperationSummary], atMost limit: Int = .max) -> [Styled] {
        let rows = Array(rows(operations).prefix(limit))
        guard !rows.isEmpty else { return [] }
        var table = Table([
            .init(title: "FINISHED"), .init(title: "ID"), .init(title: "HANDLER", yields: true),
            .init(title: "RESULT", isFlexible: true), .init(title: "TOOK", isNumber: true, rank: 1),
            .init(title: "TRY", isNumber: true, rank: 2), .init(title: "CPU", isNumber: true, rank: 4, isRare: true),
            .init(title: "MEMORY", isNumber: true, rank: 3, isRare: true),
            .init(title: "CAUSE", isFlexible: true, isWrapped: true),
        ])
        for row in rows { table.add(cells(row)) }
        let blocks = table.blocks(width: screen.width)
        return blocks[0] + byDay(zip(rows, blocks.dropFirst()))
    }

    private func rows(_ operations: [OperationSummary]) -> [Row] {
        var rows: [Row] = []
        for operation in operations {
            let day = screen.instant(operation.ended).map(screen.local.dayNumber)
            if let last = rows.last, last.day == day, Self.mayFold(operation), Self.mayFold(last.newest), isFolding,
                last.newest.handler == operation.handler
            {
                rows[rows.endIndex - 1].operations.append(operation)
            } else {
                rows.append(Row(operations: [operation], day: day))
            }
        }
        return rows
    }

    /// There is nothing to say of it but that it went well. Of commands each is another one.
    private static func mayFold(_ operation: OperationSummary) -> Bool {
        operation.handler != Submit.handlerName && operation.result == .done && operation.attempt <= 1
            && !operation.redelivered
    }

    private func cells(_ row: Row) -> [Styled] {
        let newest = row.newest
        let count = row.operations.count
        let took = row.operations.compactMap(\.tookUsec)
        return [
            Styled("  " + screen.clock(newest.ended)), Styled("\(newest.id)" + (count > 1 ? "…" : "")),
            Styled(newest.handler),
            count > 1 ? OperationText.result(newest) + Styled(", \(count) times") : OperationText.ended(newest),
            Styled(OperationText.took(took.isEmpty ? nil : took.reduce(0, +))),
            Styled(OperationText.attempt(newest)), Styled(processorTime(row)), Styled(memory(row)),
            Styled(count > 1 ? cause(row) : OperationText.cause(newest)),
        ]
    }

    private func processorTime(_ row: Row) -> String {
        let times = row.operations.compactMap(\.used?.cpuUsec)
        return isOfResources && !times.isEmpty ? OperationText.processorTime(times.reduce(0, +)) : ""
    }

    /// Of the largest.
    private func memory(_ row: Row) -> String {
        let largest = row.operations.compactMap(\.used?.peakMemoryBytes).max()
        return isOfResources ? largest.map(Phrases.bytes) ?? "" : ""
    }

    /// `path/uploads, 11 events  (--all: each)`, `timer/nightly, run by hand  (--all: each)`.
    private func cause(_ row: Row) -> String {
        let byHand = row.operations.count { $0.byHand == true }
        let sources = Set(row.operations.map { $0.source ?? "" })
        let events = Phrases.count(row.operations.reduce(0) { $0 + $1.entries }, "event")
        let source = sources.count == 1 ? sources.first.flatMap { $0.isEmpty ? nil : $0 + ", " } : nil
        let what =
            byHand == row.operations.count
            ? EventText.byHand : byHand > 0 ? "\(events), \(Phrases.count(byHand)) \(EventText.byHand)" : events
        return (source ?? "") + what + "  (--all: each)"
    }

    /// The lines of the rows, with a heading above the first row of each day.
    private func byDay(_ blocks: some Sequence<(Row, [Styled])>) -> [Styled] {
        var result: [Styled] = []
        var day: Int?
        for (row, lines) in blocks {
            if let ended = screen.instant(row.newest.ended), row.day != day {
                day = row.day
                result.append(Styled(heading(ended), .dim))
            }
            result += lines
        }
        return result
    }

    private func heading(_ ended: Timestamp) -> String {
        let date = screen.local.day(ended, now: screen.now)
        return switch screen.local.dayNumber(screen.now) - screen.local.dayNumber(ended) {
        case 0: "today, \(date)"
        case 1: "yesterday, \(date)"
        default: date
        }
    }
}
