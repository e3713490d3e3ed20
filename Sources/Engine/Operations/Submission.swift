import Schedule
import WatchFile

/// From an operation that was made to one that has its place in line: `DelaySec=`, `After=`, `Requires=`.
extension Engine {
    /// Makes an operation of a delivery; it is submitted as soon as nothing keeps it.
    mutating func insert(_ draft: consuming Operation, _ names: [KeyTable.Name]) -> OperationRef {
        let definition = handlers[draft.handler].definition
        let (handler, source, queue, isClosed) = (draft.handler, draft.source, draft.queue, draft.isClosed)
        draft.id = takeOperationID()
        draft.submitted = now.realtime
        draft.made = now.monotonic
        draft.record.isDurable = isDurable(draft)
        apply(definition, to: &draft)
        let load = draft.entries.load
        let ref = operations.insert(draft)
        for name in names {
            operations[ref].keys.append(keys.enter(name, ref, isOpen: !isClosed))
        }
        handlers[handler].operations += 1
        sources[source].operations += 1
        queues[queue].waiting += 1
        queues[queue].arrivals.append(ref)
        changeLoad(load, queue: queue)
        for group in handlers[handler].groups { sources[group].group.outstanding += 1 }
        setStartDeadlines(ref, definition)
        save(ref)
        return ref
    }

    /// A finalizer belongs to its queue's end, not to a next start.
    private func isDurable(_ draft: Operation) -> Bool {
        guard queues[draft.queue].definition.isDurable || life.drain?.keepsAll == true else { return false }
        if case .finalizer = sources[draft.source].origin { return false }
        return true
    }

    /// What an operation that has not started takes from its handler's definition, again after a reload.
    func apply(_ definition: SharedDefinition, to operation: inout Operation) {
        operation.isBarrier = definition.value.constraints.isBarrier && queues[operation.queue].takesBarriers
        operation.level = level(definition, on: operation.queue)
        operation.isExclusive = definition.value.overlap != .parallel || definition.value.constraints.once != nil
    }

    /// Where it stands among the ready ones (`Priority=`).
    func level(_ definition: SharedDefinition, on queue: Int) -> UInt8 {
        UInt8(queues[queue].isSerial ? 2 : definition.value.constraints.priority.rank)
    }

    private mutating func setStartDeadlines(_ ref: OperationRef, _ definition: SharedDefinition) {
        let delay = Int64(clamping: definition.value.constraints.delay.microseconds)
        if delay > 0 {
            operations[ref].wakeUp = now.monotonic + min(delay, .max / 4)
            deadlines.add(.submission(ref), .monotonic, at: operations[ref].wakeUp)
            followDelay(ref)
        }
        setStartTimeout(ref)
    }

    /// Anew after a reload.
    mutating func setStartTimeout(_ ref: OperationRef) {
        if let time = startDeadline(ref) { deadlines.add(.startTimeout(ref), .monotonic, at: time) }
    }

    /// Monotonic microsecond by which it has to start (`StartTimeoutSec=`), counted from its delay on.
    func startDeadline(_ ref: OperationRef) -> Int64? {
        let definition = handlers[operations[ref].handler].definition
        let timeout = definition.value.constraints.startTimeout.microseconds
        guard timeout < UInt64(Int64.max / 4) else { return nil }
        let delay = Int64(clamping: definition.value.constraints.delay.microseconds)
        return operations[ref].made + min(delay, .max / 4) + Int64(timeout)
    }

    // MARK: Submission

    /// An operation was made: it has its place at once, or is told of as pending.
    mutating func begin(_ ref: OperationRef) {
        if isFree(ref), !waitsForWindow(ref) { submit(ref, isNew: true) } else { report(ref) }
    }

    mutating func submitIfFree(_ ref: OperationRef) {
        guard operations.isAlive(ref), operations[ref].station == .unsubmitted, isFree(ref), !waitsForWindow(ref)
        else { return }
        submit(ref, isNew: false)
    }

    private func isFree(_ ref: OperationRef) -> Bool {
        operations[ref].blockers == 0 && operations[ref].wakeUp <= now.monotonic
    }

