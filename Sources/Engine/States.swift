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
}

struct HandlerState: Sendable {
    var definition: SharedDefinition
    var counters = Counters()
    var isRemoved = false
    /// Operations that have not ended.
    var operations = 0
    var lastResult: Result?
    var lastEnded: Int64?

    var name: String { definition.value.name }
}

struct QueueState: Sendable {
    var definition: QueueDefinition
    var counters = Counters()
    var isRemoved = false
    var suspensions: [Suspension] = []
    /// Those that may start when their turn comes; on a serial queue also those that wait for their key.
    var line = QueueLine()
    /// Every waiting operation, oldest first.
    var arrivals = Deque<OperationRef>()
    /// Entries and operations that wait.
    var entries = 0
    var waiting = 0
    var running = 0
    /// The operation with which it stands in the line for process slots.
    var standing: OperationRef?
    /// Sources held back because this queue is full.
    var heldSources = WaitingLine()
    /// Stands on the work-list.
    var isDirty = false

    var width: Int { if case .concurrent(let width) = definition.kind { width } else { 1 } }
    var isSerial: Bool { definition.kind == .serial }
    var isSuspended: Bool { !suspensions.isEmpty }
    /// Sources that were held back may go on.
    var hasRoom: Bool { entries * 8 < definition.backlog * 7 }
    var holdsBack: Bool { definition.overflow == .block }
}

struct SourceState: Sendable {
    struct Target: Equatable, Sendable {
        var handler: Int
        var queue: Int
    }

    let origin: Origin
    /// `nil`: made by watchd itself.
    var definition: SourceDefinition?
    var targets: [Target] = []
    var counters = Counters()
    var isRemoved = false
    var suspensions: [Suspension] = []
    var condition = SourceCondition.opening
    var held = HeldEvents()
    /// The rim has been told to hold it.
    var isHeldInRim = false
    var timer = TimerState()
    var operations = 0
    var lastEvent: Int64?

    var isSuspended: Bool { !suspensions.isEmpty }

    /// How events of one key combine while they wait; `nil`: not at all.
    var merge: CustomTrigger.Merge? {
        guard let definition else { return .add }
        guard definition.coalesces, definition.key != .none else { return nil }
        if case .custom(let custom) = definition.trigger { return custom.merge }
        return .add
    }
}
