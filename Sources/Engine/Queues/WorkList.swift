/// Queues of which something has to be done: the scheduler never scans.
struct WorkList: Sendable {
    /// The lists on which a queue stands.
    struct Mark: Sendable {
        var isDirty = false
        var isWide = false
    }

    /// Queues on which something may start now.
    private var dirty = Deque<Int>()
    /// Queues that have width again for others that run through them.
    private var wide = Deque<Int>()
    /// Targets with width still, whose oldest contenders have been woken and did not take it all.
    private var stillWide = Deque<Int>()

    mutating func touch(_ queue: Int, _ mark: inout Mark) {
        guard !mark.isDirty else { return }
        mark.isDirty = true
        dirty.append(queue)
    }

    /// `isFed`: its oldest contenders have been woken already.
    mutating func widen(_ target: Int, _ mark: inout Mark, isFed: Bool) {
        guard !mark.isWide else { return }
        mark.isWide = true
        if isFed { stillWide.append(target) } else { wide.append(target) }
    }

    mutating func nextDirty() -> Int? { dirty.removeFirst() }

    mutating func nextWide() -> Int? { wide.removeFirst() }

    mutating func nextStillWide() -> Int? { stillWide.removeFirst() }

    mutating func clearWide() {
        wide = Deque()
        stillWide = Deque()
    }
}
