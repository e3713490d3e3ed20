import WatchFile

/// `Overlap=`: what a delivery does when an operation with its key already runs.
extension Engine {
    func overlap(_ source: Int, _ handler: Int) -> Overlap {
        if let written = handlers[handler].definition.value.overlap { return written }
        guard sources[source].isTimer else { return .wait }
        if sources[source].key == .none { return .parallel }
        // None of the elapses is to be lost.
        return sources[source].keepsElapses ? .wait : .skip
    }

    /// The operation that has started with one of these keys.
    func runner(_ names: [KeyTable.Name]) -> UInt64? {
        for name in names {
            guard let key = keys.index(of: name), let first = keys[key].line.first, operations.isAlive(first) else {
                continue
            }
            if operations[first].hasStarted { return operations[first].id }
        }
        return nil
    }

    // MARK: Overlap=restart

    private func restarts(_ ref: OperationRef) -> Bool {
        !operations[ref].isRerun
            && handlers[operations[ref].handler].definition.value.overlap == .restart
    }

    /// An operation has taken its place: it may have to end the one that runs.
    mutating func noteRestart(_ ref: OperationRef) {
        guard operations[ref].station == .keys, restarts(ref), victims(of: ref) != nil else { return }
        restarting.append(ref)
        areRestartsMoved = true
    }

    /// An operation starts: those next in the lines of its keys may have to end it.
    mutating func noteRestarts(behind ref: OperationRef) {
        guard handlers[operations[ref].handler].definition.value.overlap == .restart else { return }
        for key in operations[ref].keys {
            if let second = keys.second(key, in: operations), restarts(operations.ref(second)) {
                restarting.append(operations.ref(second))
                areRestartsMoved = true
            }
        }
    }

    /// Ends what runs for those whose turn has come but for it.
    mutating func restartWhatMay() {
        areRestartsMoved = false
        restarting.removeAll { !operations.isAlive($0) || operations[$0].station != .keys }
        for ref in restarting {
            guard operations.isAlive(ref), operations[ref].station == .keys, let victims = victims(of: ref),
                mayReplace(ref, victims)
            else { continue }
            for victim in victims {
                if operations[victim].runs.isEmpty {
                    supersede(victim)
                } else {
                    startNoMore(victim, .superseded)
                    terminate(victim, .superseded)
                }
            }
        }
    }

    /// The operations that keep an operation from its keys, if nothing but those does and all of them have started.
    private func victims(of ref: OperationRef) -> [OperationRef]? {
        var victims: [OperationRef] = []
        let ticket = operations.ticket(ref)
        for key in operations[ref].keys {
            guard let first = keys[key].line.first, first != ticket else { continue }
            let victim = operations.ref(first)
            guard operations.isAlive(first), operations[first].hasStarted,
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
        for place in queues[queue].chain {
            let taken = queues[place].runsThrough - runs.count { $0.queues.contains(place) }
            if taken >= queues[place].width { return false }
        }
        return handlers[operations[ref].handler].demands.allSatisfy { demand in
            let held = runs.flatMap(\.held).filter { $0.semaphore == demand.semaphore }.reduce(0) { $0 + $1.count }
            return semaphores[demand.semaphore].available + held >= demand.need(operations[ref])
                && oldestInLine(before: ticket, demand.semaphore) == nil
        }
    }

    /// Nobody but those that make room stands before it.
    private mutating func isNext(_ ticket: Ticket, _ queue: Int, _ victims: Set<Ticket>) -> Bool {
        for place in queues[queue].chain {
            guard let first = queues[place].barriers.first, first < ticket else { continue }
            guard victims.contains(first), place == queue, queues[place].barriers.isFirstFree,
                queues[place].barriers.second == ticket, queues[place].barriers.countBehindFirst == 0
            else { return false }
        }
        if queues[queue].isSerial {
            return queues[queue].line.peek(level: 2, in: operations, at: nil, but: victims) == ticket
        }
        // Any ready operation would take the width that ending the old run frees.
        return queues[queue].line.usedLevels.allSatisfy { level in
            guard level <= Int(operations[ticket].level) else { return true }
            let first = firstReady(queue, level: level)
            return first.map { level == Int(operations[ticket].level) && ticket < $0 } ?? true
        }
    }

    /// The runs of an operation have ended for a newer one: its events join that.
    mutating func supersede(_ ref: OperationRef) {
        guard let next = successor(of: ref) else {
            // A stop has left the newer one to the next start, and so this one.
            if life.isStopping, isDurable(ref) {
                operations[ref].runs = []
                return setAside(ref)
            }
            return finish(ref, .cancelled, reason: "ended for a newer operation, which was cancelled")
        }
        let (old, new) = (operations[ref], operations[next])
        let target = SourceState.Target(handler: old.handler, queue: old.queue)
        let deliveries = old.entries.deliveries
        move(deliveries, from: old.isRunning ? .running : .pending, to: .pending, source: old.source, target)
        if !old.isRunning { changeLoad(-old.entries.load, queue: old.queue) }
        operations[ref].entries = EntryList()
        var heir = next
        if old.source == new.source, old.queue == new.queue, !old.isOwn, !new.isOwn {
            let before = new.entries.load
            operations[next].entries.rejoin(old.entries, merge: sources[old.source].merge)
            operations[next].joined += deliveries
            countCoalesced(max(0, deliveries - old.joined), source: old.source, target)
            changeLoad(operations[next].entries.load - before, queue: old.queue)
            saveAsWhole(next)
        } else {
            heir = runAgain(old)
        }
        calls.handOver(from: ref.id, to: heir.id)
        finish(ref, .superseded, reason: "superseded by operation \(new.id)", successor: heir.id)
    }

    private func successor(of ref: OperationRef) -> OperationRef? {
        for key in operations[ref].keys {
            guard let second = keys.second(key, in: operations), !operations[second].hasStarted else { continue }
            return operations.ref(second)
        }
        return nil
    }

    /// Events of another source or queue cannot join, nor those of a `Run`: they make an operation of their own, behind
    /// the newer one.
    private mutating func runAgain(_ old: Operation) -> OperationRef {
        var draft = Operation()
        (draft.handler, draft.queue, draft.source) = (old.handler, old.queue, old.source)
        (draft.entries, draft.joined, draft.depth) = (old.entries, old.joined, old.depth)
        (draft.isClosed, draft.isRerun) = (true, true)
        (draft.isByHand, draft.isOwn) = (old.isByHand, old.isOwn)
        let ref = insert(draft, old.keys.map { keys[$0].name })
        begin(ref)
        return ref
    }
}
