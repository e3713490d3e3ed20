import Schedule
package import WatchFile

/// Stored operations take their places again.
extension Engine {
    /// To be called before `start`; or later, when the store could not be opened before.
    ///
    /// Of each operation, `runs` are the processes that may still be seen: those that run, and those whose end can be
    /// known. They keep their places. An operation that was executing without a process may have done its work or not:
    /// it is redelivered.
    package mutating func restore(_ state: StoredState) {
        journal.ids.restore(state)
        for name in state.once.sorted() {
            guard let handler = handlers.index(of: name), handlers[handler].definition.value.constraints.once != nil
            else {
                journal.orphans.once.insert(name)
                continue
            }
            handlers[handler].isOnceDone = true
            // It may have waited for the store to tell.
            if operations.count > 0 { endOnce(handler) }
        }
        for (name, result) in state.verdicts {
            guard let handler = handlers.index(of: name) else { continue }
            handlers[handler].lastVerdict = handlers[handler].lastVerdict ?? result
        }
        for (name, suspensions) in state.suspensions.sorted(by: { $0.key < $1.key }) { restore(suspensions, of: name) }
        restore(state.timers)
        restore(booted: state.booted)
        for hold in state.held { restore(hold) }
        restore(state.processes)
        restore(state.workers)
        restoreGroups(state)
        restore(state.operations, state.results)
        lendToLeftWorkers()
        tellTallies(state)
        catchUp(state)
    }

    /// How the last operation of a handler ended, under an earlier watchd, where none has ended since.
    package mutating func restoreLast(of name: String, _ result: Result, ended: Int64) {
        guard let handler = handlers.index(of: name), handlers[handler].lastEnded == nil else { return }
        (handlers[handler].lastResult, handlers[handler].lastEnded) = (result, ended)
    }

    /// `OnBootSec=` of a timer has elapsed in this boot, as far as is known.
    package func hasBooted(_ id: SourceID) -> Bool { clocks.booted.contains(id) }

    /// In the order of submission.
    private mutating func restore(_ stored: [StoredOperation], _ results: [UInt64: Result] = [:]) {
        // Behind those that are here already, everybody gets a new place.
        let keepsPlaces = operations.count == 0
        // By id they are mostly in their order already. (Operations without a place come last.)
        let places = stored.indices.map { index in
            (place: stored[index].place == 0 ? UInt64.max : stored[index].place, id: stored[index].id)
        }
        let order = stored.indices.sorted { places[$0] < places[$1] }
        operations.reserveCapacity(operations.count + stored.count)
        let refs = order.compactMap { index in
            restore(stored[index], keepsPlace: keepsPlaces).map { (ref: $0, index: index) }
        }
        journal.orphans.keep(results)
        guard !refs.isEmpty else { return }
        formLines()
        for (ref, index) in refs where !stored[index].dependencies.isEmpty && operations.isAlive(ref) {
            restoreDependencies(ref, stored[index], results)
        }
        orderDelays(of: refs.map(\.ref))
        for (ref, index) in refs where operations.isAlive(ref) { goOn(ref, stored[index]) }
        // The run that fulfilled it may have ended in the stop.
        for name in Set(refs.map { stored[$0.index].handler }).sorted() where isOnceDone(name) {
            if let handler = handlers.index(of: name) { endOnce(handler) }
        }
    }

    /// Of the delay of an older operation a kill may have forgotten more than of a younger one's. It is due no later: the
    /// operations of a handler keep their order.
    private mutating func orderDelays(of refs: [OperationRef]) {
        var earliest: [Int: Int64] = [:]
        for ref in refs.sorted(by: { $0.id > $1.id }) where operations.isAlive(ref) {
            let operation = operations[ref]
            let constraints = handlers[operation.handler].definition.value.constraints
            guard operation.turn.station == .unsubmitted, constraints.delay > .zero, constraints.batchSize == nil,
                operation.times.latest == 0, !operation.descent.isOwn
            else { continue }
            let time = min(operation.times.wakeUp, earliest[operation.handler] ?? .max)
            operations[ref].times.wakeUp = time
            earliest[operation.handler] = time
        }
    }

