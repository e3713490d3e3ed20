import WatchFile

/// A queue as the scheduler knows it: its rules, its place among the others, and who stands there.
struct Lane: Sendable {
    /// The scheduler's part of a queue's definition.
    struct Rules: Equatable, Sendable {
        var width = 1
        var isSerial = true
        var isDurable = false
        /// `main` waits for a reload.
        var isMain = false

        init() {}

        init(_ definition: QueueDefinition) {
            if case .concurrent(let width) = definition.kind { self.width = width }
            isSerial = definition.kind == .serial
            isDurable = definition.isDurable
            isMain = definition.name == "main"
        }
    }

    /// The line in which a queue stands with the operation it wants to start.
    struct Standing: Equatable, Sendable {
        enum Spot: Equatable, Sendable {
            /// The line of those that need no process slot.
            case agenda
            case slots
            /// Before a target without free width.
            case target(Int)
        }

        var ticket: Ticket
        var spot: Spot
    }

    var rules = Rules()
    var isInUse = false
    var isSuspended = false
    /// Cancellations of the whole queue that are on their way.
    var cancellations = 0

    // MARK: Its place among the queues

    /// Itself, its target, the target's target ….
    var chain: [Int] = []
    /// Itself and every queue that runs through it.
    var through: [Int] = []
    /// The lowest of its own QoS and its targets'.
    var qos = QoS.default
    /// The highest of those who wait for operations of its own, and the last place that it counts for.
    var urgency = QoS.background
    var urgentUpTo: UInt64 = 0

    // MARK: Contenders in the lane

    /// On a concurrent queue: those that are ready, but for barriers. On a serial one: all that have not ended.
    var line = QueueLine()
    /// Its barriers, and what runs through it before and behind them.
    var barriers = BarrierLine()
    /// Runs that take its width: its own and those that run through it.
    var runsThrough = 0
    /// Operations that run through it and wait for semaphores.
    var parked = ParkedLines()
    var standing: Standing?
    /// Queues that run through it and found no width.
    var contenders = Heap<SlotLines.Contender>()
    /// Queues that found a barrier of this one before them.
    var behindBarrier: [Int] = []
    var rate = RateGate()
    var mark = WorkList.Mark()

    var hasWidth: Bool { runsThrough < rules.width }

    /// Its lines are about to be formed anew.
    mutating func clear() {
        line = QueueLine()
        barriers = BarrierLine(running: barriers.running)
        runsThrough = 0
        parked = ParkedLines()
        standing = nil
        contenders = Heap()
        behindBarrier = []
        mark.isWide = false
    }
}

extension [Lane] {
    func isStanding(_ contender: SlotLines.Contender, at spot: Lane.Standing.Spot) -> Bool {
        self[contender.queue].standing == Lane.Standing(ticket: contender.ticket, spot: spot)
    }
}
