import Schedule

/// Cancels all operations of a queue, a part of them in each input: the reports of their ends are made and given away
/// part by part, or they would take as much memory as the operations themselves.
extension Engine {
    struct QueueCancellation: Sendable {
        var queue: Int
        var token: Token
        var count: Int
        /// Operations still to be cancelled, the newest last.
        var left: ArraySlice<OperationRef>
    }

    /// In one input.
    static let cancelledAtOnce = 1000

    mutating func cancel(queue name: String, _ token: Token) throws(CommandError) {
        guard case .queue(let queue) = try resolve(name, among: { if case .queue = $0 { true } else { false } }) else {
            throw .noSuchName(name, nearest: nil)
        }
        let refs = operations.refs.filter { operations[$0].queue == queue }
        queueCancellations.append(QueueCancellation(queue: queue, token: token, count: refs.count, left: refs[...]))
        scheduler[queue].cancellations += 1
        cancelNextOfQueue()
    }

    /// Newest first, and the queue starts nothing until it is done: none is started by the end of an older one.
    mutating func cancelNextOfQueue() {
        guard var cancellation = queueCancellations.first else { return }
        for ref in cancellation.left.suffix(Self.cancelledAtOnce).reversed() where operations.isAlive(ref) {
            cancel(ref)
        }
        cancellation.left = cancellation.left.dropLast(Self.cancelledAtOnce)
        queueCancellations[0] = cancellation
        if cancellation.left.isEmpty {
            queueCancellations.removeFirst()
            scheduler[cancellation.queue].cancellations -= 1
            reply(cancellation.token, .cancelled(cancellation.count), isSafe: false)
            if queues.isInUse(cancellation.queue) { scheduler.touch(queue: cancellation.queue) }
        }
        // Not in this input.
        if !queueCancellations.isEmpty { deadlines.add(.queueCancellation, .monotonic, at: now.monotonic + 1) }
    }
}
