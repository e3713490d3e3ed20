/// The ids of events, operations and tickets: given out once, also after a crash.
///
/// The store is told of a stock of ids before they are given out, and not of each; after a crash the rest of the stock
/// is skipped.
struct IDs: Sendable {
    private struct Pair: Sendable {
        var event: UInt64 = 0
        var operation: UInt64 = 0
    }

    private(set) var lastEvent: UInt64 = 0
    /// Starts of supervised processes count, too.
    var lastOperation: UInt64 = 0
    /// Ids up to these may be given out without telling the store.
    private var reserved = Pair()
    /// Ids up to these no later watchd gives out: the store has them.
    private var safe = Pair()
    /// Of `EnterGroup`. Higher than any of an earlier watchd's, as far as the clock can tell: nobody leaves with a
    /// ticket that is somebody else's now.
    private var lastTicket: UInt64
    /// Tickets up to this one are of an earlier watchd.
    private let ticketsBefore: UInt64

    func hasGivenOut(ticket: UInt64) -> Bool { ticket > ticketsBefore && ticket <= lastTicket }

    /// `realtime`: the start of watchd.
    init(realtime: Int64) {
        ticketsBefore = UInt64(max(0, realtime / 1000))
        lastTicket = ticketsBefore
    }

    /// `clock`: the wall clock's microsecond, while the store fails; else `nil`.
    func nextEvent(clock: Int64?) -> UInt64 { Self.next(after: lastEvent, safe: safe.event, clock) }

    mutating func takeEvent(clock: Int64?) -> UInt64 {
        lastEvent = nextEvent(clock: clock)
        return lastEvent
    }

    mutating func takeOperation(clock: Int64?) -> UInt64 {
        lastOperation = Self.next(after: lastOperation, safe: safe.operation, clock)
        return lastOperation
    }

    mutating func takeTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// While the store fails and has none left, ids are the wall clock's microseconds: the next watchd will not know of
    /// them, and must not give them out again.
    private static func next(after last: UInt64, safe: UInt64, _ clock: Int64?) -> UInt64 {
        guard let clock, last >= safe else { return last + 1 }
        return max(last + 1, UInt64(clamping: clock))
    }

    /// Half of the stock is used up.
    func isLow(_ stock: UInt64) -> Bool {
        lastEvent + stock / 2 > reserved.event || lastOperation + stock / 2 > reserved.operation
    }

    /// Reserves so many behind the last ones. `isSafe`: the store works, so that it has those before.
    mutating func reserve(_ stock: UInt64, isSafe: Bool) -> StoreWrite {
        if isSafe { safe = reserved }
        reserved = Pair(event: lastEvent + stock, operation: lastOperation + stock)
        return .reserved(lastEventID: reserved.event, lastOperationID: reserved.operation)
    }

    /// Goes on behind those of the store.
    mutating func restore(_ state: StoredState) {
        lastEvent = max(lastEvent, state.lastEventID)
        note(operation: state.lastOperationID)
        guard state.idsReserved > 0 else { return }
        reserved = Pair(event: lastEvent + state.idsReserved, operation: lastOperation + state.idsReserved)
        safe = reserved
    }

    /// The id is taken.
    mutating func note(operation id: UInt64) { lastOperation = max(lastOperation, id) }
}
