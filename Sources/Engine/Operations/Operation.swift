package import WatchFile

/// One queued unit of work: a handler plus the events that caused it.
///
/// Its states are those of Foundation's `Operation`: pending → ready → executing → finished | cancelled. Between two
/// attempts it is pending again.
struct Operation: Sendable {
    /// Its maker, and whom it is for.
    struct Descent: Sendable {
        /// How many completions or `Emit=` lie between an outside event and this operation.
        var depth: Int16 = 0
        /// `watchctl run` made it.
        var isByHand = false
        /// Its caller's own (`Run`, `Retry`): its events join no other operation, and no others join it.
        var isOwn = false
        /// Carries the events of one that was superseded: it supersedes nobody itself.
        var isRerun = false
    }

    struct Times: Sendable {
        /// Wall clock, microseconds.
        var submitted: Int64 = 0
        /// Monotonic microsecond.
        var made: Int64 = 0
        /// Monotonic microsecond at which its delay or its pause between two attempts is over.
        var wakeUp: Int64 = 0
        /// Monotonic microsecond at which it is submitted though events come (`MaxSettleSec=`); 0: it does not settle.
        var latest: Int64 = 0
    }

    /// Its attempts.
    struct Progress: Sendable {
        /// From 1.
        var attempt: Int32 = 1
        /// Runs of this attempt still to be started: one, unless `Stride=` splits it.
        var toStart: Int32 = 1
        /// An attempt has been started.
        var hasStarted = false
        /// An attempt has begun and not ended. Between two parts there may be no run.
        var isRunning = false
        /// It has taken what `Consume=` takes.
        var hasConsumed = false
        /// A run of it may have happened before this attempt.
        var isRedelivered = false
        /// A run of this attempt may have.
        var startsAgain = false
        /// A stop of watchd has ended that run.
        var wasStopped = false
        /// It was asked to end for good while it ran.
        var isCancelled = false

        /// Nobody knows whether a run of this attempt was done, and the attempt comes once more.
        mutating func repeats() { (isRedelivered, startsAgain) = (true, true) }
    }

    /// The scheduler's part: where it stands in line.
    struct Turn: Sendable {
        /// Its place in every line: the order of submission. Never used twice; 0 before submission.
        var place: UInt64 = 0
        /// `Priority=`, 0 the highest.
        var level: UInt8 = 2
        var station = Station.unsubmitted
        /// The last that it waited for before it stood in the line of its queue, or there.
        var waited = Wait.turn
        /// That of who waits for it; the lowest: nobody does.
        var urgency = QoS.background
        var isBarrier = false
        /// Others with one of its keys exclude it: not with `Overlap=parallel`.
        var isExclusive = true
    }

    /// Where it waits, as long as it has something to start.
    enum Station: UInt8, Sendable {
        /// Not submitted yet: its delay or what it depends on has not ended.
        case unsubmitted
        /// Does not stand first in the lines of its keys.
        case keys
        /// Ready: in the line of its queue.
        case queue
        /// Lacked nothing but semaphores when its turn came.
        case semaphores
        /// Between two attempts.
        case backingOff
        /// Everything is started.
        case none
        /// Its slot in the table is free.
        case gone
    }

    enum Wait: UInt8, Sendable {
        /// For nothing but its turn.
        case turn
        /// For a delay, a time, a condition, or what it depends on.
        case submission
        case keys
        case semaphores
    }

    var id: UInt64 = 0
    var handler = 0
    var queue = 0
    var source = 0
    var keys = KeySet()
    var entries = EntryList()
    /// The runs of this attempt that have not ended.
    var runs: [Run] = []
    /// Deliveries that joined it, counted as coalesced.
    var joined = 0
    /// Operations it depends on that have not ended.
    var blockers: Int32 = 0
    /// No longer takes events in.
    var isClosed = false
    var descent = Descent()
    var lineage = Lineage()
    var times = Times()
    var progress = Progress()
    var turn = Turn()
    var record = Record()

    var state: OperationState {
        if progress.isRunning { return .executing }
        switch turn.station {
        case .queue, .semaphores: return .ready
        case .unsubmitted, .keys, .backingOff: return .pending
        case .none, .gone: return .finished
        }
    }
}

/// A handler's definition, shared by its operations: one word instead of a copy each.
package typealias SharedDefinition = Shared<HandlerDefinition>

/// Names a caller who waits for an answer; chosen by the runtime.
package struct Token: Hashable, Comparable, Sendable {
    package var value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package static func < (left: Token, right: Token) -> Bool { left.value < right.value }
}

/// An operation by slot, valid while its id is still the one there. Compares by age.
struct OperationRef: Hashable, Comparable, Sendable {
    var id: UInt64
    var slot: Int

    static func < (left: OperationRef, right: OperationRef) -> Bool { left.id < right.id }
}

/// An operation in a line, by its place: valid while its place is still the one there.
struct Ticket: Hashable, Comparable, Sendable {
    var place: UInt64
    var slot: Int

