/// What `watchd-bench exit` tells; times in µs, memory in KiB.
struct ExitResult: Encodable, CustomStringConvertible {
    struct Round: Encodable {
        /// From the first signal to the moment the last end was told.
        var time: Int64
        /// On a processor, for each end.
        var processor: Double
        /// PSS while all were watched; 0 of the floor, which is a part of the benchmark.
        var memory: Int
    }

    var watchd: String
    var machine: Machine
    var processes: Int
    /// Of watchd, and of a bare loop, in turn.
    var watched: [Round]
    var floor: [Round]

    var description: String {
        var table = Table()
        table.add("", "watchd", "bare epoll loop")
        add(to: &table, "until all ends are told, ms") { Double($0.time) / 1000 }
        add(to: &table, "on a processor for each end, µs") { $0.processor }
        let memory = Rounds(watched.map { Double($0.memory) / 1024 })
        return """
            \(watchd), \(processes) processes end at once
            \(machine)

            \(table)
            PSS while all are watched: \(memory.median.text(1)) MB
            """
    }

    private func add(to table: inout Table, _ name: String, _ value: (Round) -> Double) {
        table.add(name, text(watched.map(value)), text(floor.map(value)))
    }

    private func text(_ values: [Double]) -> String {
        let rounds = Rounds(values)
        return "\(rounds.median.text(1)) (\(rounds.low.text(1))–\(rounds.high.text(1)))"
    }
}
