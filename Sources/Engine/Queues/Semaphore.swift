import WatchFile

/// `[Semaphore]`: all or none, in order of submission, and nobody holds anything while it waits.
extension Scheduler {
    /// Why an operation may not take what it needs of a semaphore now.
    enum SemaphoreLack: Equatable, Sendable {
        case units
        /// Enough is there, and somebody older waits for some of it.
        case turn(behind: Ticket)
    }

    /// Whether an operation may take what it needs of all semaphores.
    func mayTake(_ ticket: Ticket) -> Bool { demands(ticket).allSatisfy { lack(of: $0, ticket) == nil } }

    /// `nil`: it may take what it needs. Starting, `explain`, `status` and the search for deadlocks ask here.
    func lack(of demand: SemaphoreDemand, _ ticket: Ticket) -> SemaphoreLack? {
        let need = demand.need(operations[ticket])
        guard need > 0 else { return nil }
        guard semaphores[demand.semaphore].available >= need else { return .units }
        return oldestInLine(before: ticket, demand.semaphore).map { .turn(behind: $0) }
    }

    /// Of a queue that may start nothing now, nobody stands in the line of a semaphore.
    func oldestInLine(before ticket: Ticket, _ semaphore: Int) -> Ticket? {
        guard semaphores[semaphore].waiting > 0 else { return nil }
        return semaphores[semaphore].lines.reduce(nil) { oldest, line in
            guard let first = line.value.peek(in: operations, at: .semaphores), first < oldest ?? ticket else {
                return oldest
            }
            return mayStartNow(first, on: line.key.queue) ? first : oldest
        }
    }

    /// Its queue has room for it and may start one more now, nothing stands before it, and there is a process slot if
    /// it needs one.
    func mayStartNow(_ ticket: Ticket, on queue: Int) -> Bool {
        placeObstacle(before: ticket, on: queue) == nil && !isBehindOneWithoutSlot(ticket, on: queue)
    }

    /// An operation that waits for a process slot is not passed by those of its queue that need none.
    private func isBehindOneWithoutSlot(_ ticket: Ticket, on queue: Int) -> Bool {
        let own = Int(operations[ticket].turn.level)
        return lanes[queue].line.usedLevels.contains { level in
            guard level <= own, let first = lanes[queue].line.peek(level: level, in: operations, at: .queue) else {
                return false
            }
            return (level < own || first < ticket) && !hasSlot(first, on: queue)
                && barrierPlace(before: first, of: queue) == nil
        }
    }

    // MARK: Waiting

    /// It lacks nothing but semaphores: it stands in the lines of all it needs, and starts from there.
    mutating func park(_ ticket: Ticket) {
        let ref = operations.ref(ticket)
        let queue = operations[ref].queue
        (operations[ref].turn.station, operations[ref].turn.waited) = (.semaphores, .semaphores)
        countParked(ref, 1)
        let place = SemaphoreState.Place(
            queue: queue, needsProcess: needsProcess(ticket), level: operations[ticket].turn.level)
        for demand in demands(ticket) where demand.need(operations[ticket]) > 0 {
            let waiting = semaphores[demand.semaphore].waiting
            semaphores[demand.semaphore].lines[place, default: TicketLine()].insert(ticket)
            semaphores[demand.semaphore].lines[place]?.trim(waiting, in: operations, at: .semaphores)
        }
        guard !lanes[queue].rules.isSerial, !operations[ref].turn.isBarrier else { return }
        self[queue].parked.insert(ticket, handler: operations[ref].handler)
        self[queue].parked.trim(lanes[queue].parked.through, in: operations)
    }

    /// It starts: what is left of it to start is ready.
    mutating func unpark(_ ref: OperationRef) {
        countParked(ref, -1)
        operations[ref].turn.station = .queue
        if operations[ref].progress.toStart > 1 || needs[operations[ref].handler].isSplit {
            standInQueue(ref)
        }
    }

    mutating func countParked(_ ref: OperationRef, _ change: Int) {
        parked += change
        for place in lanes[operations[ref].queue].chain { self[place].parked.through += change }
        for demand in needs[operations[ref].handler].semaphores {
            semaphores[demand.semaphore].waiting += change
            if semaphores[demand.semaphore].waiting == 0 { semaphores[demand.semaphore].lines = [:] }
        }
        if change < 0 { areSemaphoresMoved = true }
    }

    /// Ready, or waiting for semaphores that it could take now.
    func isCalled(_ ticket: Ticket) -> Bool {
        switch operations[ticket].turn.station {
        case .queue: true
        case .semaphores: mayTake(ticket)
        case .unsubmitted, .keys, .backingOff, .none, .gone: false
        }
    }

    /// The oldest of a level that could take the semaphores it waits for.
    mutating func firstParked(_ queue: Int, level: Int) -> Ticket? {
        guard !lanes[queue].parked.isEmpty else { return nil }
        // One look at the first of each handler: those behind it need the same.
        return self[queue].parked.firsts(in: operations).filter {
            Int(operations[$0].turn.level) == level && mayTake($0)
        }.min()
    }

    /// Something about semaphores has changed: the queues whose oldest could take all they need have their turn by its
    /// age. At most as many as there is for; the others stay.
    mutating func wakeParked() {
        areSemaphoresMoved = false
        for semaphore in semaphores.indices where semaphores[semaphore].waiting > 0 {
            wakeParked(at: semaphore)
            lookAgain(at: semaphore)
        }
    }