    static func < (left: Ticket, right: Ticket) -> Bool { left.place < right.place }
}

/// All operations that have not ended, in reused slots.
struct OperationTable: Sendable {
    private var slots: [Operation] = []
    private var free: [Int] = []
    private var byID: [UInt64: Int] = [:]
    private var lastPlace: UInt64 = 0
    /// Slots that are kept when the last operation has ended.
    private static let keptSlots = 256

    var count: Int { byID.count }
    /// Slots, in use or not.
    var slotCount: Int { slots.count }

    mutating func reserveCapacity(_ count: Int) {
        slots.reserveCapacity(count)
        byID.reserveCapacity(count)
    }

    mutating func insert(_ operation: consuming Operation) -> OperationRef {
        let id = operation.id
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = operation
        } else {
            slot = slots.count
            slots.append(operation)
        }
        byID[id] = slot
        return OperationRef(id: id, slot: slot)
    }

    /// Gives it the place behind all others.
    mutating func submit(_ ref: OperationRef) -> Ticket {
        lastPlace += 1
        slots[ref.slot].turn.place = lastPlace
        return Ticket(place: lastPlace, slot: ref.slot)
    }

    /// Gives it a place that it had before; all later ones are behind it.
    mutating func restore(_ ref: OperationRef, place: UInt64) {
        lastPlace = max(lastPlace, place)
        slots[ref.slot].turn.place = place
    }

    mutating func remove(_ ref: OperationRef) {
        byID[ref.id] = nil
        slots[ref.slot] = Operation()
        slots[ref.slot].turn.station = .gone
        free.append(ref.slot)
        if byID.isEmpty, slots.count > Self.keptSlots { (slots, free, byID) = ([], [], [:]) }
    }

    subscript(ref: OperationRef) -> Operation {
        @inline(__always) _read { yield slots[ref.slot] }
        @inline(__always) _modify { yield &slots[ref.slot] }
    }

    subscript(ticket: Ticket) -> Operation {
        @inline(__always) _read { yield slots[ticket.slot] }
        @inline(__always) _modify { yield &slots[ticket.slot] }
    }

    func isAlive(_ ref: OperationRef) -> Bool { ref.slot < slots.count && slots[ref.slot].id == ref.id }
    func isAlive(_ ticket: Ticket) -> Bool {
        ticket.slot < slots.count && slots[ticket.slot].turn.place == ticket.place
    }

    /// Whether it still waits at that station; `nil`: whether it keeps its place on a serial queue, as all do that have
    /// not ended, but for lines that a worker has: those behind them may go to the same worker.
    func isHere(_ ticket: Ticket, _ station: Operation.Station?) -> Bool {
        guard isAlive(ticket) else { return false }
        guard let station else { return slots[ticket.slot].runs.first?.seat == nil }
        return slots[ticket.slot].turn.station == station
    }

    /// No attempt has been started.
    func isWaiting(_ ref: OperationRef) -> Bool { isAlive(ref) && !slots[ref.slot].progress.hasStarted }

    func ref(_ ticket: Ticket) -> OperationRef { OperationRef(id: slots[ticket.slot].id, slot: ticket.slot) }
    func ticket(_ ref: OperationRef) -> Ticket { Ticket(place: slots[ref.slot].turn.place, slot: ref.slot) }
    func ref(id: UInt64) -> OperationRef? { byID[id].map { OperationRef(id: id, slot: $0) } }

    /// Every operation that has not ended, oldest first. O(n log n): for readers and reloads, not for the event path.
    var refs: [OperationRef] { byID.map { OperationRef(id: $0.key, slot: $0.value) }.sorted() }

    /// By slot, which is no order.
    func forEachRef(_ body: (OperationRef, Operation) -> Void) {
        for slot in slots.indices where slots[slot].turn.station != .gone {
            body(OperationRef(id: slots[slot].id, slot: slot), slots[slot])
        }
    }

    /// In any order, so only for what has none, as a count.
    func forEachOperation(_ body: (Operation) -> Void) {
        for slot in byID.values { body(slots[slot]) }
    }

    /// One look at each until the first is found.
    func contains(where isWanted: (Operation) -> Bool) -> Bool { byID.values.contains { isWanted(slots[$0]) } }

    /// The oldest for which `isWanted` holds, at most `limit`. One look at each, and no sorting but of what is kept.
    func oldest(_ limit: Int, where isWanted: (Operation) -> Bool) -> [OperationRef] {
        var kept: [OperationRef] = []
        // So many are known to be older.
        var bound = UInt64.max
        for (id, slot) in byID where id < bound && isWanted(slots[slot]) {
            kept.append(OperationRef(id: id, slot: slot))
            guard kept.count / 2 >= limit else { continue }
            kept = Array(kept.sorted().prefix(limit))
            bound = kept.last?.id ?? 0
        }
        return Array(kept.sorted().prefix(limit))
    }
}
