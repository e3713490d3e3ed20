/// Operations that wait for their turn, in order of submission.
///
/// They come almost always in order, so a deque serves; who was held up and now steps in with an older place goes to a
/// heap beside it. Operations that no longer wait here are skipped when they come to the front.
struct TicketLine: Sendable {
    private var inOrder = Deque<Ticket>()
    private var late = Heap<Ticket>()

    var isEmpty: Bool { inOrder.isEmpty && late.count == 0 }

    mutating func insert(_ ticket: Ticket) {
        if let last = inOrder.last, ticket < last { late.insert(ticket) } else { inOrder.append(ticket) }
    }

    /// The first that still waits at `station` (`nil`: that has not ended); the others before it are dropped.
    mutating func first(in operations: OperationTable, at station: Operation.Station?) -> Ticket? {
        while let ticket = inOrder.first, !operations.isHere(ticket, station) { _ = inOrder.removeFirst() }
        while let ticket = late.first, !operations.isHere(ticket, station) { late.removeFirst() }
        guard let ordered = inOrder.first else { return late.first }
        guard let other = late.first else { return ordered }
        return min(ordered, other)
    }

    /// As `first`, but looks only: O(1) while it has been asked for `first` lately. `others`: not these.
    func peek(
        in operations: OperationTable, at station: Operation.Station?, but others: Set<Ticket> = []
    ) -> Ticket? {
        let ordered = inOrder.elements.first { operations.isHere($0, station) && !others.contains($0) }
        guard late.count > 0 else { return ordered }
        let other = late.elements.filter { operations.isHere($0, station) && !others.contains($0) }.min()
        guard let ordered, let other else { return ordered ?? other }
        return min(ordered, other)
    }

    /// Drops those that are not here any more, once they are the greater part. `count`: how many are here at most.
    mutating func trim(_ count: Int, in operations: OperationTable, at station: Operation.Station?) {
        if inOrder.count > 2 * count + 64 { inOrder.removeAll { !operations.isHere($0, station) } }
        if late.count > 2 * count + 64 { late.removeAll { !operations.isHere($0, station) } }
    }

    /// All that may be here, in no order.
    var tickets: [Ticket] { Array(inOrder.elements) + late.elements }
}

extension Deque<OperationRef> {
    /// Forgets who waits no more: at the front at once, elsewhere when they are the greater part.
    mutating func trim(waiting: Int, in operations: OperationTable) {
        while let first, !operations.isWaiting(first) { _ = removeFirst() }
        if count > 2 * waiting + 64 { removeAll { !operations.isWaiting($0) } }
    }
}
