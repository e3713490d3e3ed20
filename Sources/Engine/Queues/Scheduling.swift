import Schedule
import WatchFile

/// Decides which operation starts when.
///
/// Each queue names one operation that it wants to start: its *candidate*. With it the queue stands in one line: before
/// a target without free width, before the process slots, or, if it needs neither, on the agenda. Nothing
/// ever scans: freeing a resource wakes the first contender in its line. A contender is re-checked when its turn comes,
/// so a line may contain stale entries.
extension Engine {
    // MARK: The candidate

    /// Whether an operation stands first in the lines of all its keys.
    func hasKeys(_ ref: OperationRef) -> Bool {
        guard operations[ref].isExclusive else { return true }
        let ticket = operations.ticket(ref)
        return operations[ref].keys.allSatisfy { keys[$0].line.first == ticket }
    }

    /// Nothing that its queue runs through is suspended, and it is not being cancelled.
    func isOpen(_ queue: Int) -> Bool {
        switch life {
        case .starting, .running, .reloading: break
        // Only finalizers are left then.
        case .draining: return true
        case .drained: return false
        }
        if !journal.isWorking, queues[queue].definition.isDurable { return false }
        if isBeingCancelled(queue) { return false }
        return queues[queue].chain.allSatisfy { !queues[$0].isSuspended && !isWaitingForReload($0) }
    }

    /// The operation that a queue wants to start now, as far as its own order and barriers are concerned.
    mutating func candidate(_ queue: Int) -> Ticket? {
        if queues[queue].isSerial {
            guard let head = queues[queue].line.first(level: 2, in: operations, at: nil), isCalled(head) else {
                return nil
            }
            return barrier(before: head, of: queue) == nil ? head : nil
        }
        for level in queues[queue].line.usedLevels {
            guard let ticket = firstReady(queue, level: level) else { continue }
            if barrier(before: ticket, of: queue) == nil { return ticket }
        }
        guard let first = queues[queue].barriers.first, queues[queue].barriers.isFirstFree,
            isCalled(first), barrier(before: first, of: queue) == nil,
            // After a reload something younger may run.
            operations[first].isRunning || queues[queue].runsThrough == 0
        else { return nil }
        return first
    }

    /// The oldest of a level that is ready, or waits for semaphores that it could take now.
    mutating func firstReady(_ queue: Int, level: Int) -> Ticket? {
        let ticket = queues[queue].line.first(level: level, in: operations, at: .queue)
        guard let parked = firstParked(queue, level: level) else { return ticket }
        return ticket.map { min($0, parked) } ?? parked
    }

    /// The queue, of those that `queue` runs through, whose barrier keeps an operation waiting; it will wake it.
    private mutating func barrier(before ticket: Ticket, of queue: Int) -> Int? {
        guard let place = barrierPlace(before: ticket, of: queue) else { return nil }
        if place != queue, !queues[place].behindBarrier.contains(queue) { queues[place].behindBarrier.append(queue) }
        return place
    }

    func barrierPlace(before ticket: Ticket, of queue: Int) -> Int? {
        queues[queue].chain.first { place in
            guard let first = queues[place].barriers.first, first != ticket else { return false }
            // After a reload somebody older may stand behind one that runs.
            return first < ticket || (queues[place].runningBarriers > 0 && !operations[ticket].isRunning)
        }
    }

    // MARK: Standing in line

    /// Lets a queue stand in line with its candidate.
    mutating func pump(_ queue: Int) {
        guard queues.isInUse(queue), isOpen(queue), let ticket = candidate(queue) else { return }
        if let standing = queues[queue].standing, standing.ticket == ticket { return }
        guard isWithinRate(queue) else { return }
        if let full = queues[queue].chain.first(where: { queues[$0].runsThrough >= queues[$0].width }) {
            queues[queue].standing = nil
            // Where nothing else runs through it, only a run of its own can end, and that wakes it anyway.
            if queues[full].through.count > 1 { stand(queue, ticket, .target(full)) }
            return
        }
        stand(queue, ticket, needsProcess(ticket) ? .slots : .agenda)
    }

