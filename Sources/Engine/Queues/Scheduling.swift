import WatchFile

/// The candidate of each queue, and its way to the start.
extension Scheduler {
    // MARK: The candidate

    /// The operation that a queue wants to start now, as far as its own order and barriers are concerned.
    mutating func candidate(_ queue: Int) -> Ticket? {
        if lanes[queue].rules.isSerial {
            guard let head = self[queue].line.first(level: 2, in: operations, at: nil), isCalled(head) else {
                return nil
            }
            return barrier(before: head, of: queue) == nil ? head : nil
        }
        for level in lanes[queue].line.usedLevels {
            guard let ticket = firstReady(queue, level: level) else { continue }
            if barrier(before: ticket, of: queue) == nil { return ticket }
        }
        guard let first = lanes[queue].barriers.first, lanes[queue].barriers.isFirstFree,
            isCalled(first), barrier(before: first, of: queue) == nil,
            // After a reload something younger may run.
            operations[first].progress.isRunning || lanes[queue].runsThrough == 0
        else { return nil }
        return first
    }

    /// The oldest of a level that is ready, or waits for semaphores that it could take now.
    mutating func firstReady(_ queue: Int, level: Int) -> Ticket? {
        let ticket = self[queue].line.first(level: level, in: operations, at: .queue)
        guard let parked = firstParked(queue, level: level) else { return ticket }
        return ticket.map { min($0, parked) } ?? parked
    }

    /// The queue, of those that `queue` runs through, whose barrier keeps an operation waiting; it will wake it.
    private mutating func barrier(before ticket: Ticket, of queue: Int) -> Int? {
        guard let place = barrierPlace(before: ticket, of: queue) else { return nil }
        if place != queue, !lanes[place].behindBarrier.contains(queue) { self[place].behindBarrier.append(queue) }
        return place
    }

    // MARK: Standing in line

    /// Lets a queue stand in line with its candidate.
    mutating func pump(_ queue: Int) {
        guard lanes[queue].isInUse, isOpen(queue), let ticket = candidate(queue) else { return }
        if let standing = lanes[queue].standing, standing.ticket == ticket { return }
        guard isWithinRate(queue) else { return }
        if let full = fullPlace(queue, for: ticket) {
            self[queue].standing = nil
            // Where nothing else runs through it, only a run of its own can end, and that wakes it anyway.
            if lanes[full].through.count > 1 { stand(queue, ticket, .target(full)) }
            return
        }
        stand(queue, ticket, needsProcess(ticket) ? .slots : .agenda)
    }

    private mutating func stand(_ queue: Int, _ ticket: Ticket, _ spot: Lane.Standing.Spot) {
        self[queue].standing = Lane.Standing(ticket: ticket, spot: spot)
        let contender = SlotLines.Contender(ticket: ticket, queue: queue)
        switch spot {
        case .agenda: agenda.insert(contender)
        case .slots:
            slots.insert(contender, qos(on: queue, operations[ticket].turn))
            slots.trim(in: lanes)
            // An operation behind it that waits for a semaphore, and needs no slot, steps out of its line.
            if lanes[queue].parked.through > 0, !hasSlot(ticket, on: queue) { areSemaphoresMoved = true }
        case .target(let target):
            self[target].contenders.insert(contender)
            if lanes[target].contenders.count > 2 * lanes.count + 64 {
                let lanes = lanes
                self[target].contenders.removeAll { !lanes.isStanding($0, at: spot) }
            }
        }
    }

    /// The contender whose turn it is, taken out of its line.
    mutating func nextContender() -> SlotLines.Contender? {
        while let first = agenda.first, !lanes.isStanding(first, at: .agenda) { agenda.removeFirst() }
        let slot = slots.first(in: lanes)
        if let first = agenda.first, slot.map({ first < $0.contender }) ?? true {
            agenda.removeFirst()
            return first
        }
        guard let slot else { return nil }
        slots.remove(slot.contender, slot.qos)
        return slot.contender
    }

    /// Starts what nothing stands before; lets wait for semaphores what lacks nothing else.
    mutating func feed(_ contender: SlotLines.Contender) -> Step {
        let queue = contender.queue
        self[queue].standing = nil
        touch(queue: queue)
        guard candidate(queue) == contender.ticket else { return .done }
        switch obstacle(before: contender.ticket, on: queue) {
        case nil: return .start(operations.ref(contender.ticket))
        case .semaphore: park(contender.ticket)
        default: break
        }
        return .done
    }

    // MARK: Rates

    /// Whether `RateLimit=` lets one more start now; else the queue is looked at again when it does.
    mutating func isWithinRate(_ queue: Int) -> Bool {
        let (isFree, wait) = self[queue].rate.look(at: surroundings.now)
        if let wait { noteRateWait(queue, until: wait) }
        return isFree
    }

    mutating func rateMayBeBack(_ queue: Int) {
        guard lanes[queue].isInUse, self[queue].rate.elapsed(at: surroundings.now) else { return }
        touch(queue: queue)
        if !restarting.isEmpty { areRestartsMoved = true }
    }

    // MARK: Process slots

    /// `realtime`: now, on the wall clock.
    mutating func takeSlot(realtime: Int64) {
        slots.take(realtime: realtime)
        if parked > 0 { areSemaphoresMoved = true }
    }

    mutating func giveSlot() {
        slots.give()
        if parked > 0 { areSemaphoresMoved = true }
    }
}
