import WatchFile

/// One suspension of a source or queue; they are counted.
package struct Suspension: Equatable, Sendable {
    /// `file`, or who asked.
    package var by: String
    package var reason: String?
    /// Wall clock, microseconds.
    package var since: Int64
    package var until: Int64?
    /// The same on the boot clock, which nobody sets.
    var resumesAt: Int64?

    package init(by: String, reason: String? = nil, since: Int64, until: Int64? = nil) {
        self.init(by: by, reason: reason, since: since, until: until, resumesAt: nil)
    }

    init(by: String, reason: String? = nil, since: Int64, until: Int64? = nil, resumesAt: Int64?) {
        self.by = by
        self.reason = reason
        self.since = since
        self.until = until
        self.resumesAt = resumesAt
    }
}

struct HandlerState: Named {
    var definition: SharedDefinition
    var counters = Counters()
    var isRemoved = false
    /// Operations that have not ended.
    var operations = 0
    /// How the last one ended.
    var lastResult: Result?
    var lastEnded: Int64?
    /// Whether it was done or failed last; `nil`: neither yet.
    var lastVerdict: Result?
    /// `Once=`: it has succeeded.
    var isOnceDone = false
    /// What its runs take of semaphores.
    var demands: [SemaphoreDemand] = []
    /// The sources (`[Group]`) whose member it is.
    var groups: [Int] = []

    var name: String { definition.value.name }
}

struct QueueState: Named {
    /// Where a queue stands with the operation it wants to start.
    struct Standing: Equatable, Sendable {
        enum Spot: Equatable, Sendable {
            /// What needs no process slot.
            case agenda
            case slots
            /// Before a target without free width.
            case target(Int)
        }

        var ticket: Ticket
        var spot: Spot
    }

    var definition: QueueDefinition
    var name: String { definition.name }
    var counters = Counters()
    var isRemoved = false
    var suspensions: [Suspension] = []

    // MARK: Its place among the queues

    /// Itself, its target, the target's target ….
    var chain: [Int] = []
    /// Itself and every queue that runs through it.
    var through: [Int] = []
    /// The lowest of its own QoS and its targets'.
    var qos = QoS.default
    /// `Environment=` of its targets and its own.
    var environment: [EnvironmentVariable] = []

    // MARK: Who waits

    /// On a concurrent queue: those that are ready, but for barriers. On a serial one: all that have not ended.
    var line = QueueLine()
    /// Its barriers, and what runs through it before and behind them.
    var barriers = BarrierLine()
    /// Operations that were never started, oldest first.
    var arrivals = Deque<OperationRef>()
    /// Entries that wait.
    var load = Load()
    /// Operations that do not run.
    var waiting = 0
    /// Operations of its own that run.
    var running = 0
    /// Barriers of its own that run.
    var runningBarriers = 0
    /// Runs that take its width: its own and those that run through it.
    var runsThrough = 0
    /// Operations that run through it and wait for semaphores.
    var parkedThrough = 0
    /// Of a concurrent queue: operations of its own that wait for semaphores, but for barriers.
    var parked = ParkedLines()
    var standing: Standing?
    /// Queues that run through it and found no width.
    var contenders = Heap<SlotLines.Contender>()
    /// Queues that found a barrier of this one before them.
    var behindBarrier: [Int] = []
    var rate = RateWindow()
    /// Monotonic microsecond at which `RateLimit=` lets the next one start.
    var rateDeadline: Int64?
    /// Sources held back because this queue is full.
    var heldSources = WaitingLine()
    /// Its finalizer has been started.
    var isFinalized = false
    /// Stands on the work-list.
    var isDirty = false
    var isWide = false

    var width: Int { if case .concurrent(let width) = definition.kind { width } else { 1 } }
    var isSerial: Bool { definition.kind == .serial }
    /// A barrier means nothing on a serial queue, and on a global one it is refused or, with `run`, left out of
    /// account.
    var takesBarriers: Bool { !isSerial && !QueueDefinition.builtInNames.contains(definition.name) }
    var isSuspended: Bool { !suspensions.isEmpty }
    /// Sources that were held back may go on.
    var hasRoom: Bool { load.isRoomy(within: definition.bound) }
    var entries: Int { load.entries }
    /// Which of its bounds is used up, or holds sources back; `nil`: neither.
    var fullness: Load.Measure? { load.fullness(within: definition.bound, isWaitedFor: !heldSources.isEmpty) }
    var holdsBack: Bool { definition.overflow == .block }
    var isEmpty: Bool { waiting + running == 0 }
}

extension Registry<QueueState> {
    func isStanding(_ contender: SlotLines.Contender, at spot: QueueState.Standing.Spot) -> Bool {
        self[contender.queue].standing == QueueState.Standing(ticket: contender.ticket, spot: spot)
    }
}
