/// What `watchd-bench spawn` tells.
struct SpawnResult: Encodable, CustomStringConvertible {
    struct OfSide: Encodable {
        var side: SpawnBenchmark.Side
        var rounds: [SpawnBenchmark.Round]
    }

    /// Of the floor's rate, at least.
    private static let target = 0.9

    var machine: Machine
    var operations: Int
    var width: Int
    var sides: [OfSide]

    init(
        _ machine: Machine, _ settings: SpawnBenchmark.Settings,
        _ rounds: [SpawnBenchmark.Side: [SpawnBenchmark.Round]]
    ) {
        (self.machine, operations, width) = (machine, settings.operations, settings.width)
        sides = SpawnBenchmark.Side.allCases.compactMap { side in
            rounds[side].map { OfSide(side: side, rounds: $0) }
        }
    }

    var description: String {
        var table = Table()
        table.add("", "starts/s", "(rounds)", "÷ floor", "(rounds)", "daemon CPU a run, µs")
        let floor = sides.first { $0.side == .floor }?.rounds ?? []
        for side in sides {
            let rates = Rounds(side.rounds.map(\.rate))
            let ratios = Rounds(zip(side.rounds, floor).map { $0.rate / $1.rate })
            table.add(
                side.side.rawValue, rates.median.text(0), "(\(rates.low.text(0))–\(rates.high.text(0)))",
                ratios.median.text(2), "(\(ratios.low.text(2))–\(ratios.high.text(2)))",
                Rounds(side.rounds.map(\.processor)).median.text(1))
        }
        table.add("target", "", "", "≥ \(Self.target.text(2))", "", "")
        return """
            \(operations) pending operations of a program that does nothing, \(width) at once; the floor in turn
            \(machine)

            \(table)
            """
    }
}