    private mutating func submit(_ ref: OperationRef, isNew: Bool) {
        let ticket = operations.submit(ref)
        let queue = operations[ref].queue
        enterBarriers(ref)
        if operations[ref].isExclusive {
            for key in operations[ref].keys { keys.stand(key, ticket, in: operations) }
        }
        if queues[queue].isSerial { queues[queue].line.insert(ticket, level: 2) }
        if !isNew { save(ref) }
        setStation(ref)
        if isNew, case .pending = operations[ref].state { report(ref) }
        noteRestart(ref)
        touch(queue: queue)
    }

    /// Has its keys and is ready, or waits for them.
    mutating func setStation(_ ref: OperationRef) {
        guard hasKeys(ref) else {
            operations[ref].station = .keys
            return
        }
        operations[ref].station = .queue
        standInQueue(ref)
        if !operations[ref].isRunning { report(ref) }
    }

    /// Takes its place among the ready ones of a concurrent queue; on a serial one it has it since its submission.
    mutating func standInQueue(_ ref: OperationRef) {
        let queue = operations[ref].queue
        if !queues[queue].isSerial, !operations[ref].isBarrier {
            queues[queue].line.insert(operations.ticket(ref), level: Int(operations[ref].level))
        }
    }

    mutating func report(_ ref: OperationRef) {
        actions.append(.report(.operation(operations[ref].id, operations[ref].state)))
    }

    /// Is counted before and behind the barriers of every queue it runs through.
    mutating func enterBarriers(_ ref: OperationRef) {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        for place in queues[queue].chain {
            if place == queue, operations[ref].isBarrier {
                queues[place].barriers.submitBarrier(ticket)
            } else {
                queues[place].barriers.submit()
            }
        }
    }

    private mutating func leaveBarriers(_ ref: OperationRef) {
        let (queue, ticket) = (operations[ref].queue, operations.ticket(ref))
        for place in queues[queue].chain {
            if place == queue, operations[ref].isBarrier {
                queues[place].barriers.endBarrier(ticket)
                barrierMoved(place)
            } else if queues[place].barriers.end(ticket) {
                barrierMoved(place)
            }
        }
    }

    /// A queue's first barrier has ended, or may start now.
    private mutating func barrierMoved(_ queue: Int) {
        touch(queue: queue)
        if queues[queue].parkedThrough > 0 { areSemaphoresMoved = true }
        for other in queues[queue].behindBarrier { touch(queue: other) }
        queues[queue].behindBarrier = []
    }

    /// An operation has ended and leaves every line it stands in.
    mutating func leaveLines(_ ref: OperationRef) {
        let ticket = operations.ticket(ref)
        let isSubmitted = ticket.place != 0
        let station = operations[ref].station
        clocks.holdNoMore(ref.id)
        operations[ref].station = .gone
        operations[ref].place = 0
        if isSubmitted {
            operations[ref].place = ticket.place
            leaveBarriers(ref)
            if station == .semaphores { countParked(ref, -1) }
            operations[ref].place = 0
        }
        for key in operations[ref].keys {
            if let next = keys.leave(key, ref, ticket, in: operations) { keyFreed(next) }
            if let second = keys.second(key, in: operations) { noteRestart(operations.ref(second)) }
        }
        touch(queue: operations[ref].queue)
    }

    /// Stands first in one of its keys' lines now.
    private mutating func keyFreed(_ ticket: Ticket) {
        let ref = operations.ref(ticket)
        guard operations[ref].station == .keys, hasKeys(ref) else { return }
        setStation(ref)
        touch(queue: operations[ref].queue)
    }

    // MARK: Never started

    mutating func startTimedOut(_ ref: OperationRef) {
        guard operations.isWaiting(ref), let time = startDeadline(ref), time <= now.monotonic else { return }
        let span = handlers[operations[ref].handler].definition.value.constraints.startTimeout
        let cause = waitSentence(ref).map { " (\($0))" } ?? ""
        finish(ref, Verdict(result: .failed, reason: "waited too long for its start: StartTimeoutSec=\(span)\(cause)"))
    }
}