    /// Puts it into the tables. `nil`: there is no place for it; it is kept until there is.
    private mutating func restore(_ stored: StoredOperation, keepsPlace: Bool) -> OperationRef? {
        guard operations.ref(id: stored.id) == nil else { return nil }
        if stored.handler == CommandFact.handlerName { _ = needCommandHandler() }
        if stored.queue == Self.clientQueue { _ = needClientQueue() }
        needHoldHandler(stored.handler)
        // An operation that depends on one without a place waits with it.
        guard let handler = handlers.index(of: stored.handler), !handlers[handler].isRemoved || isOfClient(handler),
            let queue = place(of: stored, handler),
            !stored.dependencies.contains(where: { journal.orphans[$0.operation] != nil })
        else {
            journal.orphans.add(stored)
            return nil
        }
        _ = journal.orphans.remove(stored.id)
        journal.ids.note(operation: stored.id)
        // By itself: as an argument it would copy the engine.
        let source = restoredSource(stored.origin)
        if let priority = stored.priority { priorities[stored.id] = priority }
        let isMoved = queues[queue].name != stored.queue
        let draft = draft(stored, handler: handler, queue: queue, source: source)
        let names = stored.keys.map { KeyTable.Name(handler: handler, bytes: $0) }
        let ref = insertRestored(draft, names)
        if stored.countedAttempts + stored.temporaryAttempts > 0 {
            attempts[stored.id] = Attempts(counted: stored.countedAttempts, temporary: stored.temporaryAttempts)
        }
        if stored.isLateTold || stored.isSlowTold {
            overdue[ref.id] = Overdue.Entry(isLateTold: stored.isLateTold, isSlowTold: stored.isSlowTold)
        }
        if !operations[ref].progress.hasStarted { expectStart(ref) }
        if stored.place != 0 || !stored.runs.isEmpty {
            if stored.place != 0, keepsPlace, !isMoved {
                operations.restore(ref, place: stored.place)
            } else {
                _ = operations.submit(ref)
                save(ref)
            }
            // Its lines are formed when all are there.
            operations[ref].turn.station = .keys
        }
        if operations[ref].progress.hasStarted { restoreAttempt(ref, stored) }
        return ref
    }

    /// The queue of an operation; of one that runs, and whose queue is gone, the one on which its events come now: its
    /// place there is not given to others.
    private func place(of stored: StoredOperation, _ handler: Int) -> Int? {
        if let queue = queues.index(of: stored.queue), !queues[queue].isRemoved { return queue }
        guard !stored.runs.isEmpty, stored.handler != CommandFact.handlerName, !isOfClient(handler) else { return nil }
        let own = sources.index(of: stored.origin).flatMap { source in
            sources[source].targets.first { $0.handler == handler }
        }
        return (own ?? target(handler: stored.handler))?.queue
    }

    /// It comes from a source that may not exist any more.
    mutating func restoredSource(_ origin: Origin) -> Int {
        guard case .source = origin, sources.index(of: origin) == nil else { return internalSource(origin) }
        var state = SourceState(origin)
        state.condition = .closed
        state.isRemoved = true
        return sources.insert(state)
    }

