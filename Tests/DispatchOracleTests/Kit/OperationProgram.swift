import SeedKit

/// A program for operation queues; numbers in steps as in `DispatchProgram`.
struct OperationProgram {
    struct Part: Equatable {
        var queue: Int
        /// 0, the lowest, to 4.
        var priority: Int
        /// Earlier parts of the same batch.
        var after: [Int]
    }

    enum Step {
        /// Parts that one event starts together.
        case add(batch: Int)
        case end(Int)
        case cancel(Int)
        case cancelAll(Int)
        case suspend(Int)
        case resume(Int)
    }

    static let priorities = ["very low", "low", "normal", "high", "very high"]
    /// More than ever run at once.
    static let wide = 1_000

    /// How many may run at once.
    var widths: [Int] = []
    var batches: [[Part]] = []
    var steps: [Step] = []

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        widths = (0...random.upTo(3)).map { _ in random.pick([1, 1, 2, 3, Self.wide]) }
        let isBusy = random.chance(50)
        for _ in 0..<(6 + random.upTo(20)) { steps.append(step(isBusy, &random)) }
    }

    private mutating func step(_ isBusy: Bool, _ random: inout SeededGenerator) -> Step {
        switch random.upTo(99) {
        case ..<(isBusy ? 45 : 32):
            batches.append((0...random.upTo(3)).map { part($0, &random) })
            return .add(batch: batches.count - 1)
        case ..<70: return .end(random.upTo(9))
        case ..<82: return .cancel(random.upTo(9))
        case ..<84: return .cancelAll(random.upTo(9))
        case ..<91: return .suspend(random.upTo(9))
        default: return .resume(random.upTo(9))
        }
    }

    private func part(_ index: Int, _ random: inout SeededGenerator) -> Part {
        let after = (0..<index).filter { _ in random.chance(40) }
        let priority = random.chance(40) ? 2 : random.upTo(4)
        return Part(queue: random.upTo(widths.count - 1), priority: priority, after: after)
    }

    /// What a part is called in the watch file.
    static func name(_ batch: Int, _ part: Int) -> String { "e\(batch).\(part)" }
}
