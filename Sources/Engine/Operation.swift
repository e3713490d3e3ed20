package import WatchFile

/// One queued unit of work: a handler plus the events that caused it.
///
/// Its states are those of Foundation's `Operation`: pending → ready → executing → finished | cancelled.
struct Operation: Sendable {
    enum State: Sendable {
        /// Waits for its key.
        case pending
        /// Waits for nothing but its turn.
        case ready
        case executing(Run)
        /// Its slot in the table is free.
        case gone
    }

    var id: UInt64 = 0
    /// Its place in line: the order of submission. Never used twice.
    var sequence: UInt64 = 0
    var handler = 0
    var queue = 0
    var source = 0
    var keys = KeySet()
    var entries = EntryList()
    var state = State.gone
    /// Deliveries that joined it, counted as coalesced.
    var joined = 0
    /// No longer takes events in.
    var isClosed = false
    /// How many completions or `Emit=` lie between an outside event and this operation.
    var depth = 0
    /// Wall clock, microseconds.
    var submitted: Int64 = 0
    /// Callers of `Run` with `wait`, answered when it ends.
    var waiters: [Token] = []

    var isWaiting: Bool {
        switch state {
        case .pending, .ready: true
        case .executing, .gone: false
        }
    }

    var run: Run? { if case .executing(let run) = state { run } else { nil } }
}

/// One attempt of an operation.
struct Run: Sendable {
    enum Phase: Sendable {
        /// The spawn is on its way.
        case starting
        case running(pid: Int32)
    }

    /// Why it is being ended before its time, and so how it will be judged.
    enum Ending: Equatable, Sendable {
        case timedOut, cancelled, stopped
    }

    var phase = Phase.starting
    /// The definition it was started with: a reload does not change it.
    var definition: SharedDefinition
    /// Wall clock, microseconds.
    var started: Int64
    var ending: Ending?
    /// SIGKILL has been sent.
    var isKilled = false
    /// Monotonic microsecond of the next step of its end (time-out, then SIGKILL).
    var deadline: Int64?
}

/// A handler's definition, shared by its operations: one word instead of a copy each.
package final class SharedDefinition: Sendable {
    package let value: HandlerDefinition

    init(_ value: HandlerDefinition) { self.value = value }
}

/// Names a caller who waits for an answer; chosen by the runtime.
package struct Token: Hashable, Sendable {
    package var value: UInt64

    package init(_ value: UInt64) { self.value = value }
}

/// One attempt of an operation, named for the rim.
package struct RunID: Hashable, Sendable {
    package var operation: UInt64
    package var attempt: Int

    package init(operation: UInt64, attempt: Int) {
        self.operation = operation
        self.attempt = attempt
    }
}

/// An operation by slot, valid while its sequence number is still the one there.
struct OperationRef: Hashable, Comparable, Sendable {
    var sequence: UInt64
    var slot: Int

    static func < (left: OperationRef, right: OperationRef) -> Bool { left.sequence < right.sequence }
}

/// All operations that have not ended, in reused slots.
struct OperationTable: Sendable {
    private var slots: [Operation] = []
    private var free: [Int] = []
    private var byID: [UInt64: Int] = [:]
    private var lastSequence: UInt64 = 0

    var count: Int { byID.count }

    mutating func insert(_ operation: Operation) -> OperationRef {
        lastSequence += 1
        var operation = operation
        operation.sequence = lastSequence
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = operation
        } else {
            slot = slots.count
            slots.append(operation)
        }
        byID[operation.id] = slot
        return OperationRef(sequence: lastSequence, slot: slot)
    }

    mutating func remove(_ ref: OperationRef) {
        byID[slots[ref.slot].id] = nil
        slots[ref.slot] = Operation()
        free.append(ref.slot)
    }

    subscript(ref: OperationRef) -> Operation {
        _read { yield slots[ref.slot] }
        _modify { yield &slots[ref.slot] }
    }

    func isWaiting(_ ref: OperationRef) -> Bool {
        slots[ref.slot].sequence == ref.sequence && slots[ref.slot].isWaiting
    }

    func isAlive(_ ref: OperationRef) -> Bool { slots[ref.slot].sequence == ref.sequence }

    func ref(id: UInt64) -> OperationRef? {
        byID[id].map { OperationRef(sequence: slots[$0].sequence, slot: $0) }
    }

    /// Every operation that has not ended, oldest first. O(n log n): for readers and reloads, not for the event path.
    var refs: [OperationRef] {
        byID.values.map { OperationRef(sequence: slots[$0].sequence, slot: $0) }.sorted()
    }

    /// The oldest for which `isWanted` holds, at most `limit`. One look at each, and no sorting but of what is kept.
    func oldest(_ limit: Int, where isWanted: (Operation) -> Bool) -> [OperationRef] {
        var kept: [OperationRef] = []
        for slot in byID.values where isWanted(slots[slot]) {
            kept.append(OperationRef(sequence: slots[slot].sequence, slot: slot))
            if kept.count >= 2 * limit { kept = Array(kept.sorted().prefix(limit)) }
        }
        return Array(kept.sorted().prefix(limit))
    }
}
