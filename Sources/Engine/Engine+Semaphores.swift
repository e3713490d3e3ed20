import WatchFile

/// `[Semaphore]`: all or none, in order of submission, and nobody holds anything while it waits.
extension Engine {
    private func demands(_ ticket: Ticket) -> [SemaphoreDemand] { handlers[operations[ticket].handler].demands }

    /// Whether an operation may take what it needs: enough is there, and nobody older waits for any of it.
    func mayTake(_ ticket: Ticket) -> Bool {
        demands(ticket).allSatisfy { demand in
            let need = demand.need(operations[ticket])
            return need == 0
                || (semaphores[demand.semaphore].available >= need && !isSomebodyOlder(ticket, demand.semaphore))
        }
    }

    /// Of a queue that may start nothing now, nobody stands in the line of a semaphore.
    func isSomebodyOlder(_ ticket: Ticket, _ semaphore: Int) -> Bool {
        guard semaphores[semaphore].waiting > 0 else { return false }
        return semaphores[semaphore].lines.contains { place, line in
            guard let first = line.peek(in: operations, at: .semaphores), first < ticket else { return false }
            return mayStartNow(first, on: place.queue)
        }
    }

    /// Its queue has room for it and may start one more now, nothing stands before it, and there is a process slot if
    /// it needs one.
    private func mayStartNow(_ ticket: Ticket, on queue: Int) -> Bool {
        isOpen(queue) && hasSlot(ticket, on: queue) && !isAtItsRate(queue)
            && barrierPlace(before: ticket, of: queue) == nil
            && queues[queue].chain.allSatisfy { queues[$0].runsThrough < queues[$0].width }
    }

    private func hasSlot(_ ticket: Ticket, on queue: Int) -> Bool {
        processes < SlotLines.limit(queues[queue].qos, maxProcesses: settings.maxProcesses) || !needsProcess(ticket)
    }

    // MARK: Waiting

    /// It lacks nothing but semaphores: it stands in the lines of all it needs.
    mutating func park(_ ticket: Ticket) {
        let ref = operations.ref(ticket)
        operations[ref].station = .semaphores
        countParked(ref, 1)
        let place = SemaphoreState.Place(queue: operations[ref].queue, needsProcess: needsProcess(ticket))
        for demand in demands(ticket) where demand.need(operations[ticket]) > 0 {
            semaphores[demand.semaphore].lines[place, default: TicketLine()].insert(ticket)
        }
    }

    mutating func countParked(_ ref: OperationRef, _ change: Int) {
        parked += change
        for place in queues[operations[ref].queue].chain { queues[place].parkedThrough += change }
        for demand in handlers[operations[ref].handler].demands {
            semaphores[demand.semaphore].waiting += change
            if semaphores[demand.semaphore].waiting == 0 { semaphores[demand.semaphore].lines = [:] }
        }
        if change < 0 { areSemaphoresMoved = true }
    }

    /// Something about semaphores has changed: who could take all it needs goes back to the line of its queue, where it
    /// has its turn by age. At most as many as there is for; the others stay.
    mutating func feedSemaphores() {
        areSemaphoresMoved = false
        for semaphore in semaphores.indices where semaphores[semaphore].waiting > 0 {
            feed(semaphore)
        }
    }

    private mutating func feed(_ semaphore: Int) {
        var left = semaphores[semaphore].available
        var heads: [(ticket: Ticket, place: SemaphoreState.Place)] = []
        for place in semaphores[semaphore].lines.keys { appendHead(semaphore, place, to: &heads) }
        heads.sort { $0.ticket < $1.ticket }
        while let first = heads.first {
            heads.removeFirst()
            let need = demands(first.ticket).first { $0.semaphore == semaphore }?.need(operations[first.ticket]) ?? 0
            let mayStart = mayStartNow(first.ticket, on: first.place.queue)
            // Who cannot start anyway has its turn when its queue has; nobody waits for it.
            if need > left || !mayTake(first.ticket) {
                if mayStart { return }
                continue
            }
            unpark(operations.ref(first.ticket))
            guard mayStart else { continue }
            left -= need
            appendHead(semaphore, first.place, to: &heads)
            heads.sort { $0.ticket < $1.ticket }
        }
    }

    private mutating func appendHead(
        _ semaphore: Int, _ place: SemaphoreState.Place, to heads: inout [(ticket: Ticket, place: SemaphoreState.Place)]
    ) {
        guard let head = semaphores[semaphore].lines[place]?.first(in: operations, at: .semaphores) else {
            semaphores[semaphore].lines[place] = nil
            return
        }
        heads.append((head, place))
    }

