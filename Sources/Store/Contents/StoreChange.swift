/// One change of the store. All changes of one `commit` are one transaction.
///
/// The store knows nothing of what events or operations mean: what only the engine reads is bytes to it.
package enum StoreChange: Sendable {
    /// Inserts an operation or takes the place of the one with its id; events appended to that are gone.
    indirect case put(OperationRow)
    /// Gives an operation a new `state`; its events stay.
    case update(id: UInt64, state: [UInt8])
    /// Puts events behind those an operation has.
    case append(id: UInt64, events: [UInt8])
    /// An operation, with its events; no error if there is none.
    case remove(id: UInt64)
    /// The events that a source holds back, behind those it held before or in their place; no events: it holds none.
    case hold(source: String, events: [UInt8], replacing: Bool)
    /// An operation has ended. One with the same id is replaced.
    indirect case record(HistoryRow)
    /// An attempt has failed and another one comes.
    indirect case attempt(AttemptRow)
    /// A failed operation is failed no more: it runs again as operation `by`, or is forgotten (`nil`).
    case settle(id: UInt64, by: UInt64?)
    /// It is failed again: what it was to run as did not run.
    case unsettle(id: UInt64)
    /// A small value under a name; `nil` takes it away.
    case mark(name: String, value: [UInt8]?)
    /// A change of the snapshot of a root.
    indirect case snapshot(SnapshotChange)
}

/// An operation that has not ended.
package struct OperationRow: Equatable, Sendable {
    package var id: UInt64
    /// For people who look into the file.
    package var handler: String
    package var queue: String
    package var source: String
    package var state: [UInt8]
    package var events: [UInt8]
    /// The events appended since it was put, in that order. Empty for `put`.
    package var appended: [[UInt8]]

    package init(
        id: UInt64, handler: String, queue: String, source: String, state: [UInt8], events: [UInt8],
        appended: [[UInt8]] = []
    ) {
        self.id = id
        self.handler = handler
        self.queue = queue
        self.source = source
        self.state = state
        self.events = events
        self.appended = appended
    }
}

/// An operation that has ended.
package struct HistoryRow: Equatable, Sendable {
    package var id: UInt64
    package var handler: String
    package var queue: String
    /// `path/uploads`.
    package var source: String
    /// `done`, `failed`, `cancelled`, `skipped`, `dropped`, `annulled`, `superseded`.
    package var result: String
    package var reason: String?
    package var exitStatus: Int32?
    package var signal: Int32?
    /// Times are wall-clock microseconds.
    package var submitted: Int64
    package var started: Int64?
    package var ended: Int64
    package var attempt: Int
    package var entries: Int
    package var deliveries: Int
    package var isRedelivered: Bool
    /// Of one that was superseded, joined another, or failed and was tried again by hand.
    package var successor: UInt64?
    /// A failed one that was tried again or forgotten.
    package var isSettled: Bool
    /// Its newest event in a few words.
    package var cause: String
    /// The events that a `retry` needs; of others than failed operations perhaps only the newest. `nil` where it was
    /// not asked for.
    package var events: [UInt8]?
    /// The end of what it wrote. `nil` where it was not asked for or is no longer kept.
    package var output: [UInt8]?
    /// Of its last attempt; `nil` also where it was not asked for.
    package var usage: UsageRow?

    package init(
        id: UInt64, handler: String, queue: String, source: String, result: String, reason: String? = nil,
        exitStatus: Int32? = nil, signal: Int32? = nil, submitted: Int64, started: Int64? = nil, ended: Int64,
        attempt: Int = 1, entries: Int = 1, deliveries: Int = 1, isRedelivered: Bool = false,
        successor: UInt64? = nil, isSettled: Bool = false, cause: String = "", events: [UInt8]? = nil,
        output: [UInt8]? = nil
    ) {
        self.id = id
        self.handler = handler
        self.queue = queue
        self.source = source
        self.result = result
        self.reason = reason
        self.exitStatus = exitStatus
        self.signal = signal
        self.submitted = submitted
        self.started = started
        self.ended = ended
        self.attempt = attempt
        self.entries = entries
        self.deliveries = deliveries
        self.isRedelivered = isRedelivered
        self.successor = successor
        self.isSettled = isSettled
        self.cause = cause
        self.events = events
        self.output = output
    }
}

/// An attempt of an operation that failed and was followed by another one.
package struct AttemptRow: Equatable, Sendable {
    package var operation: UInt64
    package var attempt: Int
    package var reason: String?
    package var exitStatus: Int32?
    package var signal: Int32?
    package var started: Int64?
    package var ended: Int64
    /// The end of what it wrote. `nil` where it was not asked for.
    package var output: [UInt8]?
    package var usage: UsageRow?

    package init(
        operation: UInt64, attempt: Int, reason: String? = nil, exitStatus: Int32? = nil, signal: Int32? = nil,
        started: Int64? = nil, ended: Int64, output: [UInt8]? = nil
    ) {
        self.operation = operation
        self.attempt = attempt
        self.reason = reason
        self.exitStatus = exitStatus
        self.signal = signal
        self.started = started
        self.ended = ended
        self.output = output
    }
}
