/// What the engine costs beside Dispatch and `OperationQueue`.
struct BesideResult: Encodable, CustomStringConvertible {
    /// For an operation, nanoseconds.
    struct Round: Encodable {
        /// Of all processors.
        var processor: Double
        /// That pass.
        var time: Double
    }

    struct OfSide: Encodable {
        var contender: Contender
        /// 1: serial.
        var width: Int
        var rounds: [Round]
        /// For an operation.
        var instructions: Double?
    }

    /// `nil`: instructions cannot be counted here.
    var means: Instructions.Means?
    var sides: [OfSide]

    /// The engine's processor time over that of another one, round by round.
    private func ratio(_ side: OfSide) -> Rounds? {
        guard side.contender != .engine, let engine = engine(side.width) else { return nil }
        return Rounds(zip(engine.rounds, side.rounds).map { $0.processor / $1.processor })
    }

    private func engine(_ width: Int) -> OfSide? { sides.first { $0.contender == .engine && $0.width == width } }

    var description: String {
        var table = Table()
        table.add("", "width", "processor", "time", "instructions", "engine : this", "(rounds)", "instructions")
        for side in sides {
            let ratio = ratio(side)
            let counts = side.instructions.flatMap { count in
                engine(side.width)?.instructions.map { ($0 / count).text(2) }
            }
            table.add(
                side.contender.text, "\(side.width)",
                "\((Rounds(side.rounds.map(\.processor)).median / 1000).text(2)) µs",
                "\((Rounds(side.rounds.map(\.time)).median / 1000).text(2)) µs",
                side.instructions?.text(0) ?? "–", ratio?.median.text(2) ?? "",
                ratio.map { "(\($0.low.text(2))–\($0.high.text(2)))" } ?? "", ratio == nil ? "" : counts ?? "–")
        }
        let counted =
            means.map { "counted by \($0.rawValue)" }
            ?? "not counted: perf_event_open(2) is refused, and there is no valgrind"
        return """
            the same work in turn: \(Contender.batch) operations that do nothing, submitted to a suspended queue, which \
            is then resumed
            The engine also keeps counts, reasons and what a handler is told; Dispatch's concurrent queue is as wide as \
            there are processors.
            Figures are for one operation; instructions are \(counted).

            \(table)
            """
    }
}
