import WatchFile

/// The process slots (`MaxProcesses=`), and which queue gets the next one.
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
    /// By rank.
    private static let classes = QoS.allCases

    private(set) var maxProcesses: Int
    /// Commands that run.
    private(set) var taken = 0
    /// Since when all are taken, on the wall clock (microseconds); `nil`: there is a free one.
    private(set) var fullSince: Int64?
    private var lines = InlineArray<5, Heap<Contender>> { _ in Heap() }
    private var startsSinceTurn = 0

    init(maxProcesses: Int) { self.maxProcesses = maxProcesses }

    /// The slots that a class may fill: others than `user-interactive` not all.
    func limit(_ qos: QoS) -> Int {
        guard qos != .userInteractive, maxProcesses > 1 else { return maxProcesses }
        return maxProcesses - max(1, maxProcesses / 8)
    }

    func isFree(for qos: QoS) -> Bool { taken < limit(qos) }

    /// `realtime`: now, on the wall clock.
    mutating func take(realtime: Int64) {
        taken += 1
        startsSinceTurn = (startsSinceTurn + 1) % Self.turnOfLowerClasses
        if taken >= maxProcesses, fullSince == nil { fullSince = realtime }
    }

    mutating func give() {
        taken -= 1
        if taken < maxProcesses { fullSince = nil }
    }

    mutating func resize(_ maxProcesses: Int) {
        self.maxProcesses = maxProcesses
        if taken < maxProcesses { fullSince = nil }
    }

    mutating func insert(_ contender: Contender, _ qos: QoS) { lines[qos.rank].insert(contender) }

    /// The contender whose turn it is. Contenders that no longer stand here are dropped.
    mutating func first(in lanes: [Lane]) -> (contender: Contender, qos: QoS)? {
        var highest: (contender: Contender, qos: QoS)?
        var lower: (contender: Contender, qos: QoS)?
        for rank in lines.indices where lines[rank].count > 0 {
            let qos = Self.classes[rank]
            guard isFree(for: qos) else { continue }
            while let first = lines[rank].first, !lanes.isStanding(first, at: .slots) { lines[rank].removeFirst() }
            guard let first = lines[rank].first else { continue }
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

    mutating func clear() { for rank in lines.indices { lines[rank] = Heap() } }

    /// Drops those who gave their places up, once they are many.
    mutating func trim(in lanes: [Lane]) {
        for rank in lines.indices where lines[rank].count > 2 * lanes.count + 64 {
            lines[rank].removeAll { !lanes.isStanding($0, at: .slots) }
        }
    }
}
