import WatchFile

/// A reason why an operation may not start.
enum Obstacle: Equatable, Sendable {
    /// The store fails, and it has to be kept safe.
    case store
    /// Its whole queue is being cancelled, or watchd has stopped.
    case closed
    case suspended(queue: Int)
    /// `main` waits for it.
    case reload(queue: Int)
    /// The operation that has one of its keys.
    case key(Ticket)
    /// On a serial queue the head comes first.
    case order(Ticket)
    /// A barrier of a queue that it runs through. `isOlder`: it was submitted before.
    case barrier(Ticket, queue: Int, isOlder: Bool)
    /// The operation is a barrier, and so many were submitted before it.
    case beforeBarrier(count: Int)
    /// `RateLimit=`.
    case rate
    case width(queue: Int)
    case slot
    case semaphore(SemaphoreDemand, Scheduler.SemaphoreLack)
}

/// The rule of why something may not start: an operation starts exactly when nothing of this stands before it and it is
/// its turn among those of its queue. Starting, the lines of semaphores, `explain` and `status` read it here.
extension Scheduler {
    /// The first obstacle before the candidate of a queue, whose keys and order its line has seen to.
    func obstacle(before ticket: Ticket, on queue: Int) -> Obstacle? {
        if let obstacle = placeObstacle(before: ticket, on: queue) { return obstacle }
        for demand in demands(ticket) {
            if let lack = lack(of: demand, ticket) { return .semaphore(demand, lack) }
        }
        return nil
    }

    /// The first obstacle but for semaphores: its queue has no room for it, or may start nothing now.
    func placeObstacle(before ticket: Ticket, on queue: Int) -> Obstacle? {
        if !isOpen(queue) { return closing(queue) }
        if let place = barrierPlace(before: ticket, of: queue), let first = lanes[place].barriers.first {
            return .barrier(first, queue: place, isOlder: first < ticket)
        }
        if lanes[queue].rate.isFull(at: surroundings.now) { return .rate }
        if let full = fullPlace(queue, for: ticket) { return .width(queue: full) }
        return hasSlot(ticket, on: queue) ? nil : .slot
    }

    /// All obstacles before an operation that is submitted, the first to end in front.
    func obstacles(before ref: OperationRef) -> [Obstacle] {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        var found: [Obstacle] = []
        if !surroundings.isStoreWorking, operations[ref].record.isDurable { found.append(.store) }
        found += keyObstacles(ref, ticket)
        for place in lanes[queue].chain {
            if lanes[place].isSuspended, surroundings.phase != .draining { found.append(.suspended(queue: place)) }
            if let first = lanes[place].barriers.first, first < ticket {
                found.append(.barrier(first, queue: place, isOlder: true))
            }
        }
        let barriers = lanes[queue].barriers
        if operations[ref].turn.isBarrier, barriers.first == ticket, !barriers.isFirstFree {
            found.append(.beforeBarrier(count: barriers.countBeforeFirst))
        }
        if lanes[queue].rate.isWaiting { found.append(.rate) }
        if let head = serialHead(queue), head != ticket {
            found.append(.order(head))
        } else if fullPlace(queue, for: ticket) != nil {
            found += lanes[queue].chain.filter { !lanes[$0].hasWidth }.map { .width(queue: $0) }
        }
        for demand in demands(ticket) {
            if let lack = lack(of: demand, ticket) { found.append(.semaphore(demand, lack)) }
        }
        if !hasSlot(ticket, on: queue) { found.append(.slot) }
        if let main = lanes[queue].chain.first(where: { isWaitingForReload($0) }) { found.append(.reload(queue: main)) }
        // Nothing has waited for the rate yet.
        if found.isEmpty, lanes[queue].rate.isFull(at: surroundings.now) { found.append(.rate) }
        return found
    }

    private func keyObstacles(_ ref: OperationRef, _ ticket: Ticket) -> [Obstacle] {
        guard operations[ref].turn.isExclusive else { return [] }
        return operations[ref].keys.compactMap { key in
            guard let first = keys[key].line.first, first != ticket, operations.isAlive(first) else { return nil }
            return .key(first)
        }
    }

    // MARK: Of a queue

    /// Nothing that a queue runs through is suspended, and it is not being cancelled.
    func isOpen(_ queue: Int) -> Bool {
        switch surroundings.phase {
        case .running, .reloading: break
        // Only finalizers are left then.
        case .draining: return true
        case .drained: return false
        }
        if lanes[queue].rules.isDurable, !surroundings.isStoreWorking { return false }
        if lanes[queue].cancellations > 0 { return false }
        return lanes[queue].chain.allSatisfy { !isHeld($0) }
    }

    private func isHeld(_ place: Int) -> Bool { lanes[place].isSuspended || isWaitingForReload(place) }

    private func isWaitingForReload(_ place: Int) -> Bool {
        surroundings.phase == .reloading && lanes[place].rules.isMain
    }

    /// The reason why a queue is not open.
    private func closing(_ queue: Int) -> Obstacle {
        if lanes[queue].rules.isDurable, !surroundings.isStoreWorking { return .store }
        guard let place = lanes[queue].chain.first(where: { isHeld($0) }) else { return .closed }
        return lanes[place].isSuspended ? .suspended(queue: place) : .reload(queue: place)
    }

    private func serialHead(_ queue: Int) -> Ticket? {
        lanes[queue].rules.isSerial ? lanes[queue].line.peek(level: 2, in: operations, at: nil) : nil
    }

    // MARK: Of an operation

    /// Whether an operation stands first in the lines of all its keys.
    func hasKeys(_ ref: OperationRef) -> Bool {
        guard operations[ref].turn.isExclusive else { return true }
        let ticket = operations.ticket(ref)
        return operations[ref].keys.allSatisfy { keys[$0].line.first == ticket }
    }

    func barrierPlace(before ticket: Ticket, of queue: Int) -> Int? {
        lanes[queue].chain.first { place in
            guard let first = lanes[place].barriers.first, first != ticket else { return false }
            // After a reload somebody older may stand behind one that runs.
            return first < ticket || (lanes[place].barriers.running > 0 && !operations[ticket].progress.isRunning)
        }
    }

    func hasSlot(_ ticket: Ticket, on queue: Int) -> Bool {
        slots.isFree(for: qos(on: queue, operations[ticket].turn)) || !needsProcess(ticket)
    }

    func needsProcess(_ ticket: Ticket) -> Bool { needs[operations[ticket].handler].isProcess }

    func demands(_ ticket: Ticket) -> [SemaphoreDemand] { needs[operations[ticket].handler].semaphores }
}
