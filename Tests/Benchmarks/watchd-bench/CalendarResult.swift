/// What `watchd-bench calendar` tells.
struct CalendarResult: Encodable, CustomStringConvertible {
    struct Row: Encodable {
        var expression: String
        var kind: CalendarBenchmark.Kind
        var daylightSaving: String
        /// ns of a processor for one elapse.
        var times: Rounds
    }

    var machine: Machine
    var rounds: Int
    var elapses: Int
    var rows: [Row]
    /// µs for the next elapse of a common expression, at most.
    var target = 5.0

    var description: String {
        var table = Table()
        table.add("OnCalendar=", "", "DaylightSaving=", "µs for the next elapse", "(rounds)")
        for row in rows {
            let (low, high) = ((row.times.low / 1000).text(2), (row.times.high / 1000).text(2))
            table.add(
                row.expression, row.kind.rawValue, row.daylightSaving, (row.times.median / 1000).text(2),
                "(\(low)–\(high))")
        }
        let slowest = (rows.filter { $0.kind == .common }.map(\.times.median).max() ?? 0) / 1000
        return """
            The next elapse of calendar expressions, \(elapses) one after the other from 2026 on in \(CalendarBenchmark.zone)
            \(machine)
            \(rounds) rounds of each; medians of the rounds.

            \(table)

            the slowest of the common ones takes \(slowest.text(2)) µs, target ≤ \(target.text(0)): \
            \(slowest <= target ? "met" : "MISSED")
            """
    }
}