    private func draft(_ stored: StoredOperation, handler: Int, queue: Int, source: Int) -> Operation {
        var draft = Operation()
        (draft.id, draft.handler, draft.queue, draft.source) = (stored.id, handler, queue, source)
        draft.entries = EntryList(stored.events)
        draft.lineage = Operation.Lineage(stored.events.first)
        for event in stored.appended { _ = draft.entries.add(event, merge: stored.merge) }
        // An older watchd told data that had come to 0, and may have begun to.
        if draft.entries.isEmpty { draft.entries = EntryList(stored.events + stored.appended) }
        draft.descent.depth = Int16(clamping: stored.depth)
        draft.times.submitted = stored.submitted
        draft.times.made = now.monotonic
        draft.progress.attempt = Int32(clamping: max(1, stored.attempt))
        draft.progress.hasStarted = stored.isExecuting || stored.attempt > 1 || stored.isRedelivered
        // An older watchd let events join what was run by hand.
        draft.descent.isOwn = stored.isOwn || stored.isByHand
        draft.isClosed =
            stored.isClosed || draft.descent.isOwn || draft.progress.hasStarted
            || merge(source: source, handler: handler) == nil
        draft.progress.isRedelivered = stored.isRedelivered || (stored.isExecuting && stored.runs.isEmpty)
        (draft.progress.startsAgain, draft.progress.wasStopped) = (draft.progress.isRedelivered, stored.wasStopped)
        (draft.progress.isCancelled, draft.descent.isByHand) = (stored.isCancelled, stored.isByHand)
        (draft.descent.isRerun, draft.progress.hasConsumed) = (stored.isRerun, stored.hasConsumed)
        draft.record = Record(isDurable: stored.isDurable, isYoung: stored.isYoung)
        if let left = stored.left ?? stored.notBefore.map({ $0 - now.realtime }) {
            let longest = longestPause(of: draft, settles: stored.settleLeft != nil)
            draft.times.wakeUp = now.monotonic + min(max(0, left), longest / 10 * 11)
        }
        draft.times.latest = latestSubmission(stored.settleLeft, source: source)
        return draft
    }

    /// Microseconds that an operation can have left to wait, by its handler and source, which may be others now.
    private func longestPause(of draft: Operation, settles: Bool) -> Int64 {
        let definition = handlers[draft.handler].definition.value
        let span =
            if draft.progress.hasStarted {
                definition.retry.maxDelay
            } else if settles, let settle = sources[draft.source].settle {
                max(definition.constraints.delay, settle.longest)
            } else {
                max(definition.constraints.delay, definition.constraints.digest)
            }
        return Int64(clamping: min(span.microseconds, UInt64(Int64.max / 8)))
    }

    private mutating func insertRestored(_ draft: consuming Operation, _ names: [KeyTable.Name]) -> OperationRef {
        let (handler, queue, source) = (draft.handler, draft.queue, draft.source)
        let target = SourceState.Target(handler: handler, queue: queue)
        let (load, deliveries) = (draft.entries.load, draft.entries.deliveries)
        let definition = takeDefinition(of: draft)
        let hasStarted = draft.progress.hasStarted
        apply(definition, to: &draft)
        let isOpen = !draft.isClosed
        let ref = operations.insert(draft)
        for name in names { scheduler.operations[ref].keys.append(scheduler.keys.enter(name, ref, isOpen: isOpen)) }
        handlers[handler].operations += 1
        sources[source].operations += 1
        if sources[source].isTimer { sources[source].timer.stopDelay() }
        queues[queue].waiting += 1
        if !hasStarted { queues[queue].arrivals.append(ref) }
        enter(deliveries, at: .pending, source: source, target)
        changeLoad(load, queue: queue)
        for group in handlers[handler].groups { sources[group].group.outstanding += 1 }
        if !hasStarted { setStartTimeout(ref) }
        return ref
    }

    // MARK: Operations that had started

    private mutating func restoreAttempt(_ ref: OperationRef, _ stored: StoredOperation) {
        let definition = definition(of: ref)
        var runs = stored.runs
        // As it was split at its first start, whatever the watch file says by now: its parts may run.
        if let stride = stored.stride, operations[ref].entries.count > stride {
            split(ref, stride)
            if runs.contains(where: { $0.part >= splits[ref.id]?.count ?? 1 }) { runs = [] }
            splits[ref.id]?.resume(done: stored.partsDone, running: Set(runs.map(\.part)))
            operations[ref].progress.toStart = Int32(splits[ref.id]?.waiting.count ?? 1)
            // Of the parts that are not there any more nobody knows whether they ran, unless it was between two attempts.
            let isKnown = !stored.isExecuting && !stored.partsDone.isEmpty
            if operations[ref].progress.toStart > 0, !isKnown { operations[ref].progress.repeats() }
        } else {
            if runs.contains(where: { $0.part > 0 }) { runs = [] }
            operations[ref].progress.toStart = runs.isEmpty ? 1 : 0
            if stored.isExecuting, runs.isEmpty { operations[ref].progress.repeats() }
        }
        if !runs.isEmpty { adopt(ref, runs, definition) }
        if operations[ref].progress.toStart == 0 {
            operations[ref].turn.station = .none
        } else if !operations[ref].progress.isRunning, operations[ref].times.wakeUp > now.monotonic {
            operations[ref].turn.station = .backingOff
            deadlines.add(.retry(ref), .monotonic, at: operations[ref].times.wakeUp)
        } else {
            operations[ref].turn.station = .keys
        }
    }

