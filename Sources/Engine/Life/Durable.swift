import Schedule
package import WatchFile

/// The store is told of every change of a durable operation, in one write for each `handle`; effects that must not be
/// seen before the write is safe wait for it (`Action.committed`).
extension Engine {
    /// Ids given out without telling the store; after a crash as many are skipped.
    package static let idsReserved: UInt64 = 10_000

    // MARK: Changes that the store must be told

    func isDurable(_ ref: OperationRef) -> Bool { operations[ref].record.isDurable }

    /// Whether what a source of the rim tells is stored.
    package func isDurable(_ id: SourceID) -> Bool {
        sources.index(of: .source(id)).map { isDurable(source: $0) } ?? false
    }

    func isDurable(source: Int) -> Bool { sources[source].targets.contains { queues[$0.queue].definition.isDurable } }

    /// An operation has changed, otherwise than by its entries.
    mutating func save(_ ref: OperationRef) { journal.note(&scheduler.operations[ref].record, ref) }

    /// An event has joined it.
    mutating func saveJoined(_ event: Event, _ ref: OperationRef) {
        let entries = operations[ref].entries.count
        journal.note(event, &scheduler.operations[ref].record, ref, entries: entries)
    }

    /// Its entries have changed otherwise than by events that came.
    mutating func saveAsWhole(_ ref: OperationRef) { journal.noteRewritten(&scheduler.operations[ref].record, ref) }

    /// A source holds an event more.
    mutating func saveHeld(_ event: Event, _ source: Int) {
        guard case .source(let id) = sources[source].origin, isDurable(source: source),
            !journal.isWhole(source)
        else { return }
        sources[source].isHoldStored = true
        sources[source].held.appended += 1
        if sources[source].held.appended > 2 * sources[source].held.count + 32 { return saveHolds(source) }
        actions.append(.store(.held(id, [event], replacing: false)))
    }

    /// A source has let go something.
    mutating func saveHolds(_ source: Int) {
        if isDurable(source: source) || sources[source].isHoldStored { journal.noteHolds(source) }
    }

    /// The suspensions that people made; those of the file are in the file, and those of a drain that goes on would be
    /// half of one after a kill.
    mutating func saveSuspensions(_ name: String, _ suspensions: [Suspension]) {
        let made = suspensions.filter { $0.isMade && !drains.suspends($0) }
        actions.append(.store(.suspensions(name, made)))
    }

    // MARK: Effects that wait for the store

    /// Does it when what is known of a durable operation is safe; and of the silence that is told, which a crash would
    /// tell twice.
    mutating func whenSafe(_ ref: OperationRef, _ action: Action) {
        // A digest may be about the store.
        if isDigest(source: operations[ref].source), !queues[operations[ref].queue].definition.isDurable {
            return actions.append(.stored(action))
        }
        if operations[ref].record.isDurable { return actions.append(.committed(action)) }
        if case .silence = sources[operations[ref].source].origin { return actions.append(.stored(action)) }
        actions.append(action)
    }

    /// Answers when everything is safe, or at once where nothing has to be, or nothing can. What the client hands over
    /// has to be safe; of a change that is in force he is told also while the store fails.
    mutating func reply(_ token: Token, _ reply: Reply, isSafe: Bool) {
        let action = Action.reply(token, reply)
        guard !isSafe, journal.isWorking else { return actions.append(action) }
        switch reply {
        case .operations, .events, .emitted: actions.append(.committed(action))
        default: actions.append(.stored(action))
        }
    }

    // MARK: Telling

    mutating func tellStore() {
        reserveIDs()
        for source in journal.takeHolds() where sources.isInUse(source) {
            guard case .source(let id) = sources[source].origin else { continue }
            let events = isDurable(source: source) ? sources[source].held.events : []
            sources[source].held.appended = 0
            sources[source].isHoldStored = !events.isEmpty
            actions.append(.store(.held(id, events, replacing: true)))
        }
        guard !journal.unsaved.isEmpty else { return }
        for ref in journal.unsaved where operations.isAlive(ref) {
            var stored = stored(operations[ref])
            switch operations[ref].record.write() {
            case .change:
                stored.appended = journal.takeJoined(ref.id)
                actions.append(.store(.update(stored)))
            case .whole:
                stored.events = tracedEvents(operations[ref])
                actions.append(.store(.insert(stored)))
            }
        }
        journal.told()
    }

    // MARK: Ids

