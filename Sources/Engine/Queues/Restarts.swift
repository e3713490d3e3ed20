/// `Overlap=restart`: which operation may have to end for a newer one of its key.
extension Scheduler {
    private func restarts(_ ref: OperationRef) -> Bool {
        !operations[ref].descent.isRerun && needs[operations[ref].handler].isRestart
    }

    /// An operation has taken its place: it may have to end the one that runs.
    mutating func noteRestart(_ ref: OperationRef) {
        guard operations[ref].turn.station == .keys, restarts(ref), victims(of: ref) != nil else { return }
        restarting.append(ref)
        areRestartsMoved = true
    }

    /// An operation starts: those next in the lines of its keys may have to end it.
    mutating func noteRestarts(behind ref: OperationRef) {
        guard needs[operations[ref].handler].isRestart else { return }
        for key in operations[ref].keys {
            if let second = keys.second(key, in: operations), restarts(operations.ref(second)) {
                restarting.append(operations.ref(second))
                areRestartsMoved = true
            }
        }
    }

    /// Operations that may have to end others now, in order.
    mutating func takeRestarts() -> [OperationRef] {
        areRestartsMoved = false
        restarting.removeAll { !operations.isAlive($0) || operations[$0].turn.station != .keys }
        return restarting
    }

    /// The operations that are to be ended for one, as it lacks nothing but what they hold; `nil`: it lacks more.
    mutating func replaceable(by ref: OperationRef) -> [OperationRef]? {
        guard operations.isAlive(ref), operations[ref].turn.station == .keys, let victims = victims(of: ref),
            mayReplace(ref, victims)
        else { return nil }
        return victims
    }

    /// The operation that comes after one in a line of its keys and has not started.
    func successor(of ref: OperationRef) -> OperationRef? {
        for key in operations[ref].keys {
            guard let second = keys.second(key, in: operations), !operations[second].progress.hasStarted else {
                continue
            }
            return operations.ref(second)
        }
        return nil
    }

    /// The operations that keep an operation from its keys, if nothing but those does and all of them have started.
    private func victims(of ref: OperationRef) -> [OperationRef]? {
        var victims: [OperationRef] = []
        let ticket = operations.ticket(ref)
        for key in operations[ref].keys {
            guard let first = keys[key].line.first, first != ticket else { continue }
            let victim = operations.ref(first)
            guard operations.isAlive(first), operations[first].progress.hasStarted,
                keys.second(key, in: operations) == ticket
            else { return nil }
            if !victims.contains(victim) { victims.append(victim) }
        }
        return victims
    }

    /// Whether an operation lacks nothing but what the others hold.
    private mutating func mayReplace(_ ref: OperationRef, _ victims: [OperationRef]) -> Bool {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        let tickets = Set(victims.map { operations.ticket($0) })
        guard isOpen(queue), isNext(ticket, queue, tickets), isWithinRate(queue) else { return false }
        let runs = victims.flatMap { operations[$0].runs }
        for place in lanes[queue].chain {
            let taken = lanes[place].runsThrough - runs.count { $0.queues.contains(place) }
            if taken >= lanes[place].rules.width { return false }
        }
        return demands(ticket).allSatisfy { demand in
            let held = runs.flatMap(\.held).filter { $0.semaphore == demand.semaphore }.reduce(0) { $0 + $1.count }
            return semaphores[demand.semaphore].available + held >= demand.need(operations[ref])
                && oldestInLine(before: ticket, demand.semaphore) == nil
        }
    }

    /// Nobody but those that make room stands before it.
    private mutating func isNext(_ ticket: Ticket, _ queue: Int, _ victims: Set<Ticket>) -> Bool {
        for place in lanes[queue].chain {
            guard let first = lanes[place].barriers.first, first < ticket else { continue }
            guard victims.contains(first), place == queue, lanes[place].barriers.isFirstFree,
                lanes[place].barriers.second == ticket, lanes[place].barriers.countBehindFirst == 0
            else { return false }
        }
        if lanes[queue].rules.isSerial {
            return lanes[queue].line.peek(level: 2, in: operations, at: nil, but: victims) == ticket
        }
        // Any ready operation would take the width that ending the old run frees.
        return lanes[queue].line.usedLevels.allSatisfy { level in
            guard level <= Int(operations[ticket].turn.level) else { return true }
            let first = firstReady(queue, level: level)
            return first.map { level == Int(operations[ticket].turn.level) && ticket < $0 } ?? true
        }
    }
}
