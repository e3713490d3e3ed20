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
    /// Stands in the line for process slots, with its first operation.
    var isStarved = false
    /// Sources held back because this queue is full.
    var heldSources: Set<Int> = []

    var width: Int { if case .concurrent(let width) = definition.kind { width } else { 1 } }
    var isSerial: Bool { definition.kind == .serial }
    var isSuspended: Bool { !suspensions.isEmpty }
    /// A source that was held back may go on.
    var hasRoom: Bool { entries * 8 < definition.backlog * 7 }
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

/// Events of a source that is held back or suspended, folded as far as their kind allows.
struct HeldEvents: Sendable {
    /// Values of real-time signals kept.
    static let signalValues = 4096

    private var list = EntryList()

    var isEmpty: Bool { list.isEmpty }
    var count: Int { list.count }
    var oldest: Event? { list.oldest }
    var deliveries: Int { list.deliveries }

    /// Returns the deliveries (for one handler) that came to nothing, or `nil`: there was no room.
    mutating func add(_ event: Event, merge: CustomTrigger.Merge?, limit: Int) -> Int? {
        if case .signal(let fact) = event.fact { return addSignal(event, fact) ? 0 : nil }
        var merge = merge
        if case .timer = event.fact { merge = .add }
        if case .path = event.fact { merge = .add }
        if list.count >= limit {
            guard let merge, list.wouldMerge(event, merge: merge) else { return nil }
        }
        return list.add(event, merge: merge).annulled
    }

    mutating func removeOldest() -> Event? { list.removeOldest() }

    private mutating func addSignal(_ event: Event, _ fact: SignalFact) -> Bool {
        if list.replaceLast(where: {
            guard case .signal(let other) = $0.fact else { return nil }
            let isSame = other.number == fact.number && other.senderPID == fact.senderPID
            guard isSame, fact.number < LinuxSignal.realTimeMinimum, other.senderUID == fact.senderUID else {
                return nil
            }
            return Event(id: event.id, time: event.time, count: $0.count + event.count, fact: event.fact)
        }) {
            return true
        }
        guard list.count < Self.signalValues else { return false }
        _ = list.add(event, merge: nil)
        return true
    }
}
