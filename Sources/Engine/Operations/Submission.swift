import Schedule
import WatchFile

/// From an operation that was made to one that has its place in line: `DelaySec=`, `SettleSec=`,
/// `After=`, `Requires=`.
extension Engine {
    /// Makes an operation of a delivery; it is submitted as soon as nothing keeps it.
    mutating func insert(_ draft: consuming Operation, _ names: [KeyTable.Name]) -> OperationRef {
        let (handler, source, queue, isClosed) = (draft.handler, draft.source, draft.queue, draft.isClosed)
        draft.id = takeOperationID()
        let definition = takeDefinition(of: draft)
        draft.times.submitted = now.realtime
        draft.times.made = now.monotonic
        draft.record.isDurable = isDurable(draft)
        apply(definition, to: &draft)
        let load = draft.entries.load
        let ref = operations.insert(draft)
        for name in names {
            scheduler.operations[ref].keys.append(scheduler.keys.enter(name, ref, isOpen: !isClosed))
        }
        handlers[handler].operations += 1
        sources[source].operations += 1
        // `AfterSec=` counts from the operation's end, whatever has made it.
        if sources[source].isTimer { sources[source].timer.stopDelay() }
        queues[queue].waiting += 1
        queues[queue].arrivals.append(ref)
        changeLoad(load, queue: queue)
        for group in handlers[handler].groups { sources[group].group.outstanding += 1 }
        // A client's command has its own.
        if !traits(ref).isDisjoint(with: .startTimes) || !commands.isEmpty { setStartDeadlines(ref, definition) }
        save(ref)
        return ref
    }

    /// A finalizer belongs to its queue's end, not to a next start, and an operation that stands for a client goes with
    /// the client. An operation with a time waits for it across restarts.
    func isDurable(_ draft: Operation) -> Bool {
        if !commands.isEmpty, commands[draft.id]?.notBefore != nil { return true }
        if isDigest(source: draft.source) { return true }
        guard queues[draft.queue].definition.isDurable || life.drain?.keepsAll == true else { return false }
        if case .finalizer = sources[draft.source].origin { return false }
        return !isOfClient(draft.handler)
    }

    /// Gives an operation that has not started the properties of its handler's definition; again after a reload.
    func apply(_ definition: SharedDefinition, to operation: inout Operation) {
        operation.turn.isBarrier = definition.value.constraints.isBarrier && queues[operation.queue].takesBarriers
        operation.turn.level = level(definition, on: operation.queue, of: operation.id)
        operation.turn.isExclusive = definition.value.overlap != .parallel || definition.value.constraints.once != nil
    }

    // MARK: Submission

    /// An operation was made: it has its place at once, or is told of as pending.
    mutating func begin(_ ref: OperationRef) {
        let mayWait = traits(ref).contains(.windows) || !commands.isEmpty
        guard isFree(ref), !(mayWait && (waitsForWindow(ref) || waitsForCondition(ref))),
            joins.isEmpty || !waitsForJoin(ref)
        else {
            return report(ref)
        }
        submit(ref, isNew: true)
    }

    mutating func submitIfFree(_ ref: OperationRef) {
        guard operations.isAlive(ref), operations[ref].turn.station == .unsubmitted, isFree(ref), !waitsForWindow(ref),
            !waitsForCondition(ref), joins.isEmpty || !waitsForJoin(ref)
        else { return }
        submit(ref, isNew: false)
    }

    private func isFree(_ ref: OperationRef) -> Bool {
        operations[ref].blockers == 0 && operations[ref].times.wakeUp <= now.monotonic
            && (loops.heldBy.isEmpty || loops.heldBy[ref.id] == nil)
            && (!handlers[operations[ref].handler].traits.contains(.afterProcesses)
                || unreadyProcess(before: ref) == nil)
    }

    private mutating func submit(_ ref: OperationRef, isNew: Bool) {
        if !joins.isEmpty { joins[ref.id] = nil }
        if !isNew { operations[ref].turn.waited = .submission }
        let isReady = scheduler.submit(ref)
        if !isNew { save(ref) }
        if isReady { reportReady(ref) }
        if isNew, case .pending = operations[ref].state { report(ref) }
        scheduler.noteRestart(ref)
        scheduler.touch(queue: operations[ref].queue)
    }

    /// An operation has its keys. A part of one that runs tells nobody.
    mutating func reportReady(_ ref: OperationRef) { if !operations[ref].progress.isRunning { report(ref) } }

    mutating func report(_ ref: OperationRef) {
        actions.append(.report(.operation(operations[ref].id, operations[ref].state)))
    }
}
