/// An operation's place in the lines of its keys, of its queue and of the barriers, from its submission to its end.
extension Scheduler {
    /// Gives an operation its place behind all others. True: it is ready.
    mutating func submit(_ ref: OperationRef) -> Bool {
        let ticket = operations.submit(ref)
        let queue = operations[ref].queue
        enterBarriers(ref)
        if operations[ref].turn.isExclusive {
            for key in operations[ref].keys { keys.stand(key, ticket, in: operations) }
        }
        if lanes[queue].rules.isSerial { self[queue].line.insert(ticket, level: 2) }
        return setStation(ref)
    }

    /// Has its keys and is ready, or waits for them.
    mutating func setStation(_ ref: OperationRef) -> Bool {
        guard hasKeys(ref) else {
            (operations[ref].turn.station, operations[ref].turn.waited) = (.keys, .keys)
            return false
        }
        operations[ref].turn.station = .queue
        standInQueue(ref)
        return true
    }

    /// Takes its place among the ready ones of a concurrent queue; on a serial one it has it since its submission.
    mutating func standInQueue(_ ref: OperationRef) {
        let queue = operations[ref].queue
        if !lanes[queue].rules.isSerial, !operations[ref].turn.isBarrier {
            self[queue].line.insert(operations.ticket(ref), level: Int(operations[ref].turn.level))
        }
    }

    /// An operation waits no more on its queue: it has started or ended. `waiting`, `running`: those that are left.
    mutating func trimLine(_ queue: Int, waiting: Int, running: Int) {
        let isSerial = lanes[queue].rules.isSerial
        // Operations that have gone are dropped from the front of a serial line at once: its head is looked at often.
        if isSerial { _ = self[queue].line.first(level: 2, in: operations, at: nil) }
        self[queue].line.trim(waiting + running, in: operations, at: isSerial ? nil : .queue)
    }

    /// A worker has given an operation back: on a serial queue it has its place again.
    mutating func returnToLine(_ ref: OperationRef) {
        let queue = operations[ref].queue
        if lanes[queue].rules.isSerial { self[queue].line.insert(operations.ticket(ref), level: 2) }
    }

    // MARK: Barriers

    /// Is counted before and behind the barriers of every queue it runs through.
    mutating func enterBarriers(_ ref: OperationRef) {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        for place in lanes[queue].chain {
            if place == queue, operations[ref].turn.isBarrier {
                self[place].barriers.submitBarrier(ticket)
            } else {
                self[place].barriers.submit()
            }
        }
    }

    private mutating func leaveBarriers(_ ref: OperationRef) {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        for place in lanes[queue].chain {
            if place == queue, operations[ref].turn.isBarrier {
                self[place].barriers.endBarrier(ticket)
                barrierMoved(place)
            } else if self[place].barriers.end(ticket) {
                barrierMoved(place)
            }
        }
    }

    /// A queue's first barrier has ended, or may start now.
    private mutating func barrierMoved(_ queue: Int) {
        touch(queue: queue)
        if lanes[queue].parked.through > 0 { areSemaphoresMoved = true }
        for other in lanes[queue].behindBarrier { touch(queue: other) }
        self[queue].behindBarrier = []
    }

    /// An attempt of an operation has begun, or ended.
    mutating func countBarrier(_ ref: OperationRef, _ change: Int) {
        if operations[ref].turn.isBarrier { self[operations[ref].queue].barriers.running += change }
    }

    // MARK: Keys

    /// An operation that waits has another key. Returns those that were ready and are no more.
    mutating func join(_ name: KeyTable.Name, _ ref: OperationRef) -> OperationRef? {
        let key = keys.enter(name, ref, isOpen: true)
        operations[ref].keys.append(key)
        guard operations[ref].turn.isExclusive, operations[ref].turn.place != 0 else { return nil }
        let ticket = operations.ticket(ref)
        keys.stand(key, ticket, in: operations)
        // Being older, it may have stepped in before one that was ready.
        guard keys[key].line.first == ticket, let displaced = keys[key].line.second else { return nil }
        return readyNoMore(operations.ref(displaced)) ? operations.ref(displaced) : nil
    }

    /// An operation waits for its keys again. False: it was not ready.
    mutating func readyNoMore(_ ref: OperationRef) -> Bool {
        guard operations.isWaiting(ref) else { return false }
        switch operations[ref].turn.station {
        case .semaphores: countParked(ref, -1)
        case .queue: break
        case .unsubmitted, .keys, .backingOff, .none, .gone: return false
        }
        (operations[ref].turn.station, operations[ref].turn.waited) = (.keys, .keys)
        // The next in line may need less.
        touch(queue: operations[ref].queue)
        return true
    }

    /// No event joins it any more.
    mutating func close(_ ref: OperationRef) { for key in operations[ref].keys { keys.close(key, ref) } }

    // MARK: The end

    /// Nothing more of it is to be started.
    mutating func startNoMore(_ ref: OperationRef) {
        if operations[ref].turn.station == .semaphores { countParked(ref, -1) }
        operations[ref].progress.toStart = 0
        operations[ref].turn.station = .none
    }

    /// An operation has ended and leaves every line it stands in. Returns those that are ready since.
    mutating func remove(_ ref: OperationRef) -> [OperationRef] {
        let ticket = operations.ticket(ref)
        let station = operations[ref].turn.station
        operations[ref].turn.station = .gone
        operations[ref].turn.place = 0
        if ticket.place != 0 {
            operations[ref].turn.place = ticket.place
            leaveBarriers(ref)
            if station == .semaphores { countParked(ref, -1) }
            operations[ref].turn.place = 0
        }
        var ready: [OperationRef] = []
        for key in operations[ref].keys {
            if let next = keys.leave(key, ref, ticket, in: operations), keyFreed(next) {
                ready.append(operations.ref(next))
            }
            if let second = keys.second(key, in: operations) { noteRestart(operations.ref(second)) }
        }
        touch(queue: operations[ref].queue)
        operations.remove(ref)
        areRestartsMoved = true
        return ready
    }

    /// Stands first in one of its keys' lines now. True: it is ready.
    private mutating func keyFreed(_ ticket: Ticket) -> Bool {
        let ref = operations.ref(ticket)
        guard operations[ref].turn.station == .keys, hasKeys(ref) else { return false }
        touch(queue: operations[ref].queue)
        return setStation(ref)
    }
}
