import Engine
import Handlers
import Store
import WatchFile

/// An operation that has ended, as far as it is known: from memory, or from the store.
struct EndedOperation: Sendable {
    var id: UInt64
    var handler: String
    var queue: String
    var origin: Origin
    var key: [UInt8]?
    var result: EngineResult
    var reason: String?
    var exit: Exit?
    /// Times are microseconds of the wall clock.
    var submitted: Int64
    var started: Int64?
    var ended: Int64
    /// From 1: its last one.
    var attempt: Int
    var pid: Int32?
    var entries: Int
    var deliveries: Int
    var isRedelivered: Bool
    /// `nil`: not known any more.
    var isDurable: Bool?
    var successor: UInt64?
    /// A failed one that was tried again (`successor`) or forgotten.
    var isSettled = false
    /// As an administrator is told it.
    var cause: String
    /// `watchctl run` made its events.
    var isRunByHand = false
    /// The newest; all of them where `hasAllEvents`.
    var events: [Event] = []
    var hasAllEvents: Bool
    var output: [UInt8] = []
    /// It is no longer kept.
    var isOutputForgotten = false
    /// Those before the last, the first one first.
    var attempts: [Attempt] = []
    /// Of the last one.
    var usage = ResourceUsage()
    /// As `OperationView.trace`; `nil`: not known here.
    var trace: TraceContext?

    /// One that failed and was followed by another.
    struct Attempt: Sendable {
        var number: Int
        var pid: Int32?
        var started: Int64?
        var ended: Int64?
        var exit: Exit?
        var reason: String?
        var usage = ResourceUsage()
    }

    /// It is a client's command.
    var isCommand: Bool { handler == CommandFact.handlerName }

    /// It is a client's command that had to wait for a time, as far as its events are kept.
    var hasTime: Bool { if case .command(let fact)? = events.last?.fact { fact.notBefore != nil } else { false } }

    /// Where it stands in the history, newest first.
    var position: HistoryQuery.Position { .init(ended: ended, id: id) }

    /// Nothing of it is missing.
    var isWhole: Bool { hasAllEvents && attempts.count >= attempt - 1 }

    mutating func settle(_ settlement: RecentOperations.Settlement?) {
        guard let settlement else { return }
        isSettled = true
        successor = settlement.successor ?? successor
    }

    /// For `Command.retry`. Its keys follow from its events.
    var stored: StoredOperation {
        var stored = StoredOperation(id: id, handler: handler, queue: queue, origin: origin, submitted: submitted)
        stored.events = events
        return stored
    }
}

extension EndedOperation {
    /// From memory.
    init(_ view: OperationView, attempts: [OperationView] = []) {
        self.init(
            id: view.id, handler: view.handler, queue: view.queue, origin: view.origin, key: view.key,
            result: view.result ?? .done, reason: view.reason, exit: view.exit, submitted: view.submitted,
            started: view.started, ended: view.ended ?? view.submitted, attempt: view.attempt, pid: view.pid,
            entries: view.entries, deliveries: view.deliveries, isRedelivered: view.isRedelivered,
            isDurable: view.isDurable, successor: view.successor, cause: view.cause(.administrator),
            events: view.events, hasAllEvents: view.events.count >= view.entries, output: view.output,
            attempts: attempts.map(Attempt.init))
        isOutputForgotten = !hasAllEvents
        usage = view.usage
        trace = view.trace
        isRunByHand = view.isRunByHand
    }

    /// From the store.
    init(_ row: HistoryRow, attempts: [AttemptRow] = []) {
        let events = row.events.flatMap { StateCoding.events($0) }
        let origin = Origin(description: row.source) ?? .run(handler: row.handler)
        self.init(
            id: row.id, handler: row.handler, queue: row.queue, origin: origin,
            result: EngineResult(rawValue: row.result) ?? .failed, reason: row.reason,
            exit: Exit(status: row.exitStatus, signal: row.signal), submitted: row.submitted, started: row.started,
            ended: row.ended, attempt: row.attempt, entries: row.entries, deliveries: row.deliveries,
            isRedelivered: row.isRedelivered, successor: row.successor, isSettled: row.isSettled,
            cause: row.cause.isEmpty ? row.source : row.cause, events: events ?? [],
            hasAllEvents: events.map { $0.count >= row.entries } ?? false, output: row.output ?? [],
            attempts: attempts.map(Attempt.init))
        isOutputForgotten = row.output == nil
        usage = ResourceUsage(row.usage)
        trace = events.flatMap(TraceNumbers.own.trace)
        // A list has no events; what is stored as the cause ends so then, and so it does in older stores.
        isRunByHand =
            events?.last?.isByHand == true || row.cause == EventText.byHand
            || row.cause.hasSuffix(", \(EventText.byHand)")
    }
}

extension EndedOperation.Attempt {
    init(_ view: OperationView) {
        self.init(
            number: view.attempt, pid: view.pid, started: view.started, ended: view.ended, exit: view.exit,
            reason: view.reason, usage: view.usage)
    }

    init(_ row: AttemptRow) {
        self.init(
            number: row.attempt, started: row.started, ended: row.ended,
            exit: Exit(status: row.exitStatus, signal: row.signal), reason: row.reason,
            usage: ResourceUsage(row.usage))
    }
}

extension Exit {
    fileprivate init?(status: Int32?, signal: Int32?) {
        if let signal { self = .signaled(signal) } else if let status { self = .exited(status) } else { return nil }
    }
}

extension Origin {
    /// Reads the text of `description`; `nil` for anything else.
    init?(description: String) {
        if let source = SourceID(description: description) {
            self = .source(source)
            return
        }
        let parts = description.split(separator: "/", maxSplits: 1).map(String.init)
        switch (parts.first, parts.last) {
        case ("completion", let name?): self = .completion(handler: name)
        case ("run", let name?): self = .run(handler: name)
        case ("finalizer", let name?): self = .finalizer(queue: name)
        case ("problem", let object?): self = .problem(object: object)
        case ("digest", let name?): self = .digest(handler: name)
        default: return nil
        }
    }
}
