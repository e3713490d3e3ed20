import SeedKit

/// A program for queues: what there is, and what is done to it step by step.
///
/// A number in a step means one of those there are when its turn comes (counted round), so that a program from which
/// steps were taken out is still a program; a step that the rules do not allow then (`Ledger`) is passed over.
struct DispatchProgram {
    /// What hangs together by targets; `Ledger` says what may be done with each and why.
    enum Tree: CaseIterable {
        /// One queue without a target.
        case alone
        /// Each queue has at most one child; work comes in at the end.
        case chain
        /// Children that only pass on, under a queue that takes turns.
        case fan
        /// Children of every kind, under a concurrent queue without barriers.
        case wide
    }

    struct Queue {
        var name: String
        var isConcurrent: Bool
        /// An earlier one.
        var target: Int?
        var tree: Tree
    }

    struct Submission: Hashable {
        var queue: Int
        var isBarrier = false
        var group: Int?
        /// Waits for this semaphore first.
        var semaphore: Int?
        /// Does not give it back.
        var isConsuming = false
    }

    enum Step {
        /// One after the other, without looking in between.
        case submit([Submission])
        case end(Int)
        case suspend(Int)
        case resume(Int)
        case signal(Int)
        case enter(Int)
        case leave(Int)
    }

    var queues: [Queue] = []
    /// The values of the semaphores.
    var semaphores: [Int] = []
    var groups = 0
    var steps: [Step] = []

    /// Every way to submit that occurs, with a name for it.
    var names: [Submission: String] {
        var names: [Submission: String] = [:]
        for case .submit(let submissions) in steps {
            for submission in submissions where names[submission] == nil { names[submission] = "h\(names.count)" }
        }
        return names
    }

    func children(of queue: Int) -> [Int] { queues.indices.filter { queues[$0].target == queue } }

    /// A queue and all that runs through it.
    func subtree(of queue: Int) -> [Int] { [queue] + children(of: queue).flatMap(subtree) }

    /// Its target, the target's target, and so on.
    func ancestors(of queue: Int) -> [Int] {
        guard let target = queues[queue].target else { return [] }
        return [target] + ancestors(of: target)
    }
}

// MARK: - Random programs

extension DispatchProgram {
    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0...random.upTo(2) { grow(random.pick(Tree.allCases), &random) }
        // Semaphores need some queues by themselves.
        if random.chance(30) { for _ in 0...2 { grow(.alone, &random) } }
        semaphores = (0..<random.upTo(2)).map { _ in random.upTo(2) }
        groups = random.upTo(2)
        let isBusy = random.chance(50)
        steps = (0..<(8 + random.upTo(24))).map { _ in step(isBusy: isBusy, &random) }
    }

    private mutating func add(_ tree: Tree, concurrent isConcurrent: Bool, target: Int? = nil) -> Int {
        queues.append(Queue(name: "q\(queues.count)", isConcurrent: isConcurrent, target: target, tree: tree))
        return queues.count - 1
    }

    private mutating func grow(_ tree: Tree, _ random: inout SeededGenerator) {
        let root = add(tree, concurrent: tree == .wide || random.chance(50))
        switch tree {
        case .alone: break
        case .chain:
            let middle = random.chance(50) ? add(tree, concurrent: random.chance(50), target: root) : root
            _ = add(tree, concurrent: random.chance(60), target: middle)
        case .fan:
            for _ in 0...(1 + random.upTo(1)) {
                let isConcurrent = random.chance(60)
                let child = add(tree, concurrent: isConcurrent, target: root)
                if isConcurrent, random.chance(30) { _ = add(tree, concurrent: true, target: child) }
            }
        case .wide:
            for _ in 0...(1 + random.upTo(1)) { _ = add(tree, concurrent: random.chance(50), target: root) }
        }
    }

    private func step(isBusy: Bool, _ random: inout SeededGenerator) -> Step {
        switch random.upTo(99) {
        case ..<(isBusy ? 50 : 38): return .submit((0...random.upTo(3)).map { _ in submission(&random) })
        case ..<72: return .end(random.upTo(9))
        case ..<80: return .suspend(random.upTo(9))
        case ..<90: return .resume(random.upTo(9))
        case ..<94: return .signal(random.upTo(9))
        case ..<97: return .enter(random.upTo(9))
        default: return .leave(random.upTo(9))
        }
    }

    private func submission(_ random: inout SeededGenerator) -> Submission {
        let receivers = queues.indices.filter { queues[$0].tree != .chain || children(of: $0).isEmpty }
        var submission = Submission(queue: random.pick(receivers))
        let queue = queues[submission.queue]
        submission.isBarrier = queue.isConcurrent && random.chance(30)
        if groups > 0, random.chance(40) { submission.group = random.upTo(groups - 1) }
        if !semaphores.isEmpty, queue.tree == .alone, random.chance(60) {
            submission.semaphore = random.upTo(semaphores.count - 1)
            submission.isConsuming = random.chance(20)
        }
        return submission
    }
}
