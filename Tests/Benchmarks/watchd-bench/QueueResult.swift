/// What `watchd-bench queue` tells.
struct QueueResult: Encodable, CustomStringConvertible {
    struct OfLoad: Encodable {
        var queues: Int
        var pending: Int
        /// Nanoseconds of a processor for an operation, round by round.
        var times: [Double]
        /// For each operation that waits.
        var bytes: Double

        var perSecond: Rounds { Rounds(times.map { 1_000_000_000 / $0 }) }
    }

    struct Targets: Encodable {
        /// Operations a second, at least.
        var perSecond = 300_000.0
        /// The cost of an operation among 100 000 over that among 1 000, at most.
        var ratio = 1.3
        /// Bytes for each operation that waits, at most.
        var bytes = 640.0
    }

    struct Ratio: Encodable {
        var queues: Int
        var ratio: Rounds
    }

    var machine: Machine
    var rounds: Int
    var operations: Int
    var loads: [OfLoad]
    var ratios: [Ratio]
    var targets = Targets()
    var beside: BesideResult

    init(machine: Machine, rounds: Int, operations: Int, loads: [OfLoad], beside: BesideResult) {
        self.machine = machine
        self.rounds = rounds
        self.operations = operations
        self.loads = loads
        self.beside = beside
        func times(_ queues: Int, _ pending: Int) -> [Double] {
            loads.first { $0.queues == queues && $0.pending == pending }?.times ?? []
        }
        ratios = QueueBenchmark.queueCounts.map { queues in
            Ratio(queues: queues, ratio: Rounds(zip(times(queues, 100_000), times(queues, 1000)).map { $0 / $1 }))
        }
    }

    var description: String {
        var table = Table()
        table.add("queues", "waiting", "operations/s", "(rounds)", "time for one", "bytes for one")
        for load in loads {
            let perSecond = load.perSecond
            table.add(
                "\(load.queues)", "\(load.pending)", perSecond.median.text(0),
                "(\(perSecond.low.text(0))–\(perSecond.high.text(0)))",
                "\((Rounds(load.times).median / 1000).text(2)) µs",
                load.bytes.text(0))
        }
        table.add("target", "", "≥ \(targets.perSecond.text(0))", "", "", "≤ \(targets.bytes.text(0))")
        return """
            operations through the engine: submitted, started, ended; \(EngineLoad.suspended) more wait in a suspended \
            queue, one in \(EngineLoad.barrierSpacing) is a barrier
            \(machine)
            \(rounds) rounds of \(operations) operations for each, in turn; medians of the rounds.

            \(table)

            \(verdicts.joined(separator: "\n"))

            \(beside)
            """
    }

    private var verdicts: [String] {
        let slowest = loads.map(\.perSecond.median).min() ?? 0
        let largest = loads.map(\.bytes).max() ?? 0
        return ratios.map { ratio in
            "\(ratio.queues) queue\(ratio.queues == 1 ? "" : "s"), cost at 100 000 : 1 000 waiting: "
                + "\(ratio.ratio.median.text(2)) (\(ratio.ratio.low.text(2))–\(ratio.ratio.high.text(2))), "
                + "target ≤ \(targets.ratio.text(2)): \(met(ratio.ratio.median <= targets.ratio))"
        } + [
            "operations/s, target ≥ \(targets.perSecond.text(0)): \(met(slowest >= targets.perSecond))",
            "bytes, target ≤ \(targets.bytes.text(0)): \(met(largest <= targets.bytes))",
        ]
    }

    private func met(_ isMet: Bool) -> String { isMet ? "met" : "MISSED" }
}
