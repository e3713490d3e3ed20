import WatchFile

/// How queues hang together (`Target=`), and all lines formed anew after a reload.
extension Engine {
    /// Everything that follows from the definitions of queues, handlers and semaphores together. Waiting operations
    /// keep their places; O(n log n), but only when the watch file has changed.
    mutating func formLines() {
        for queue in queues.indices {
            scheduler.define(queue: queue, queues[queue].definition, isSuspended: queues[queue].isSuspended)
        }
        linkQueues()
        for handler in handlers.indices {
            let definition = handlers[handler].definition.value
            scheduler.define(handler: handler, scheduler.needs(of: definition, crew: handlers[handler].crew))
        }
        scheduler.clearLines()
        let refs = operations.refs
        for ref in refs { redefine(ref) }
        let submitted = refs.filter { operations[$0].turn.place != 0 }.sorted {
            operations.ticket($0) < operations.ticket($1)
        }
        scheduler.standInKeys(submitted)
        for ref in submitted {
            let before = operations[ref].state
            scheduler.standAgain(ref)
            if operations[ref].state != before { report(ref) }
        }
        for queue in queues.indices { scheduler.touch(queue: queue) }
        scheduler.areSemaphoresMoved = true
        scheduler.areRestartsMoved = true
    }

    /// An operation takes the new definitions of its handler and queue.
    private mutating func redefine(_ ref: OperationRef) {
        let definition = definition(of: ref)
        // Of one that is tried again, too.
        operations[ref].turn.level = level(definition, on: operations[ref].queue, of: ref.id)
        if !operations[ref].progress.hasStarted {
            var operation = operations[ref]
            apply(definition, to: &operation)
            operations[ref] = operation
            setStartTimeout(ref)
            expectStart(ref)
        }
        scheduler.countRuns(ref)
        if !operations[ref].record.isDurable, isDurable(operations[ref]),
            !operations[ref].runs.contains(where: \.isAdopted)
        {
            operations[ref].record.isDurable = true
            followDelay(ref)
            save(ref)
            endHandlingAsKept(ref)
        }
    }

    // MARK: Targets

    private mutating func linkQueues() {
        let indices = queues.indices
        for queue in indices { scheduler[queue].through = [] }
        for queue in indices {
            let chain = chain(queue)
            scheduler[queue].chain = chain
            for place in chain { scheduler[place].through.append(queue) }
            scheduler[queue].qos = chain.reduce(.userInteractive) { min($0, queues[$1].definition.qos) }
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

extension Scheduler {
    /// The needs of a handler.
    func needs(of definition: HandlerDefinition, crew: Int?) -> Needs {
        let room = crew.map { [SemaphoreDemand(semaphore: crews[$0].room, acquire: 1)] } ?? []
        return Needs(
            semaphores: demands(of: definition) + room, isProcess: definition.needsProcess,
            isRestart: definition.overlap == .restart, isSplit: definition.stride != nil || definition.mostLists > 0,
            crew: crew)
    }

    mutating func clearLines() {
        keys.clearLines()
        slots.clear()
        agenda = Heap()
        parked = 0
        work.clearWide()
        clearPlaces()
        for semaphore in semaphores.indices {
            semaphores[semaphore].lines = [:]
            semaphores[semaphore].waiting = 0
        }
        for queue in lanes.indices where lanes[queue].isInUse { self[queue].clear() }
    }

    /// A run counts against the bounds of before and of now until it ends.
    mutating func countRuns(_ ref: OperationRef) {
        for index in operations[ref].runs.indices {
            var places = operations[ref].runs[index].startedOn
            for place in lanes[operations[ref].queue].chain where !places.contains(place) { places.append(place) }
            operations[ref].runs[index].queues = places
            guard let seat = operations[ref].runs[index].seat else {
                for place in places { self[place].runsThrough += 1 }
                continue
            }
            for place in places { takePlace(place, seat) }
        }
    }

    /// Operations with a place take it in the lines of their keys, in order: who has started has its keys, whatever its
    /// place.
    mutating func standInKeys(_ submitted: [OperationRef]) {
        for hasStarted in [true, false] {
            for ref in submitted
            where operations[ref].progress.hasStarted == hasStarted && operations[ref].turn.isExclusive {
                for key in operations[ref].keys { keys.stand(key, operations.ticket(ref), in: operations) }
            }
        }
    }

    mutating func standAgain(_ ref: OperationRef) {
        let queue = operations[ref].queue
        enterBarriers(ref)
        if lanes[queue].rules.isSerial { self[queue].line.insert(operations.ticket(ref), level: 2) }
        switch operations[ref].turn.station {
        case .unsubmitted, .backingOff, .none, .gone: return
        case .keys, .queue, .semaphores: break
        }
        if !setStation(ref) { noteRestart(ref) }
    }
}