    /// The wall clock, of which ids are made while the store fails.
    private var idClock: Int64? { journal.isWorking ? nil : now.realtime }

    var nextEventID: UInt64 { journal.ids.nextEvent(clock: idClock) }

    mutating func takeEventID() -> UInt64 { journal.ids.takeEvent(clock: idClock) }

    mutating func takeOperationID() -> UInt64 { journal.ids.takeOperation(clock: idClock) }

    private mutating func reserveIDs() {
        guard !life.isDrained, journal.isWorking, journal.ids.isLow(Self.idsReserved) else { return }
        reserve(Self.idsReserved)
    }

    mutating func reserve(_ stock: UInt64) {
        actions.append(.store(journal.ids.reserve(stock, isSafe: journal.isWorking)))
    }

    /// Everything but its events.
    func stored(_ operation: Operation) -> StoredOperation {
        var stored = StoredOperation(
            id: operation.id, handler: handlers[operation.handler].name,
            queue: queues[operation.queue].definition.name, origin: sources[operation.source].origin,
            submitted: operation.times.submitted)
        stored.keys = operation.keys.map { keys[$0].name.bytes }
        stored.merge =
            isDigest(source: operation.source) ? nil : sources[operation.source].merge
        stored.depth = Int(operation.descent.depth)
        stored.place = operation.turn.place
        if operation.times.wakeUp > now.monotonic { stored.left = operation.times.wakeUp - now.monotonic }
        stored.settleLeft = settleLeft(operation)
        stored.attempt = Int(operation.progress.attempt)
        stored.countedAttempts = attempts[operation.id]?.counted ?? 0
        stored.temporaryAttempts = attempts[operation.id]?.temporary ?? 0
        stored.dependencies = dependencies.dependencies(of: operation.id).map { id in
            let isRequired = dependencies.dependents(of: id).contains {
                $0.operation.id == operation.id && $0.isRequired
            }
            return StoredDependency(operation: id, isRequired: isRequired)
        }
        (stored.isExecuting, stored.isRedelivered) = (operation.progress.isRunning, operation.progress.isRedelivered)
        // Of the run that goes on nothing is known.
        stored.wasStopped = operation.progress.wasStopped && operation.runs.isEmpty
        (stored.isCancelled, stored.isClosed) = (operation.progress.isCancelled, operation.isClosed)
        (stored.isByHand, stored.isOwn, stored.isRerun) = (
            operation.descent.isByHand, operation.descent.isOwn, operation.descent.isRerun
        )
        (stored.hasConsumed, stored.isDurable) = (operation.progress.hasConsumed, operation.record.isDurable)
        if let entry = overdue[operation.id] {
            (stored.isLateTold, stored.isSlowTold) = (entry.isLateTold, entry.isSlowTold)
        }
        if !priorities.isEmpty { stored.priority = priorities[operation.id] }
        if !splits.isEmpty, let split = splits[operation.id] {
            (stored.stride, stored.partsDone) = (split.stride, split.done)
        }
        // A worker ends with this watchd, and who reads its line next may be another one.
        stored.runs = operation.runs.filter { $0.seat == nil }.compactMap { run in
            run.pid.map { pid in
                var stored = StoredRun(part: run.part, pid: pid, started: run.started)
                stored.acquired = scheduler.members(of: run.held)
                return stored
            }
        }
        return stored
    }

    // MARK: Delays and pauses

    /// A crash forgets no more than a quarter of what was left of a delay or a pause, or two of these.
    private static let storedStep: Int64 = 30_000_000

    /// It has a delay or a pause now, of which the store is told now and then how much is left: on a grid, so that many
    /// operations are told of together.
    mutating func followDelay(_ ref: OperationRef) {
        guard operations[ref].record.isDurable else { return }
        let step = max((operations[ref].times.wakeUp - now.monotonic) / 4 - Self.storedStep, Self.storedStep)
        let time = ((now.monotonic + step) / Self.storedStep + 1) * Self.storedStep
        if time < operations[ref].times.wakeUp { deadlines.add(.storedDelay(ref), .monotonic, at: time) }
    }

    mutating func storeDelay(_ ref: OperationRef) {
        guard operations.isAlive(ref), operations[ref].times.wakeUp > now.monotonic else { return }
        // While it fails it would only be told the same again and again.
        if journal.isWorking { save(ref) }
        followDelay(ref)
    }

    // MARK: How the store stands

