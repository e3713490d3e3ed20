/// What of a program has been done so far, and what may be done next.
///
/// Dispatch and watchd are held against each other only where both define the same. The restrictions, each with its
/// reason (Semantics.md for watchd, the drain loops in libdispatch's `queue.c` for Dispatch):
///
/// - *A targeted concurrent queue is suspended only while nothing it was given waits elsewhere.* An idle concurrent
///   queue hands a block on to its target at once, where its own suspension does not reach it any more. In watchd an
///   operation stays subject to its queue until it starts.
/// - *A queue with children is suspended only while nothing runs through it.* A serial child that has begun goes
///   through all it has, also what comes meanwhile, before it looks at its target again. In watchd the suspension of a
///   target holds for each operation.
/// - *Where several queues share a target that takes turns* (a serial one, or one with barriers: `Tree.fan`), *children
///   only pass on*: they have no barrier and are never suspended, and a serial one holds one block at a time. Else a
///   child stands in its target's line once, for all it has, from when it was woken; in watchd each operation has the
///   place in line of its own submission.
/// - *A barrier stands on a queue without children, or in a fan on the target.* A barrier of a target counts, in
///   Dispatch, when a child is handed on, in watchd by order of submission (the same two places).
/// - *A block that waits for a semaphore is submitted only where it comes to wait at once*: to a queue without target
///   or children that is not suspended, where nothing before it is left that it would wait for; and its queue is not
///   suspended while it waits. A Dispatch block waits inside itself, so it has begun: it keeps its place among those
///   that wait, by arrival, whatever becomes of its queue. A watchd operation waits before it begins, by age, and steps
///   out of the line meanwhile. Under this rule arrival and age are the same.
/// - *A block takes one unit of one semaphore.* Two waits take one after the other, watchd takes all or none.
/// - *A concurrent queue has no width, and there are fewer blocks than libdispatch starts threads for an overcommit
///   root (255).* `DispatchQueue` has no width to set; `Width=` is compared with `OperationQueue`.
/// - *No cancellation, delay, quality of service or priority*: a cancelled `DispatchWorkItem` stays in line until its
///   turn comes; the others take real time, or order nothing while there are threads enough.
struct Ledger {
    /// One that a test lifts, to see that Dispatch and watchd really part there.
    enum Restriction: String, CaseIterable {
        case suspensionOfConcurrentChild, suspensionOfBusyTarget, fan, barrierOfTarget, semaphore
    }

    enum State { case waiting, running, ended }

    struct Block {
        var id: Int
        var submission: DispatchProgram.Submission
        var state = State.waiting
    }

    private static let mostUnended = 40

    let program: DispatchProgram
    private let lifted: Restriction?
    private(set) var blocks: [Block] = []
    private(set) var suspensions: [Int]
    /// How often the groups were entered by hand.
    private(set) var entered: [Int]

    init(_ program: DispatchProgram, lifting lifted: Restriction? = nil) {
        self.program = program
        self.lifted = lifted
        suspensions = program.queues.map { _ in 0 }
        entered = (0..<program.groups).map { _ in 0 }
    }

    // MARK: What there is

    var running: [Block] { blocks.filter { $0.state == .running } }
    var isOver: Bool { blocks.allSatisfy { $0.state == .ended } }

    private func unended(on queue: Int) -> [Block] {
        blocks.filter { $0.submission.queue == queue && $0.state != .ended }
    }

    private func isWaiting(on queue: Int) -> Bool { unended(on: queue).contains { $0.state == .waiting } }

    /// Nobody is in the group.
    func isEmpty(group: Int) -> Bool {
        entered[group] == 0 && !blocks.contains { $0.submission.group == group && $0.state != .ended }
    }

    // MARK: What may be done

    func maySubmit(_ submission: DispatchProgram.Submission) -> Bool {
        guard blocks.count(where: { $0.state != .ended }) < Self.mostUnended else { return false }
        let queue = program.queues[submission.queue]
        let isLeaf = program.children(of: submission.queue).isEmpty
        switch queue.tree {
        case .alone: break
        case .chain: if !isLeaf { return false }
        case .fan where lifted == .fan: break
        case .fan:
            if queue.target != nil, submission.isBarrier { return false }
            if queue.target != nil, !queue.isConcurrent, !unended(on: submission.queue).isEmpty { return false }
        case .wide: if !isLeaf, submission.isBarrier, lifted != .barrierOfTarget { return false }
        }
        return submission.semaphore == nil || lifted == .semaphore || comesToWaitAtOnce(submission)
    }

    private func comesToWaitAtOnce(_ submission: DispatchProgram.Submission) -> Bool {
        let before = unended(on: submission.queue)
        guard suspensions[submission.queue] == 0 else { return false }
        if submission.isBarrier || !program.queues[submission.queue].isConcurrent { return before.isEmpty }
        return !before.contains { $0.submission.isBarrier }
    }

    func maySuspend(_ index: Int) -> Bool {
        let (queue, subtree) = (program.queues[index], program.subtree(of: index))
        let waitsForSemaphore = unended(on: index).contains { $0.state == .waiting && $0.submission.semaphore != nil }
        if waitsForSemaphore, lifted != .semaphore { return false }
        if queue.tree == .fan, queue.target != nil, lifted != .fan { return false }
        let isBusy = running.contains { subtree.contains($0.submission.queue) }
        if subtree.count > 1, isBusy, lifted != .suspensionOfBusyTarget { return false }
        return !queue.isConcurrent || lifted == .suspensionOfConcurrentChild || !handsOn(index)
    }

    /// Whether something given to a targeted queue may wait elsewhere.
    private func handsOn(_ index: Int) -> Bool {
        let ancestors = program.ancestors(of: index)
        if ancestors.contains(where: { suspensions[$0] > 0 }) { return true }
        let isNarrow = ancestors.contains { !program.queues[$0].isConcurrent }
        return isNarrow && program.subtree(of: index).contains(where: isWaiting)
    }

    // MARK: What was done

    mutating func submit(_ submission: DispatchProgram.Submission) -> Int {
        blocks.append(Block(id: blocks.count, submission: submission))
        return blocks.count - 1
    }

    /// What Dispatch and the engine have agreed on.
    mutating func note(started: Set<Int>, ended: Set<Int>) {
        for id in started where blocks[id].state == .waiting { blocks[id].state = .running }
        for id in ended { blocks[id].state = .ended }
    }

    mutating func suspend(_ queue: Int) { suspensions[queue] += 1 }
    mutating func resume(_ queue: Int) { suspensions[queue] -= 1 }
    mutating func enter(_ group: Int) { entered[group] += 1 }
    mutating func leave(_ group: Int) { entered[group] -= 1 }
}
