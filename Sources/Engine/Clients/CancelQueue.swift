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
        /// The operations that wait for a handler or queue to come back, likewise.
        var orphans: ArraySlice<UInt64>
    }

    /// In one input.
    static let cancelledAtOnce = 1000

    /// - Throws: `draining` too, where the stop has left operations to the next start: of which queues is not known.
    mutating func cancel(queue name: String, _ token: Token) throws(CommandError) {
        guard journal.setAside.ids.isEmpty else { throw .draining }
        let orphans = orphans(of: name)
        let queue: Int?
        do throws(CommandError) { queue = try resolveQueue(name) } catch {
            guard !orphans.isEmpty else { throw error }
            queue = nil
        }
        let refs = queue.map { queue in operations.refs.filter { shownQueue(operations[$0]) == queue } } ?? []
        queueCancellations.append(
            QueueCancellation(
                queue: queue, token: token, count: refs.count + orphans.count, left: refs[...], orphans: orphans[...]))
        if let queue { scheduler[queue].cancellations += 1 }
        cancelNextOfQueue()
    }

    private func resolveQueue(_ name: String) throws(CommandError) -> Int {
        guard case .queue(let queue) = try resolve(name, among: { if case .queue = $0 { true } else { false } }),
            queues[queue].definition.name != Self.clientQueue
        else { throw .noSuchName(name, nearest: nil) }
        return queue
    }

    /// The orphans of a queue, and of a handler that is gone, oldest first.
    func orphans(of name: String) -> [UInt64] {
        let (kind, bare) = name.firstIndex(of: "/").map { (name[..<$0], String(name[$0...].dropFirst())) } ?? ("", name)
        let queue = QueueDefinition.aliases[bare] ?? bare
        return journal.orphans.byAge.filter { orphan in
            if kind != "handler", orphan.queue == queue { return true }
            return kind != "queue" && orphan.handler == bare && isGone(handler: bare)
        }.map(\.id)
    }

    /// Newest first, and the queue starts nothing until it is done: none is started by the end of an older one.
    mutating func cancelNextOfQueue() {
        guard var cancellation = queueCancellations.first else { return }
        if !cancellation.orphans.isEmpty {
            for id in cancellation.orphans.suffix(Self.cancelledAtOnce).reversed() { _ = cancelOrphan(id) }
            cancellation.orphans = cancellation.orphans.dropLast(Self.cancelledAtOnce)
            if cancellation.orphans.isEmpty { placeFollowers() }
        }
        for ref in cancellation.left.suffix(Self.cancelledAtOnce).reversed() where operations.isAlive(ref) {
            cancel(ref)
        }
        cancellation.left = cancellation.left.dropLast(Self.cancelledAtOnce)
        queueCancellations[0] = cancellation
        if cancellation.left.isEmpty, cancellation.orphans.isEmpty {
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
