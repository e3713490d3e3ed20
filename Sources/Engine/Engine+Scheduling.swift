import Schedule
import WatchFile

/// Who starts when.
extension Engine {
    /// Whether an operation stands first in the lines of all its keys.
    func hasKeys(_ ref: OperationRef) -> Bool {
        operations[ref].keys.allSatisfy { keys[$0].line.first == ref }
    }

    /// Takes its place in the line of its queue: at once on a serial queue, when its key is free on a concurrent one.
    mutating func takePlace(_ ref: OperationRef) {
        let queue = operations[ref].queue
        let isReady = hasKeys(ref)
        operations[ref].state = isReady ? .ready : .pending
        if isReady || queues[queue].isSerial { queues[queue].line.insert(ref) }
        actions.append(.report(.operation(operations[ref].id, isReady ? .ready : .pending)))
        touch(queue: queue)
    }

    /// Stands first in one of its keys' lines now.
    private mutating func keyFreed(_ ref: OperationRef) {
        guard operations.isWaiting(ref), hasKeys(ref), case .pending = operations[ref].state else { return }
        let queue = operations[ref].queue
        operations[ref].state = .ready
        if !queues[queue].isSerial { queues[queue].line.insert(ref) }
        actions.append(.report(.operation(operations[ref].id, .ready)))
        touch(queue: queue)
    }

    /// Starts what may start on a queue. A command asks for a process slot first.
    mutating func pump(_ queue: Int) {
        guard queues.isInUse(queue) else { return }
        while mayStart(queue), let ref = queues[queue].line.first(in: operations) {
            guard hasKeys(ref) else {
                operations[ref].state = .pending
                if queues[queue].isSerial { return }
                queues[queue].line.removeFirst(ref)
                continue
            }
            if needsProcess(ref) { return stand(ref, queue) }
            start(ref)
        }
    }

    private func mayStart(_ queue: Int) -> Bool {
        guard phase == .running || phase == .reloading else { return false }
        return queues[queue].running < queues[queue].width && !queues[queue].isSuspended && !isWaitingForReload(queue)
    }

    /// Stands in the line for process slots; with a new first operation at a new place.
    private mutating func stand(_ ref: OperationRef, _ queue: Int) {
        guard queues[queue].standing != ref else { return }
        queues[queue].standing = ref
        processLine.insert(Standing(first: ref, queue: queue))
        // Places given up are dropped when they come to the front, or when they are many.
        if processLine.count > 2 * queues.count + 64 {
            var line = processLine
            line.removeAll { queues[$0.queue].standing != $0.first }
            processLine = line
        }
    }

    /// There is a process slot for the queue whose operation is the oldest. It starts this one, then stands in line
    /// again: slots go by age over all queues.
    mutating func feed(_ next: Standing) {
        let queue = next.queue
        guard queues.isInUse(queue), queues[queue].standing == next.first else { return }
        queues[queue].standing = nil
        if mayStart(queue), queues[queue].line.first(in: operations) == next.first, hasKeys(next.first) {
            start(next.first)
        }
        touch(queue: queue)
    }

    private func needsProcess(_ ref: OperationRef) -> Bool {
        if case .exec = handlers[operations[ref].handler].definition.value.action { return true }
        return false
    }

    private mutating func start(_ ref: OperationRef) {
        let (queue, source) = (operations[ref].queue, operations[ref].source)
        let definition = handlers[operations[ref].handler].definition
        let target = SourceState.Target(handler: operations[ref].handler, queue: queue)
        let entries = operations[ref].entries
        close(ref)
        operations[ref].state = .executing(Run(definition: definition, started: now.realtime))
        waitsNoMore(queue)
        queues[queue].running += 1
        move(entries.deliveries, from: .pending, to: .running, source: source, target)
        changeEntries(-entries.count, queue: queue)
        actions.append(.report(.operation(operations[ref].id, .executing)))
        perform(ref, definition, entries)
    }

    /// From now on events make the next operation.
    private mutating func close(_ ref: OperationRef) {
        guard !operations[ref].isClosed else { return }
        operations[ref].isClosed = true
        for key in operations[ref].keys { keys.close(key, ref) }
    }

    /// An operation has ended and leaves every line it stands in.
    mutating func leaveLines(_ ref: OperationRef) {
        for key in operations[ref].keys {
            if let next = keys.leave(key, ref, in: operations) { keyFreed(next) }
        }
        touch(queue: operations[ref].queue)
    }
}
