import Schedule
import WatchFile

/// Cancels all operations of a queue, and the calls that would start some on it later, a part of them in each input: the
/// reports of their ends are made and given away part by part, or they would take as much memory as the operations
/// themselves.
extension Engine {
    struct QueueCancellation: Sendable {
        /// `nil`: it is in no watch file any more.
        var queue: Int?
        var token: Token
        var count: Int
        /// Operations still to be cancelled, the newest last.
        var left: ArraySlice<OperationRef>
        /// The operations that wait for a handler or queue to come back, or for the next start, likewise.
        var unplaced: ArraySlice<UInt64>
    }

    /// In one input.
    static let cancelledAtOnce = 1000

    mutating func cancel(queue name: String, _ token: Token) throws(CommandError) {
        let unplaced = unplaced(of: name)
        let queue: Int?
        do throws(CommandError) { queue = try resolveQueue(name) } catch {
            guard !unplaced.isEmpty else { throw error }
            queue = nil
        }
        let refs = queue.map { queue in operations.refs.filter { shownQueue(operations[$0]) == queue } } ?? []
        queueCancellations.append(
            QueueCancellation(
                queue: queue, token: token, count: refs.count + unplaced.count, left: refs[...],
                unplaced: unplaced[...]))
        if let queue { scheduler[queue].cancellations += 1 }
        cancelNextOfQueue()
    }

    private func resolveQueue(_ name: String) throws(CommandError) -> Int {
        guard case .queue(let queue) = try resolve(name, among: { if case .queue = $0 { true } else { false } }),
            queues[queue].definition.name != Self.clientQueue
        else { throw .noSuchName(name, nearest: nil) }
        return queue
    }

    /// The stored operations of a queue, and of a handler that is gone, that are in no table, oldest first.
    func unplaced(of name: String) -> [UInt64] {
        let (kind, bare) = name.firstIndex(of: "/").map { (name[..<$0], String(name[$0...].dropFirst())) } ?? ("", name)
        let queue = QueueDefinition.aliases[bare] ?? bare
        return journal.unplaced.filter { stored in
            if kind != "handler", shownQueue(stored) == queue { return true }
            return kind != "queue" && stored.handler == bare && isGone(handler: bare)
        }.map(\.id)
    }

    /// Newest first, and the queue starts nothing until it is done: none is started by the end of an older one.
    mutating func cancelNextOfQueue() {
        guard var cancellation = queueCancellations.first else { return }
        if !cancellation.unplaced.isEmpty {
            for id in cancellation.unplaced.suffix(Self.cancelledAtOnce).reversed() {
                if !cancelOrphan(id) { _ = cancelSetAside(id) }
            }
            cancellation.unplaced = cancellation.unplaced.dropLast(Self.cancelledAtOnce)
            if cancellation.unplaced.isEmpty { placeFollowers() }
        }
        for ref in cancellation.left.suffix(Self.cancelledAtOnce).reversed() where operations.isAlive(ref) {
            cancel(ref)
        }
        cancellation.left = cancellation.left.dropLast(Self.cancelledAtOnce)
        queueCancellations[0] = cancellation
        if cancellation.left.isEmpty, cancellation.unplaced.isEmpty {
            queueCancellations.removeFirst()
            reply(cancellation.token, .cancelled(cancellation.count), isSafe: false)
            if let queue = cancellation.queue {
                scheduler[queue].cancellations -= 1
                if queues.isInUse(queue) { scheduler.touch(queue: queue) }
            }
        }
        // Not in this input.
        if !queueCancellations.isEmpty { deadlines.add(.queueCancellation, .monotonic, at: now.monotonic + 1) }
    }
}
