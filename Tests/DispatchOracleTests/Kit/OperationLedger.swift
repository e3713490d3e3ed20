/// What of an operation program has been done so far, and what may be done next.
///
/// `OperationQueue` and watchd are held against each other only where both define the same. The restrictions:
///
/// - *On a queue with a width, an operation that depends on others has its priority to itself while it waits.* watchd
///   gives it its place in line when its dependencies have ended, `OperationQueue` when it is added.
/// - *On a queue with a width, only one that depends on others waits.* `OperationQueue` lets the dependents of one that
///   has ended go one by one, and the first may start before it comes to the second, whatever their priorities.
/// - *One that others depend on is cancelled only where its queue has a free place and is not suspended, or while it
///   runs.* A cancelled `Operation` has finished when its queue has come to it, one of watchd at once.
/// - *All of a queue are cancelled only where none depends on another of them.* `cancelAllOperations` goes from one to
///   the next; meanwhile the end of the first may start the second. watchd cancels the newest first.
/// - *A batch is added while its queues are suspended.* watchd decides when all handlers of an event are in line;
///   `addOperation` starts the first one before it knows of the second.
/// - *A queue is suspended once.* `isSuspended` is no count.
/// - *Dependencies stand within a batch, each on an earlier one*: `After=` applies among the handlers of one event.
struct OperationLedger {
    enum State { case waiting, running, ended }

    struct Entry {
        var id: Int
        var part: OperationProgram.Part
        /// Ids.
        var dependencies: [Int]
        var state = State.waiting
        var isCancelled = false
    }

    private static let mostUnended = 30

    let program: OperationProgram
    private(set) var entries: [Entry] = []
    private(set) var isSuspended: [Bool]

    init(_ program: OperationProgram) {
        self.program = program
        isSuspended = program.widths.map { _ in false }
    }

    // MARK: What there is

    var running: [Entry] { entries.filter { $0.state == .running } }
    /// A cancelled one that did not start counts as ended.
    var isOver: Bool { entries.allSatisfy { $0.state == .ended } }
    /// Those that may be cancelled.
    var cancellable: [Entry] { entries.filter { $0.state != .ended && !$0.isCancelled && mayCancel($0) } }

    // MARK: What may be done

    func mayAdd(_ parts: [OperationProgram.Part]) -> Bool {
        guard entries.count(where: { $0.state != .ended }) < Self.mostUnended else { return false }
        return parts.indices.allSatisfy { hasPriorityToItself(parts[$0], with: parts[..<$0]) }
    }

    private func hasPriorityToItself(
        _ part: OperationProgram.Part, with others: ArraySlice<OperationProgram.Part>
    ) -> Bool {
        guard program.widths[part.queue] < OperationProgram.wide else { return true }
        let waiting = entries.filter { $0.part.queue == part.queue && $0.state == .waiting }
        let beside = others.filter { $0.queue == part.queue }
        let dependents = waiting.filter { !$0.dependencies.isEmpty }.map(\.part) + beside.filter { !$0.after.isEmpty }
        if dependents.contains(where: { $0.priority == part.priority }) { return false }
        if part.after.isEmpty { return true }
        return dependents.isEmpty && !(waiting.map(\.part) + beside).contains { $0.priority == part.priority }
    }

    private func mayCancel(_ entry: Entry) -> Bool {
        if entry.state == .running { return true }
        let hasDependents = entries.contains { $0.state == .waiting && $0.dependencies.contains(entry.id) }
        let queue = entry.part.queue
        let places = program.widths[queue] - running.count { $0.part.queue == queue }
        return !hasDependents || (!isSuspended[queue] && places > 0)
    }

    func mayCancelAll(_ queue: Int) -> Bool {
        let all = entries.filter { $0.part.queue == queue && $0.state != .ended }
        let ids = Set(all.map(\.id))
        return !all.isEmpty
            && all.allSatisfy { mayCancel($0) && !$0.isCancelled && ids.isDisjoint(with: $0.dependencies) }
    }

    // MARK: What was done

    /// The ids of the parts.
    mutating func add(_ parts: [OperationProgram.Part]) -> [Int] {
        let first = entries.count
        for (index, part) in parts.enumerated() {
            entries.append(Entry(id: first + index, part: part, dependencies: part.after.map { first + $0 }))
        }
        return Array(first..<entries.count)
    }

    mutating func note(_ progress: Progress) {
        for id in progress.started where entries[id].state == .waiting { entries[id].state = .running }
        for id in progress.ended { entries[id].state = .ended }
    }

    mutating func cancel(_ id: Int) {
        entries[id].isCancelled = true
        if entries[id].state == .waiting { entries[id].state = .ended }
    }

    mutating func setSuspended(_ queue: Int, _ value: Bool) { isSuspended[queue] = value }
}