    /// Its processes take the places they had, whether there is room or not.
    private mutating func adopt(_ ref: OperationRef, _ runs: [StoredRun], _ definition: SharedDefinition) {
        let (queue, source) = (operations[ref].queue, operations[ref].source)
        operations[ref].progress.isRunning = true
        scheduler.countBarrier(ref, 1)
        let target = SourceState.Target(handler: operations[ref].handler, queue: queue)
        waitsNoMore(queue)
        queues[queue].running += 1
        move(operations[ref].entries.deliveries, from: .pending, to: .running, source: source, target)
        changeLoad(-operations[ref].entries.load, queue: queue)
        for stored in runs {
            var run = Run(
                part: stored.part, phase: .running(pid: stored.pid), definition: definition, started: stored.started,
                startedOn: scheduler[queue].chain, queues: scheduler[queue].chain,
                held: scheduler.take(ref, known: stored.acquired))
            run.isAdopted = true
            operations[ref].runs.append(run)
            if definition.value.needsProcess { scheduler.takeSlot(realtime: now.realtime) }
            let ran = UInt64(max(0, now.realtime - stored.started))
            let timeout = definition.value.timeout.microseconds
            let patience = definition.value.placement == nil ? 0 : Self.adoptionPatience
            setDeadline(ref, part: stored.part, after: max(timeout > ran ? timeout - ran : 0, UInt64(patience)))
            expectEnd(ref, definition.value, ran: Int64(clamping: ran), patience: patience)
            let id = RunID(operation: ref.id, attempt: Int(operations[ref].progress.attempt), part: stored.part)
            var request = AdoptRequest(run: id, definition: definition, pid: stored.pid, started: stored.started)
            request.born = holder(ref)?.started
            actions.append(.adopt(request))
        }
    }

    /// Microseconds for which the manager may tell how a unit has ended, before `TimeoutSec=` and `SlowSec=` of its run
    /// count: it may have ended long since.
    private static let adoptionPatience: Int64 = 10_000_000

    // MARK: Going on

    /// A dependency that is not there any more has ended; how is not known, unless it told while it was there.
    private mutating func restoreDependencies(
        _ ref: OperationRef, _ stored: StoredOperation, _ results: [UInt64: Result]
    ) {
        guard operations[ref].turn.station == .unsubmitted else { return }
        for dependency in stored.dependencies {
            if operations.ref(id: dependency.operation) != nil {
                let one = (id: dependency.operation, isRequired: dependency.isRequired)
                depend(ref, Dependencies(operations: [one]))
            } else if dependency.isRequired {
                let result = results[dependency.operation]
                if let result, isSuccess(result) { continue }
                let how = result?.rawValue ?? "was lost when watchd ended"
                return finish(ref, .cancelled, reason: "\(requirement(ref)): operation \(dependency.operation) \(how)")
            }
        }
    }

    private mutating func goOn(_ ref: OperationRef, _ stored: StoredOperation) {
        // A time of the wall clock is good for one start only.
        if operations[ref].progress.isRedelivered != stored.isRedelivered || stored.notBefore != nil || stored.isYoung {
            save(ref)
        }
        followDelay(ref)
        if stored.isCancelled {
            if !operations[ref].runs.isEmpty { return terminate(ref, .cancelled) }
            return finish(ref, .cancelled, reason: "cancelled while it ran")
        }
        if !stored.isDurable, operations[ref].runs.isEmpty {
            let reason =
                stored.isExecuting
                ? "watchd was restarted while it ran, and how it ended is not known"
                : "watchd ended before attempt \(stored.attempt) could start"
            return finish(ref, .failed, reason: reason)
        }
        if operations[ref].turn.station == .unsubmitted {
            beginJoin(ref)
            if operations[ref].times.wakeUp > now.monotonic {
                deadlines.add(.submission(ref), .monotonic, at: operations[ref].times.wakeUp)
            }
            submitIfFree(ref)
        }
    }

