import Schedule
import WatchFile

/// Who starts when.
extension Engine {
    /// Whether an operation stands first in the lines of all its keys.
    func hasKeys(_ ref: OperationRef) -> Bool {
        let operation = operations[ref]
        guard let key = operation.key else { return true }
        return keys[key].line.first == ref && operation.moreKeys.allSatisfy { keys[$0].line.first == ref }
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

    /// Starts what may start on a queue.
    mutating func pump(_ queue: Int) {
        guard phase != .draining, phase != .drained, queues.isInUse(queue) else { return }
        while !queues[queue].isSuspended, queues[queue].running < queues[queue].width, !isWaitingForReload(queue) {
            guard let ref = queues[queue].line.first(in: operations) else { return }
            guard hasKeys(ref) else {
                operations[ref].state = .pending
                if queues[queue].isSerial { return }
                queues[queue].line.removeFirst(ref)
                continue
            }
            if needsProcess(ref), processes >= settings.maxProcesses {
                if !queues[queue].isStarved { starved.insert(Starved(first: ref, queue: queue)) }
                queues[queue].isStarved = true
                return
            }
            start(ref)
        }
    }

    /// A process slot is free for the queue whose first operation has waited longest.
    mutating func feed(_ next: Starved) {
        guard queues.isInUse(next.queue), queues[next.queue].isStarved else { return }
        queues[next.queue].isStarved = false
        guard let first = queues[next.queue].line.first(in: operations) else { return }
        if first != next.first, let other = starved.first, other.first < first {
            queues[next.queue].isStarved = true
            starved.insert(Starved(first: first, queue: next.queue))
            return
        }
        pumpOnce(next.queue)
    }

    /// Starts one operation, then stands in line again: slots go by age over all queues.
    private mutating func pumpOnce(_ queue: Int) {
        guard phase != .draining, phase != .drained else { return }
        guard !queues[queue].isSuspended, queues[queue].running < queues[queue].width, !isWaitingForReload(queue),
            let ref = queues[queue].line.first(in: operations), hasKeys(ref), needsProcess(ref)
        else { return touch(queue: queue) }
        start(ref)
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
        queues[queue].waiting -= 1
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
