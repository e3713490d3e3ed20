import WatchFile

/// Which queue gets the next process slot (`MaxProcesses=`).
///
/// Higher QoS first, within a class by the age of the operation; but every 16th start goes to the oldest of a lower
/// class, so that nobody starves. One slot in eight is kept for `user-interactive`.
struct SlotLines: Sendable {
    /// A queue with the operation it wants to start.
    struct Contender: Comparable, Sendable {
        var ticket: Ticket
        var queue: Int

        static func < (left: Contender, right: Contender) -> Bool { left.ticket < right.ticket }
    }

    static let turnOfLowerClasses = 16

    private var lines = InlineArray<5, Heap<Contender>> { _ in Heap() }
    private var startsSinceTurn = 0

    /// How many slots others than `user-interactive` may fill.
    static func limit(_ qos: QoS, maxProcesses: Int) -> Int {
        guard qos != .userInteractive, maxProcesses > 1 else { return maxProcesses }
        return maxProcesses - max(1, maxProcesses / 8)
    }

    mutating func insert(_ contender: Contender, _ qos: QoS) { lines[qos.rank].insert(contender) }

    /// Whose turn it is. Who does not stand here any more is dropped.
    mutating func first(
        processes: Int, maxProcesses: Int, in queues: Registry<QueueState>
    ) -> (contender: Contender, qos: QoS)? {
        var highest: (contender: Contender, qos: QoS)?
        var lower: (contender: Contender, qos: QoS)?
        for qos in QoS.allCases where processes < Self.limit(qos, maxProcesses: maxProcesses) {
            while let first = lines[qos.rank].first, !queues.isStanding(first, at: .slots) {
                lines[qos.rank].removeFirst()
            }
            guard let first = lines[qos.rank].first else { continue }
            if highest == nil {
                highest = (first, qos)
                if startsSinceTurn < Self.turnOfLowerClasses - 1 { break }
            } else if lower.map({ first < $0.contender }) ?? true {
                lower = (first, qos)
            }
        }
        return lower ?? highest
    }

    mutating func remove(_ contender: Contender, _ qos: QoS) {
        if lines[qos.rank].first == contender { lines[qos.rank].removeFirst() }
    }

    /// A slot was taken.
    mutating func started() { startsSinceTurn = (startsSinceTurn + 1) % Self.turnOfLowerClasses }

    mutating func clear() { for rank in lines.indices { lines[rank] = Heap() } }

    /// Drops those who gave their places up, once they are many.
    mutating func trim(in queues: Registry<QueueState>) {
        for rank in lines.indices where lines[rank].count > 2 * queues.count + 64 {
            lines[rank].removeAll { !queues.isStanding($0, at: .slots) }
        }
    }
}