    /// Queues whose candidate could have taken the semaphore, and cannot any more: they have another one perhaps, which
    /// needs neither. A queue without width has one that stands nowhere.
    private mutating func lookAgain(at semaphore: Int) {
        for queue in Set(semaphores[semaphore].lines.keys.map(\.queue)).sorted() {
            let hasLost = lanes[queue].standing.map {
                operations[$0.ticket].turn.station == .semaphores && !mayTake($0.ticket)
            }
            if hasLost ?? !lanes[queue].hasWidth { touch(queue: queue) }
        }
    }

    private mutating func wakeParked(at semaphore: Int) {
        var left = semaphores[semaphore].available
        guard left > 0 else { return }
        for (ticket, queue) in heads(of: semaphore) {
            let need = demands(ticket).first { $0.semaphore == semaphore }?.need(operations[ticket]) ?? 0
            guard mayStartNow(ticket, on: queue) else {
                // At its rate a queue is looked at again when that lets one more start.
                if need <= left, isEnough(for: ticket) { _ = isWithinRate(queue) }
                continue
            }
            // Those behind it wait for it.
            guard need <= left, isEnough(for: ticket) else { return }
            touch(queue: queue)
            left -= need
        }
    }

    /// The first of each place, in order of submission.
    private mutating func heads(of semaphore: Int) -> [(ticket: Ticket, queue: Int)] {
        var heads: [(ticket: Ticket, queue: Int)] = []
        for place in Array(semaphores[semaphore].lines.keys) {
            if let head = semaphores[semaphore].lines[place]?.first(in: operations, at: .semaphores) {
                heads.append((head, place.queue))
            } else {
                semaphores[semaphore].lines[place] = nil
            }
        }
        return heads.sorted { $0.ticket < $1.ticket }
    }

    private func isEnough(for ticket: Ticket) -> Bool {
        demands(ticket).allSatisfy { semaphores[$0.semaphore].available >= $0.need(operations[ticket]) }
    }

    // MARK: Taking and giving

    /// Takes what a run needs. Returns what it gives back at its end.
    ///
    /// - Parameter known: the members that it holds already; `nil`: it gets some.
    mutating func take(_ ref: OperationRef, known: [AcquiredMembers]? = nil) -> [SemaphoreShare] {
        defer { operations[ref].progress.hasConsumed = true }
        let demands = needs[operations[ref].handler].semaphores
        guard !demands.isEmpty else { return [] }
        for demand in demands { semaphores[demand.semaphore].available -= demand.need(operations[ref]) }
        if parked > 0 { areSemaphoresMoved = true }
        return demands.filter { $0.acquire > 0 }.map { demand in
            let name = semaphores[demand.semaphore].name
            let own = known.map { held in held.first { $0.semaphore == name }?.members ?? [] }
            let members = semaphores[demand.semaphore].take(demand.acquire, known: own)
            return SemaphoreShare(
                semaphore: demand.semaphore, count: demand.acquire,
                members: AcquiredMembers(semaphore: name, members: members).members)
        }
    }

    /// Takes the units that so many lines of a worker may hold, as far as they are free; where they have names, all:
    /// whose names it has nobody knows.
    mutating func lend(_ definition: HandlerDefinition, lines: Int) -> [SemaphoreShare] {
        demands(of: definition).filter { $0.acquire > 0 }.compactMap { demand in
            let state = semaphores[demand.semaphore]
            let (most, overflows) = demand.acquire.multipliedReportingOverflow(by: lines)
            let count = state.definition.members.isEmpty && !overflows ? min(most, state.available) : state.available
            guard count > 0 else { return nil }
            semaphores[demand.semaphore].available -= count
            let members = semaphores[demand.semaphore].take(count)
            return SemaphoreShare(semaphore: demand.semaphore, count: count, members: members)
        }
    }

    mutating func giveBack(_ shares: [SemaphoreShare]) {
        for share in shares {
            semaphores[share.semaphore].giveBack(share.count, share.members)
            areSemaphoresMoved = true
            if !restarting.isEmpty { areRestartsMoved = true }
            releaseSemaphoreIfUnused(share.semaphore)
        }
    }

    /// The names of what a run holds.
    func members(of shares: [SemaphoreShare]) -> [AcquiredMembers] {
        shares.filter { !$0.members.isEmpty }.map {
            AcquiredMembers(semaphore: semaphores[$0.semaphore].name, members: $0.members)
        }
    }

    /// `Release=` of a handler that has succeeded.
    mutating func release(_ counts: [SemaphoreCount]) {
        for count in counts {
            guard let semaphore = semaphores.index(of: count.name) else { continue }
            _ = give(semaphore, count.count)
        }
    }

    /// Returns false if there would be more than can be counted, or than there are names.
    mutating func give(_ semaphore: Int, _ count: Int) -> Bool {
        guard semaphores[semaphore].definition.members.isEmpty else { return false }
        let (sum, overflows) = semaphores[semaphore].available.addingReportingOverflow(count)
        guard !overflows, sum <= Engine.semaphoreLimit else { return false }
        semaphores[semaphore].available = sum
        areSemaphoresMoved = true
        if !restarting.isEmpty { areRestartsMoved = true }
        return true
    }

    // MARK: Reload

    mutating func apply(_ definitions: [SemaphoreDefinition], _ change: inout ConfigurationChange) {
        let names = Set(definitions.map(\.name))
        for name in semaphores.names.sorted() where !names.contains(name) {
            guard let index = semaphores.index(of: name), !semaphores[index].isRemoved, !semaphores[index].isRoom else {
                continue
            }
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
            semaphores[index].redefine(definition)
            areSemaphoresMoved = true
        }
    }

    /// The shares that a handler takes, by semaphore.
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
            !needs.contains(where: { $0.semaphores.contains { $0.semaphore == index } })
        else { return }
        semaphores.release(index)
    }
}
