/// What `watchd-bench stream` tells.
struct StreamResult: Encodable, CustomStringConvertible {
    struct OfSide: Encodable {
        var side: StreamBenchmark.Side
        /// Lines a second, round by round.
        var rates: [Double]
    }

    /// The FIFO to the floor, and with acknowledgements to without, at least.
    private static let target = 0.5

    var machine: Machine
    var lines: Int
    var events: Int
    var sides: [OfSide]

    init(_ machine: Machine, _ settings: StreamBenchmark.Settings, _ rates: [StreamBenchmark.Side: [Double]]) {
        (self.machine, lines, events) = (machine, settings.lines, settings.events)
        sides = StreamBenchmark.Side.allCases.map { OfSide(side: $0, rates: rates[$0] ?? []) }
    }

    var description: String {
        var table = Table()
        table.add("", "lines/s", "(rounds)", "ratio", "(rounds)", "to", "target")
        for side in sides {
            let rates = Rounds(side.rates)
            let other = Self.other(side.side)
            let ratios = other.map { other in
                Rounds(zip(side.rates, sides.first { $0.side == other }?.rates ?? []).map { $0 / $1 })
            }
            table.add(
                side.side.rawValue, rates.median.text(0), "(\(rates.low.text(0))–\(rates.high.text(0)))",
                ratios?.median.text(2) ?? "", ratios.map { "(\($0.low.text(2))–\($0.high.text(2)))" } ?? "",
                other?.rawValue ?? "", other == nil ? "" : "≥ \(Self.target.text(2))")
        }
        return """
            lines into one worker in C, Prefetch=1024: \(lines) from a FIFO, \(events) from 4 clients; the floor in turn
            \(machine)

            \(table)
            """
    }

    private static func other(_ side: StreamBenchmark.Side) -> StreamBenchmark.Side? {
        switch side {
        case .floor, .emit: nil
        case .fifo: .floor
        case .acknowledged: .fifo
        case .acknowledgedEmit: .emit
        }
    }
}