    /// Handlers, queues and sources may have come back.
    mutating func placeOrphans() {
        for (name, suspensions) in journal.orphans.takeSuspensions() { restore(suspensions, of: name) }
        for hold in journal.orphans.takeHolds() { restore(hold) }
        guard !journal.orphans.isEmpty else { return }
        restore(journal.orphans.byAge, journal.orphans.results)
    }

    mutating func cancelOrphan(_ id: UInt64) -> Bool {
        guard let orphan = journal.orphans[id] else { return false }
        var view = view(orphan)
        _ = journal.orphans.remove(id)
        (view.state, view.result, view.ended) = (.cancelled, .cancelled, now.realtime)
        view.reason = "cancelled while its handler or queue did not exist"
        if !orphan.runs.isEmpty, orphan.holder == nil {
            view.reason? += "; SIGTERM to \(orphan.processes)"
            endRuns(of: orphan)
        }
        retired.enter(view.deliveries, at: .cancelled)
        actions.append(.report(.ended(view)))
        journal.orphans.noteCancelled(id)
        return true
    }

    /// Orphans were cancelled: those that have waited for them alone take their places.
    mutating func placeFollowers() {
        if !journal.orphans.isEmpty { restore(journal.orphans.byAge, journal.orphans.results) }
    }

    /// Processes that an earlier watchd has started for it, and whose `KillSignal=` nobody knows any more.
    private mutating func endRuns(of orphan: StoredOperation) {
        for var request in runs(of: orphan) {
            request.isUnwanted = true
            actions.append(.adopt(request))
            actions.append(.signal(request.run, number: 15, mode: .tree))
        }
    }

    private func runs(of orphan: StoredOperation) -> [AdoptRequest] {
        let definition = SharedDefinition(HandlerDefinition(name: orphan.handler, action: .exec([])))
        return orphan.runs.map { stored in
            let run = RunID(operation: orphan.id, attempt: max(1, orphan.attempt), part: stored.part)
            return AdoptRequest(run: run, definition: definition, pid: stored.pid, started: stored.started)
        }
    }

    /// Runs of operations whose handler or queue does not exist: nobody watches or ends them, and they are adopted when it
    /// does again. Some may have ended.
    package var orphanRuns: [AdoptRequest] { journal.orphans.byAge.flatMap { runs(of: $0) } }

    // MARK: Sources

    private mutating func restore(_ suspensions: [Suspension], of name: String) {
        let left = suspensions.filter { $0.until.map { $0 > now.realtime } ?? true }.map { suspension in
            var suspension = suspension
            suspension.resumesAt = suspension.until.map {
                now.boottime + min(max(0, $0.subtractingReportingOverflow(now.realtime).partialValue), Int64.max / 4)
            }
            return suspension
        }
        let named = try? resolveSuspendable(name)
        for suspension in left {
            switch named {
            case .source(let source): suspend(source: source, suspension)
            case .queue(let queue): suspend(queue: queue, suspension)
            case .handler, .semaphore: break
            case nil: return journal.orphans.add(left, of: name)
            }
        }
    }

    /// Events that are held by now came while the store could not be opened: they are younger.
    private mutating func restore(_ hold: StoredHold) {
        guard let source = sources.index(of: .source(hold.source)), !sources[source].isRemoved else {
            return journal.orphans.add(hold)
        }
        let (merge, keepsElapses) = (sources[source].merge, sources[source].keepsElapses)
        let (younger, before) = (sources[source].held.events, sources[source].held.load)
        sources[source].held = HeldEvents()
        var annulled = 0
        for event in hold.events + younger {
            annulled += sources[source].held.restore(event, merge: merge, keepsElapses: keepsElapses)
        }
        door.addHeld(sources[source].held.load - before)
        let restored = hold.events.reduce(0) { $0 + $1.count }
        for target in sources[source].targets {
            enter(restored, at: .held, source: source, target)
            move(annulled, from: .held, to: .annulled, source: source, target)
        }
        sources[source].isHoldStored = true
        if !younger.isEmpty { saveHolds(source) }
        door.resume(source)
    }
}
