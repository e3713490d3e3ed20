/// The load of all that waits, and the lines of those that are held back until there is room.
///
/// The events that a source holds are the source's, the line of a full queue the queue's; here are the lines that are for
/// all, and the lists of what may go on.
struct Door: Sendable {
    /// The next that may go on.
    enum Step: Sendable {
        /// A source that was resumed, or that waited for the store.
        case source(Int)
        /// The line of a queue.
        case queue(Int)
        /// The line of `MaxOperations=` and `MaxMemory=`.
        case total
        /// The callers of `Emit`.
        case calls
    }

    /// The load that waits, over all queues.
    private(set) var load = Load()
    /// Of what all sources hold.
    private(set) var heldLoad = Load()
    /// Callers of `Emit` that wait for room, in the order they came.
    private(set) var calls: [EmitCall] = []
    /// The source whose held event is being let go.
    var lettingGo: Int?
    /// Sources held back because `MaxOperations=` or `MaxMemory=` is reached.
    private(set) var heldByTotal = WaitingLine()
    /// Sources held back because the store fails.
    private var heldByStore = WaitingLine()
    /// Sources that may let go what they hold: they were resumed.
    private var resumed = WaitingLine()
    /// Queues with room again for the sources they hold back.
    private var roomy = WaitingLine()
    private var isTotalRoomy = false
    /// A caller of `Emit` that waits may find room now.
    private var isRoomNew = false
    /// Places at which runs were found to wait for room that only they could make, since an entry has started or ended
    /// last.
    private var ownRoom: Set<EmitCall.Place> = []

    // MARK: Room

    mutating func add(_ change: Load) { load += change }

    mutating func addHeld(_ change: Load) { heldLoad += change }

    /// Whether `MaxOperations=` or `MaxMemory=` keeps a source back. `isFirst`: it stands first in line, so that nobody
    /// waits before it.
    func isFull(for more: Load, within bound: Load, isFirst: Bool) -> Bool {
        !load.hasRoom(for: more, within: bound) || (!isFirst && !heldByTotal.isEmpty)
    }

    /// Less waits than before.
    mutating func roomMade(within bound: Load) {
        isRoomNew = true
        if !ownRoom.isEmpty { ownRoom = [] }
        if !heldByTotal.isEmpty, load.isRoomy(within: bound) { isTotalRoomy = true }
    }

    /// Somebody may find room where there was none.
    mutating func roomMoved() { isRoomNew = true }

    /// The bounds may be others.
    mutating func boundsMoved() { (isTotalRoomy, isRoomNew) = (true, true) }

    /// A queue has room again for the sources it holds back.
    mutating func roomMade(in queue: Int) { roomy.append(queue) }

    // MARK: Sources

    mutating func resume(_ source: Int) { resumed.append(source) }

    mutating func waitForTotal(_ source: Int) { heldByTotal.append(source) }

    mutating func waitForStore(_ source: Int) { heldByStore.append(source) }

    func isHeldByStore(_ source: Int) -> Bool { heldByStore.contains(source) }

    /// The first in the line of `MaxOperations=` has gone on, or stands elsewhere.
    mutating func removeFirstOfTotal() { heldByTotal.removeFirst() }

    /// Takes the next that may go on off its list. `nil`: nobody may.
    mutating func next(isStoreWorking: Bool) -> Step? {
        if let source = resumed.removeFirst() { return .source(source) }
        if let queue = roomy.removeFirst() { return .queue(queue) }
        if isStoreWorking, let source = heldByStore.removeFirst() { return .source(source) }
        if isTotalRoomy {
            isTotalRoomy = false
            return .total
        }
        guard isRoomNew, !calls.isEmpty else { return nil }
        isRoomNew = false
        return .calls
    }

    // MARK: Callers of `Emit`

    mutating func wait(_ call: EmitCall) { calls.append(call) }

    /// All callers: they are answered otherwise.
    mutating func takeCalls() -> [EmitCall] {
        defer { calls = [] }
        return calls
    }

    /// The callers that were tried again and wait on.
    mutating func putBack(_ waiting: [EmitCall]) { calls = waiting }

    /// A caller has gone: those behind it may find room.
    mutating func abandon(_ token: Token) {
        guard calls.contains(where: { $0.token == token }) else { return }
        calls.removeAll { $0.token == token }
        isRoomNew = true
    }

    /// Takes out the callers that emit into a source.
    mutating func takeCalls(into source: Int) -> [EmitCall] {
        let taken = calls.filter { $0.emissions.contains { $0.source == source } }
        if !taken.isEmpty { calls.removeAll { $0.emissions.contains { $0.source == source } } }
        return taken
    }

    /// A loop that emits is not looked into each time: nothing has started since.
    func isOwnRoom(_ places: Set<EmitCall.Place>) -> Bool { !places.isEmpty && places.isSubset(of: ownRoom) }

    mutating func noteOwnRoom(_ places: Set<EmitCall.Place>) { ownRoom.formUnion(places) }
}

/// A call of `Emit`.
struct EmitCall: Sendable {
    /// The queue into which a run emits.
    struct Place: Hashable, Sendable {
        var caller: UInt64
        var queue: Int
    }

    /// Events have no id and no time before the call is taken in.
    var emissions: [(source: Int, event: Event)]
    var token: Token
    /// The queue it waits for, if it is a queue.
    var queue: Int?
    /// The operation of whose run the client is a part.
    var caller: UInt64?
    /// It is answered when all that its event starts has ended.
    var waits = false
}
