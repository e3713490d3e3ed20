import WatchFile

/// How queues hang together (`Target=`), and all lines formed anew after a reload.
extension Engine {
    /// Everything that follows from the definitions of queues, handlers and semaphores together. What waits keeps its
    /// place; O(n log n), but only when the watch file has changed.
    mutating func formLines() {
        linkQueues()
        for handler in handlers.indices { handlers[handler].demands = demands(of: handlers[handler].definition.value) }
        clearLines()
        let refs = operations.refs
        for ref in refs {
            let definition = handlers[operations[ref].handler].definition
            // Of one that is tried again, too.
            operations[ref].level = level(definition, on: operations[ref].queue)
            if !operations[ref].hasStarted {
                var operation = operations[ref]
                apply(definition, to: &operation)
                operations[ref] = operation
                setStartTimeout(ref)
            }
            countRuns(ref)
            if queues[operations[ref].queue].definition.isDurable, !operations[ref].record.isDurable,
                !operations[ref].runs.contains(where: \.isAdopted)
            {
                operations[ref].record.isDurable = true
                followDelay(ref)
                save(ref)
            }
        }
        let submitted = refs.filter { operations[$0].place != 0 }.sorted {
            operations.ticket($0) < operations.ticket($1)
        }
        // Who has started has its keys, whatever its place.
        for ref in submitted where operations[ref].hasStarted { standInKeys(ref) }
        for ref in submitted where !operations[ref].hasStarted { standInKeys(ref) }
        for ref in submitted { standAgain(ref) }
        for queue in queues.indices { touch(queue: queue) }
        areSemaphoresMoved = true
        areRestartsMoved = true
    }

    private mutating func clearLines() {
        keys.clearLines()
        slotLines.clear()
        agenda = Heap()
        parked = 0
        wideTargets = Deque()
        stillWideTargets = Deque()
        for semaphore in semaphores.indices {
            semaphores[semaphore].lines = [:]
            semaphores[semaphore].waiting = 0
        }
        for queue in queues.indices {
            queues[queue].line = QueueLine()
            queues[queue].parked = ParkedLines()
            queues[queue].barriers = BarrierLine()
            queues[queue].contenders = Heap()
            queues[queue].behindBarrier = []
            queues[queue].standing = nil
            queues[queue].isWide = false
            queues[queue].parkedThrough = 0
            queues[queue].runsThrough = 0
        }
    }

    /// A run counts against the bounds of before and of now until it ends.
    private mutating func countRuns(_ ref: OperationRef) {
        for index in operations[ref].runs.indices {
            var places = operations[ref].runs[index].startedOn
            for place in queues[operations[ref].queue].chain where !places.contains(place) { places.append(place) }
            operations[ref].runs[index].queues = places
            for place in places { queues[place].runsThrough += 1 }
        }
    }

    private mutating func standInKeys(_ ref: OperationRef) {
        guard operations[ref].isExclusive else { return }
        for key in operations[ref].keys { keys.stand(key, operations.ticket(ref), in: operations) }
    }

    private mutating func standAgain(_ ref: OperationRef) {
        let queue = operations[ref].queue
        enterBarriers(ref)
        if queues[queue].isSerial { queues[queue].line.insert(operations.ticket(ref), level: 2) }
        switch operations[ref].station {
        case .unsubmitted, .backingOff, .none, .gone: return
        case .keys, .queue, .semaphores: break
        }
        let before = operations[ref].state
        if hasKeys(ref) {
            operations[ref].station = .queue
            standInQueue(ref)
        } else {
            operations[ref].station = .keys
            noteRestart(ref)
        }
        if operations[ref].state != before { report(ref) }
    }

    // MARK: Targets

    private mutating func linkQueues() {
        for queue in queues.indices { queues[queue].through = [] }
        for queue in queues.indices {
            let chain = chain(queue)
            queues[queue].chain = chain
            for place in chain { queues[place].through.append(queue) }
            queues[queue].qos = chain.reduce(.userInteractive) { min($0, queues[$1].definition.qos) }
            queues[queue].environment = chain.reversed().flatMap { queues[$0].definition.environment }
        }
    }

    private func chain(_ queue: Int) -> [Int] {
        var chain = [queue]
        while let name = queues[chain[chain.count - 1]].definition.target, let target = queues.index(of: name),
            !chain.contains(target)
        {
            chain.append(target)
        }
        return chain
    }
}
