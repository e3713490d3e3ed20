/// The operations of a queue that wait for their turn, oldest first.
///
/// They come almost always in order, so a deque serves; who was held up by its key and now steps in with an older
/// place goes to a heap beside it. Operations that have ended meanwhile are skipped over when they come to the front.
struct QueueLine: Sendable {
    private var inOrder = Deque<OperationRef>()
    private var late = Heap<OperationRef>()

    mutating func insert(_ ref: OperationRef) {
        if let last = inOrder.last, ref < last { late.insert(ref) } else { inOrder.append(ref) }
    }

    /// The oldest that still waits.
    mutating func first(in operations: OperationTable) -> OperationRef? {
        while let ref = inOrder.first, !operations.isWaiting(ref) { _ = inOrder.removeFirst() }
        while let ref = late.first, !operations.isWaiting(ref) { late.removeFirst() }
        guard let ordered = inOrder.first else { return late.first }
        guard let other = late.first else { return ordered }
        return min(ordered, other)
    }

    /// Takes out what `first` returned.
    mutating func removeFirst(_ ref: OperationRef) {
        if inOrder.first == ref { _ = inOrder.removeFirst() }
        if late.first == ref { late.removeFirst() }
    }

    /// `waiting`: how many still wait at most.
    mutating func trim(waiting: Int, in operations: OperationTable) {
        inOrder.trim(waiting: waiting, in: operations)
        if late.count > 2 * waiting + 64 { late.removeAll { !operations.isWaiting($0) } }
    }
}

extension Deque<OperationRef> {
    /// Forgets who waits no more: at the front at once, elsewhere when they are the greater part.
    mutating func trim(waiting: Int, in operations: OperationTable) {
        while let first, !operations.isWaiting(first) { _ = removeFirst() }
        if count > 2 * waiting + 64 { removeAll { !operations.isWaiting($0) } }
    }
}
