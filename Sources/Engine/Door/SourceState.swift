import WatchFile

/// A source, or what makes events in its place, as watchd itself does.
///
/// There may be a hundred thousand of them: what only few need is kept elsewhere until they do, and the definition is
/// the configuration's own.
struct SourceState: Named {
    struct Target: Equatable, Sendable {
        private let handlerIndex: Int32
        private var queueIndex: Int32

        init(handler: Int, queue: Int) {
            handlerIndex = Int32(handler)
            queueIndex = Int32(queue)
        }

        var handler: Int { Int(handlerIndex) }
        var queue: Int {
            get { Int(queueIndex) }
            set { queueIndex = Int32(newValue) }
        }
    }

    private enum Identity {
        case defined(Shared<SourceDefinition>)
        /// By watchd itself.
        indirect case made(Origin)
    }

    /// State that only some kinds of sources need, and others only while something is wrong.
    private struct Seldom: HasInitialValue {
        static let initial = Seldom()

        var suspensions: [Suspension] = []
        var silence = SilenceClock()
        /// Of a `[Group]`.
        var group = GroupState()
        var rate = RateWindow()
        /// Monotonic microsecond at which `RateLimit=` lets the next event pass.
        var rateDeadline: Int64?
        /// Of a `[Path]`.
        var unasked = UnaskedChanges()
    }

    private var identity: Identity
    var targets = TargetList()
    var counters = Counters()
    private var heldEvents = Rare<HeldEvents>()
    private var seldom = Rare<Seldom>()
    var timer = TimerState()
    var condition = SourceCondition.opening
    /// Wall clock, microseconds.
    var lastEvent: Int64?
    /// How events of one key combine while they wait; `nil`: not at all.
    private(set) var merge: CustomTrigger.Merge? = .add
    private(set) var traits = Traits()
    /// `Events=` of a `[Path]`.
    private(set) var pathEvents = PathEvents.all
    var isRemoved = false
    /// The store has what it holds.
    var isHoldStored = false
    /// The rim has opened it so that what it tells is consumed only when it is stored.
    var isOpenDurable = false
    /// The rim has been told to hold it.
    var isHeldInRim = false
    /// Those it made, and that have not ended.
    var operations: Int32 = 0

    init(_ origin: Origin) {
        identity = .made(origin)
        switch origin {
        case .completion, .run: traits = .isInternal
        case .source, .finalizer, .digest, .silence, .problem: break
        }
    }

    init(_ definition: Shared<SourceDefinition>) {
        identity = .defined(definition)
        noteDefinition()
    }

    var name: Origin { origin }

    @inline(__always) var origin: Origin {
        switch identity {
        case .defined(let definition): .source(definition.value.id)
        case .made(let origin): origin
        }
    }

    /// `nil`: made by watchd itself.
    @inline(__always) var definition: Shared<SourceDefinition>? {
        if case .defined(let definition) = identity { definition } else { nil }
    }

    var isTimer: Bool { traits.contains(.timer) }
    /// `CatchUp=all`: each elapse has an operation of its own.
    var keepsElapses: Bool { traits.contains(.keepsElapses) }
    @inline(__always) var key: KeyRule { definition?.value.key ?? .handler }
    @inline(__always) var rateLimit: RateLimit? { definition?.value.rateLimit }
    /// `SettleSec=` of a `[Path]`.
    var settle: SettleRule? {
        guard traits.contains(.settles), case .path(let path) = definition?.value.trigger else { return nil }
        return path.settle
    }

    mutating func define(_ definition: Shared<SourceDefinition>) {
        identity = .defined(definition)
        noteDefinition()
    }

    /// The parts of the definition that every event needs.
    private mutating func noteDefinition() {
        guard let definition = definition?.value else { return }
        traits = Traits(definition)
        (merge, pathEvents) = (.add, .all)
        if hasUnasked { unasked = UnaskedChanges() }
        switch definition.trigger {
        case .custom(let custom): merge = custom.merge
        case .path(let path): pathEvents = path.events
        case .timer, .signal, .descriptor, .process, .unit, .group: break
        }
        if !definition.coalesces || definition.key == .none || traits.contains(.keepsElapses) { merge = nil }
    }

    // MARK: State that few sources need

    var held: HeldEvents {
        _read { yield heldEvents.value }
        _modify { yield &heldEvents.value }
    }

    var suspensions: [Suspension] {
        get { seldom.value.suspensions }
        _modify { yield &seldom.value.suspensions }
    }

    var silence: SilenceClock {
        get { seldom.value.silence }
        _modify { yield &seldom.value.silence }
    }

    /// Of a `[Group]`.
    var group: GroupState {
        _read { yield seldom.value.group }
        _modify { yield &seldom.value.group }
    }

    var rate: RateWindow {
        _read { yield seldom.value.rate }
        _modify { yield &seldom.value.rate }
    }

    /// Monotonic microsecond at which `RateLimit=` lets the next event pass.
    var rateDeadline: Int64? {
        get { seldom.value.rateDeadline }
        _modify { yield &seldom.value.rateDeadline }
    }

    /// Of a `[Path]`.
    var unasked: UnaskedChanges {
        _read { yield seldom.value.unasked }
        _modify { yield &seldom.value.unasked }
    }

    @inline(__always) var hasUnasked: Bool { !seldom.isInitial && !unasked.isEmpty }

    @inline(__always) var isSuspended: Bool { !seldom.isInitial && !suspensions.isEmpty }

    /// It holds something back.
    @inline(__always) var holds: Bool { !heldEvents.isInitial && !held.isEmpty }
}
