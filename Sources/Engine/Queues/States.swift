import WatchFile

/// One suspension of a source or queue; they are counted.
package struct Suspension: Equatable, Sendable {
    /// As it stands for one that the watch file asks for. No user has a blank in the name.
    package static let watchFile = "watch file"

    /// `watchFile`, or who asked.
    package var by: String
    package var reason: String?
    /// Wall clock, microseconds.
    package var since: Int64
    package var until: Int64?
    /// The same on the boot clock, which nobody sets.
    var resumesAt: Int64?

    /// A person asked for it.
    var isMade: Bool { by != Self.watchFile }

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
    var definition: SharedDefinition { didSet { traits = Traits(definition.value) } }
    private(set) var traits: Traits
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
    /// The sources (`[Group]`) whose member it is.
    var groups: [Int] = []
    /// `Stream=`: its workers.
    var crew: Int?

    init(definition: SharedDefinition) {
        self.definition = definition
        traits = Traits(definition.value)
    }

    var name: String { definition.value.name }
}

struct QueueState: Named {
    var definition: QueueDefinition
    var name: String { definition.name }
    var counters = Counters()
    var isRemoved = false
    var suspensions: [Suspension] = []

    /// `Environment=` of its targets and its own.
    var environment: [EnvironmentVariable] = []

    /// Operations that were never started, oldest first.
    var arrivals = Deque<OperationRef>()
    /// Entries that wait.
    var load = Load()
    /// Operations that do not run.
    var waiting = 0
    /// Operations of its own that run.
    var running = 0
    /// Sources held back because this queue is full.
    var heldSources = WaitingLine()
    /// Its finalizer has been started.
    var isFinalized = false

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
