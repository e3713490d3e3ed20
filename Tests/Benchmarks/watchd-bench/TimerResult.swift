/// What `watchd-bench timers` tells.
struct TimerResult: Encodable, CustomStringConvertible {
    struct Round: Encodable {
        var perSecond: Double
        /// ns on a processor for each fire.
        var processor: Double
        /// For each timer, of the allocator, beyond its configuration.
        var bytes: Double
        /// µs behind the instant it was due; nothing where none fired.
        var lateness: Percentiles?

        /// - Parameters:
        ///   - time: µs.
        ///   - processor: ns, of all fires.
        init(fires: Int, time: Int64, processor: Int64, bytes: Double, lateness: [Int64]) {
            perSecond = Double(fires) * 1_000_000 / Double(max(1, time))
            self.processor = Double(processor) / Double(max(1, fires))
            self.bytes = bytes
            self.lateness = lateness.isEmpty ? nil : Percentiles(lateness)
        }
    }

    var machine: Machine
    var timers: Int
    /// Of a round.
    var seconds: Int
    var engine: [Round]
    /// The same bytes for each timer with `OnCalendar=`.
    var calendarBytes: [Double]
    var dispatch: [Round]
    /// Bytes for each timer, at most.
    var target = 256.0

    var description: String {
        var table = Table()
        table.add("", "watchd's engine", "DispatchSourceTimer")
        add(to: &table, "fires a second", 0) { $0.perSecond }
        add(to: &table, "late, p50, µs", 0) { Double($0.lateness?.p50 ?? 0) }
        add(to: &table, "late, p99, µs", 0) { Double($0.lateness?.p99 ?? 0) }
        add(to: &table, "on a processor for each fire, µs", 2) { $0.processor / 1000 }
        add(to: &table, "bytes for each timer", 0) { $0.bytes }
        let (every, calendar) = (Rounds(engine.map(\.bytes)).median, Rounds(calendarBytes).median)
        let bytes = max(every, calendar)
        return """
            \(timers) periodic timers, which may come \(TimerBenchmark.leeway) µs late; a handler that counts
            \(machine)
            \(engine.count) rounds of \(seconds) s for each, in turn; medians of the rounds.

            \(table)

            bytes beyond the configuration with EverySec= \(every.text(0)), with OnCalendar= \(calendar.text(0)), \
            target ≤ \(target.text(0)): \(bytes <= target ? "met" : "MISSED")
            """
    }

    private func add(to table: inout Table, _ name: String, _ digits: Int, _ value: (Round) -> Double) {
        func text(_ rounds: [Round]) -> String {
            let values = Rounds(rounds.map(value))
            return "\(values.median.text(digits)) (\(values.low.text(digits))–\(values.high.text(digits)))"
        }
        table.add(name, text(engine), text(dispatch))
    }
}