    private mutating func unpark(_ ref: OperationRef) {
        countParked(ref, -1)
        operations[ref].station = .queue
        standInQueue(ref)
        touch(queue: operations[ref].queue)
    }

    // MARK: Taking and giving

    /// Takes what a run needs. Returns what it gives back at its end.
    mutating func take(_ ref: OperationRef) -> [SemaphoreShare] {
        defer { operations[ref].hasConsumed = true }
        let demands = handlers[operations[ref].handler].demands
        guard !demands.isEmpty else { return [] }
        for demand in demands {
            semaphores[demand.semaphore].available -= demand.need(operations[ref])
            semaphores[demand.semaphore].held += demand.acquire
        }
        return demands.filter { $0.acquire > 0 }.map { SemaphoreShare(semaphore: $0.semaphore, count: $0.acquire) }
    }

    mutating func giveBack(_ shares: [SemaphoreShare]) {
        for share in shares {
            semaphores[share.semaphore].available += share.count
            semaphores[share.semaphore].held -= share.count
            areSemaphoresMoved = true
            if !restarting.isEmpty { areRestartsMoved = true }
            releaseSemaphoreIfUnused(share.semaphore)
        }
    }

    /// `Release=` of a handler that has succeeded.
    mutating func release(_ counts: [SemaphoreCount]) {
        for count in counts {
            guard let semaphore = semaphores.index(of: count.name) else { continue }
            _ = give(semaphore, count.count)
        }
    }

    /// Returns false if there would be more than can be counted.
    mutating func give(_ semaphore: Int, _ count: Int) -> Bool {
        let (sum, overflows) = semaphores[semaphore].available.addingReportingOverflow(count)
        guard !overflows, sum <= Self.semaphoreLimit else { return false }
        semaphores[semaphore].available = sum
        areSemaphoresMoved = true
        if !restarting.isEmpty { areRestartsMoved = true }
        return true
    }

    mutating func signal(semaphore name: String, count: Int) throws(CommandError) -> Int {
        guard case .semaphore(let semaphore) = try resolve(name, among: \.isSemaphore) else { return 0 }
        guard count >= 1, give(semaphore, count) else { throw .badCount(count) }
        // Those who wait take theirs first.
        settle()
        return semaphores[semaphore].available
    }

    // MARK: Reload

    mutating func applySemaphores(_ definitions: [SemaphoreDefinition], _ change: inout ConfigurationChange) {
        let names = Set(definitions.map(\.name))
        for name in semaphores.names.sorted() where !names.contains(name) {
            guard let index = semaphores.index(of: name), !semaphores[index].isRemoved else { continue }
            change.removed.append("semaphore/\(name)")
            semaphores[index].isRemoved = true
        }
        for definition in definitions {
            guard let index = semaphores.index(of: definition.name) else {
                change.added.append("semaphore/\(definition.name)")
                _ = semaphores.insert(SemaphoreState(definition))
                continue
            }
            let old = semaphores[index].definition
            if semaphores[index].isRemoved {
                change.added.append("semaphore/\(definition.name)")
            } else if old != definition {
                change.changed.append("semaphore/\(definition.name)")
            }
            semaphores[index].isRemoved = false
            semaphores[index].definition = definition
            semaphores[index].available += definition.value - old.value
        }
    }

    /// What a handler takes of which semaphore.
    func demands(of definition: HandlerDefinition) -> [SemaphoreDemand] {
        var demands: [Int: SemaphoreDemand] = [:]
        for count in definition.constraints.acquires {
            guard let semaphore = semaphores.index(of: count.name) else { continue }
            demands[semaphore, default: SemaphoreDemand(semaphore: semaphore)].acquire += count.count
        }
        for count in definition.constraints.consumes {
            guard let semaphore = semaphores.index(of: count.name) else { continue }
            demands[semaphore, default: SemaphoreDemand(semaphore: semaphore)].consume += count.count
        }
        return demands.values.sorted { $0.semaphore < $1.semaphore }
    }

    /// A semaphore that was removed stays while a run holds of it or a handler asks for it.
    mutating func releaseSemaphoreIfUnused(_ index: Int) {
        guard semaphores.isInUse(index), semaphores[index].isRemoved, semaphores[index].held == 0,
            semaphores[index].waiting == 0,
            !handlers.indices.contains(where: { handlers[$0].demands.contains { $0.semaphore == index } })
        else { return }
        semaphores.release(index)
    }
}