    private mutating func stand(_ queue: Int, _ ticket: Ticket, _ spot: QueueState.Standing.Spot) {
        queues[queue].standing = QueueState.Standing(ticket: ticket, spot: spot)
        let contender = SlotLines.Contender(ticket: ticket, queue: queue)
        switch spot {
        case .agenda: agenda.insert(contender)
        case .slots:
            slotLines.insert(contender, queues[queue].qos)
            slotLines.trim(in: queues)
            // Who waits for a semaphore behind it, and needs no slot, steps out of its line.
            if queues[queue].parkedThrough > 0, !hasSlot(ticket, on: queue) { areSemaphoresMoved = true }
        case .target(let target):
            queues[target].contenders.insert(contender)
            if queues[target].contenders.count > 2 * queues.count + 64 {
                let queues = queues
                self.queues[target].contenders.removeAll { !queues.isStanding($0, at: spot) }
            }
        }
    }

    func needsProcess(_ ticket: Ticket) -> Bool {
        handlers[operations[ticket].handler].definition.value.needsProcess
    }

    /// Feeds the contender whose turn it is. False: there is none.
    mutating func feedNext() -> Bool {
        while let first = agenda.first, !queues.isStanding(first, at: .agenda) { agenda.removeFirst() }
        let slot = slotLines.first(processes: processes, maxProcesses: settings.maxProcesses, in: queues)
        if let first = agenda.first, slot.map({ first < $0.contender }) ?? true {
            agenda.removeFirst()
            feed(first)
        } else if let slot {
            slotLines.remove(slot.contender, slot.qos)
            feed(slot.contender)
        } else {
            return false
        }
        return true
    }

    private mutating func feed(_ contender: SlotLines.Contender) {
        let queue = contender.queue
        queues[queue].standing = nil
        touch(queue: queue)
        guard isOpen(queue), candidate(queue) == contender.ticket, isWithinRate(queue),
            queues[queue].chain.allSatisfy({ queues[$0].runsThrough < queues[$0].width })
        else { return }
        if mayTake(contender.ticket) {
            start(operations.ref(contender.ticket))
        } else {
            park(contender.ticket)
        }
    }

    /// A target has width again: as many of its oldest contenders as it has width for may try. Those behind them may
    /// when these have been fed, if there is width still: they may be kept from starting by something else.
    mutating func wakeContenders(of target: Int) {
        var free = queues[target].width - queues[target].runsThrough
        while free > 0, let first = queues[target].contenders.removeFirst() {
            guard queues.isStanding(first, at: .target(target)) else { continue }
            queues[first.queue].standing = nil
            touch(queue: first.queue)
            free -= 1
        }
        queues[target].isWide = false
        if free == 0, queues[target].width > queues[target].runsThrough { noteWide(target, isFed: true) }
    }

    func hasContenders(_ target: Int) -> Bool { queues[target].contenders.count > 0 }

    /// `isFed`: its oldest contenders have been woken already.
    mutating func noteWide(_ target: Int, isFed: Bool = false) {
        guard hasContenders(target), !queues[target].isWide else { return }
        queues[target].isWide = true
        if isFed { stillWideTargets.append(target) } else { wideTargets.append(target) }
    }

    // MARK: Rates

    mutating func isWithinRate(_ queue: Int) -> Bool {
        guard let limit = queues[queue].definition.rateLimit else { return true }
        let next = queues[queue].rate.next(limit, now: now.monotonic)
        guard next > now.monotonic else { return true }
        if queues[queue].rateDeadline != next {
            queues[queue].rateDeadline = next
            deadlines.add(.queueRate(queue), .monotonic, at: next)
        }
        return false
    }

    func isAtItsRate(_ queue: Int) -> Bool {
        queues[queue].definition.rateLimit.map { queues[queue].rate.isFull($0, now: now.monotonic) } ?? false
    }

    mutating func queueRateMayBeBack(_ queue: Int) {
        guard queues.isInUse(queue), let time = queues[queue].rateDeadline, time <= now.monotonic else { return }
        queues[queue].rateDeadline = nil
        touch(queue: queue)
        if !restarting.isEmpty { areRestartsMoved = true }
    }

    // MARK: Width

    /// A run takes its place on its queue and the targets.
    mutating func takeWidth(_ queue: Int) {
        for place in queues[queue].chain {
            queues[place].runsThrough += 1
            if queues[place].parkedThrough > 0 { areSemaphoresMoved = true }
        }
    }

    mutating func giveWidth(_ places: [Int]) {
        for place in places {
            queues[place].runsThrough -= 1
            if queues[place].parkedThrough > 0 { areSemaphoresMoved = true }
            noteWide(place)
            touch(queue: place)
            if queues[place].isRemoved { releaseQueueIfUnused(place) }
        }
        if !restarting.isEmpty { areRestartsMoved = true }
    }
}