    /// Also to be called before `start`.
    package mutating func storeChanged(_ condition: StoreCondition) {
        let former = journal.condition
        journal.condition = condition
        scheduler.surroundings.isStoreWorking = journal.isWorking
        noteUnsafeStarts(after: former)
        guard condition == .working else { return setAsideUncommitted() }
        door.roomMoved()
        scheduler.areSemaphoresMoved = true
        scheduler.areRestartsMoved = true
        for queue in queues.indices where queues[queue].definition.isDurable { scheduler.touch(queue: queue) }
    }

    /// An operation that begins when the store has it has not begun: the trail says so, and when it begins after all.
    private mutating func noteUnsafeStarts(after former: StoreCondition) {
        guard former != journal.condition, operations.count > 0 else { return }
        for ref in operations.refs where isUnbegun(operations[ref]) {
            if let reason = journal.failure {
                trail.takeBack { $0.code == .started && $0.operation == ref.id }
                note(.store, ref, detail: .text("operation \(ref.id) waits for the store: \(reason)"))
            } else if !operations[ref].runs.allSatisfy(\.isEndedUnbegun) {
                note(.started, ref)
            }
        }
    }

    /// The store has lost everything: it is told all that it has to know.
    mutating func saveAll() {
        for ref in operations.refs where operations[ref].record.isDurable || operations[ref].record.isLong {
            journal.noteLost(&scheduler.operations[ref].record, ref)
        }
        perform(supervisor.saveAll(at: now))
        for stored in journal.unplaced { actions.append(.store(.insert(stored))) }
        for hold in journal.orphans.holds { actions.append(.store(.held(hold.source, hold.events, replacing: true))) }
        for (name, suspensions) in journal.orphans.suspensions.sorted(by: { $0.key < $1.key }) {
            saveSuspensions(name, suspensions)
        }
        for handler in handlers.indices where handlers[handler].isOnceDone {
            let once = handlers[handler].definition.value.constraints.once
            actions.append(.store(.once(handler: handlers[handler].name, once)))
        }
        for source in sources.indices {
            guard case .source(let id) = sources[source].origin else { continue }
            if sources[source].holds { saveHolds(source) }
            if !sources[source].suspensions.isEmpty { saveSuspensions(id.description, sources[source].suspensions) }
        }
        saveTallies()
        saveStamps()
        for id in clocks.booted.sorted(by: { $0.description < $1.description }) { actions.append(.store(.booted(id))) }
        for queue in queues.indices where !queues[queue].suspensions.isEmpty {
            saveSuspensions("queue/\(queues[queue].definition.name)", queues[queue].suspensions)
        }
        reserve(Self.idsReserved)
    }

    // MARK: At a stop

    /// Leaves a durable operation to the next start, as the store has it.
    mutating func setAside(_ ref: OperationRef) {
        // How much is left of its delay by now.
        if operations[ref].times.wakeUp > now.monotonic { save(ref) }
        if operations[ref].record.isUnsaved { tellStore() }
        endHandlingAsKept(ref)
        let operation = operations[ref]
        // Its queue is not empty, though nothing of it is in the tables any more.
        for queue in scheduler[operation.queue].chain {
            for token in calls.takeWaiters(for: .queue(queue)) {
                actions.append(.reply(token, .failure(.draining)))
            }
        }
        var stored = stored(operation)
        stored.events = tracedEvents(operation)
        let awaited = dependencies.dependencies(of: ref.id).filter { operations.ref(id: $0) != nil }
        for run in operation.runs {
            giveBack(run)
            giveSlot(run.definition)
        }
        leave(ref, operation, to: .pending)
        handlers[operation.handler].operations -= 1
        sources[operation.source].operations -= 1
        journal.setAside.add(stored, waitingFor: awaited)
        releaseAwaited(definition(toEnd: operation).value.completions.all)
        releaseUnused(operation)
    }

    /// The starts of these wait for a commit that may not come during this stop.
    private mutating func setAsideUncommitted() {
        guard life.isStopping else { return }
        for ref in operations.refs where isDurable(ref) && isUnstarted(ref) { setAside(ref) }
    }

    /// Operations that are made for a durable queue during a stop.
    mutating func setAsideUnsaved() {
        let refs = journal.unsaved.filter {
            operations.isAlive($0) && operations[$0].record.isDurable && !operations[$0].progress.isRunning
        }
        for ref in refs where operations.isAlive(ref) { setAside(ref) }
    }
}
