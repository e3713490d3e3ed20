import Schedule
import WatchFile

/// An operation, or a part of it, takes its place and starts.
extension Engine {
    /// Starts the next run of an operation for which everything is there.
    mutating func start(_ ref: OperationRef) {
        let queue = operations[ref].queue
        let definition = definition(of: ref)
        let isFirst = !operations[ref].progress.isRunning
        if operations[ref].turn.station == .semaphores { scheduler.unpark(ref) }
        if isFirst { beginAttempt(ref, definition.value.stride) }
        let part = nextPart(ref)
        let seat = scheduler.seat(for: operations.ticket(ref))
        var run = Run(
            part: part, definition: definition, started: now.realtime, startedOn: scheduler[queue].chain,
            queues: scheduler[queue].chain, held: scheduler.take(ref))
        run.seat = seat
        if let seat { scheduler.take(seat, on: queue) } else { scheduler.takeWidth(queue) }
        operations[ref].runs.append(run)
        if isFirst {
            report(ref)
            note(.started, ref, detail: circumstances(ref, isHanded: seat != nil))
        }
        perform(ref, run)
        if isFirst, seat == nil, run.definition.value.isOfRim { noteBegun(ref) }
    }

    /// Microseconds of a wait that an explanation tells.
    private static let shortestWait: Int64 = 100_000

    private func circumstances(_ ref: OperationRef, isHanded: Bool) -> Trail.Detail {
        let progress = operations[ref].progress
        if !progress.startsAgain {
            let span = now.realtime - operations[ref].times.submitted
            // The wait of an operation under an earlier watchd is not known.
            guard span >= Self.shortestWait, progress.attempt == 1,
                operations[ref].times.submitted >= clocks.started.realtime
            else { return .none }
            return .waited(operations[ref].turn.waited, span)
        }
        if isHanded { return .handedAgain }
        return progress.wasStopped ? .afterStop : .again
    }

    /// Bytes of events; one that has more comes into the store at once.
    private static let largestBegun = 1 << 16

    private mutating func noteBegun(_ ref: OperationRef) {
        guard operations.isAlive(ref), !operations[ref].record.isDurable, !operations[ref].record.isLong else { return }
        guard operations[ref].entries.load.bytes <= Self.largestBegun else {
            operations[ref].record.isLong = true
            return save(ref)
        }
        var begun = stored(operations[ref])
        begun.events = tracedEvents(operations[ref])
        actions.append(.began(begun))
    }

    /// From here on the operation runs: its events are closed to merging, its deliveries run.
    private mutating func beginAttempt(_ ref: OperationRef, _ stride: Int?) {
        let (queue, source) = (operations[ref].queue, operations[ref].source)
        if sources[source].traits.contains(.paths) {
            loopRunStarted(ref, isFirst: !operations[ref].progress.hasStarted)
        }
        operations[ref].progress.isRunning = true
        scheduler.countBarrier(ref, 1)
        if !operations[ref].progress.hasStarted {
            operations[ref].progress.hasStarted = true
            close(ref)
            if !overdue.entries.isEmpty { overdue.begins(ref.id) }
            scheduler.noteRestarts(behind: ref)
            let isOne = operations[ref].entries.count < 2
            let fitting = isOne ? nil : ArgumentSpace.stride(operations[ref].entries, definition(of: ref).value)
            let stride = [stride, fitting].compactMap { $0 }.min()
            if let stride, operations[ref].entries.count > stride { split(ref, stride) }
        }
        save(ref)
        let target = SourceState.Target(handler: operations[ref].handler, queue: queue)
        waitsNoMore(queue)
        queues[queue].running += 1
        move(operations[ref].entries.deliveries, from: .pending, to: .running, source: source, target)
        changeLoad(-operations[ref].entries.load, queue: queue)
    }

    /// From now on events make the next operation, and the next ones of those that wait for this one: so all events of
    /// an operation are in one operation of each handler it waits for.
    mutating func close(_ ref: OperationRef) {
        closeAlone(ref)
        if !dependencies.isEmpty { closeDependents(of: ref) }
    }

    /// Not by recursion: a chain may be as long as a queue.
    private mutating func closeDependents(of ref: OperationRef) {
        var behind = openDependents(of: ref)
        while let next = behind.popLast() {
            closeAlone(next)
            behind += openDependents(of: next)
        }
    }

    @inline(__always) private mutating func closeAlone(_ ref: OperationRef) {
        if operations[ref].isClosed { return }
        operations[ref].isClosed = true
        save(ref)
        scheduler.close(ref)
    }

    /// Dependents of a closed operation are closed.
    private func openDependents(of ref: OperationRef) -> [OperationRef] {
        dependencies.dependents(of: ref.id).reversed().map(\.operation).filter {
            operations.isAlive($0) && !operations[$0].isClosed
        }
    }

    // MARK: The action of a handler

    /// Commands, mail, units and conditions go to the rim; `Log=` and `Emit=` are done here and now.
    private mutating func perform(_ ref: OperationRef, _ run: Run) {
        if let seat = run.seat { return hand(ref, run, to: seat) }
        guard run.definition.value.isOfRim else { return act(ref, part: run.part, run.definition.value) }
        if run.definition.value.needsProcess { scheduler.takeSlot(realtime: now.realtime) }
        whenSafe(ref, .start(request(ref, run)))
        if !operations[ref].record.isDurable {
            setDeadline(ref, part: run.part, after: run.definition.value.timeout.microseconds)
            if run.definition.value.patience.slow != .infinity { expectEnd(ref, run.definition.value) }
        }
    }

    func request(_ ref: OperationRef, _ run: Run) -> StartRequest {
        let id = RunID(
            operation: operations[ref].id, attempt: Int(operations[ref].progress.attempt), part: run.part)
        let queue = operations[ref].queue
        let events = events(ref, part: run.part) ?? operations[ref].entries.events
        let isRepeated = events.contains(where: \.isRepeated)
        var request = StartRequest(
            run: id, definition: run.definition, queue: queues[queue].definition.name,
            qos: scheduler.qos(on: queue, operations[ref].turn), environment: queues[queue].environment,
            origin: sources[operations[ref].source].origin,
            events: events,
            isRedelivered: operations[ref].progress.isRedelivered || isRepeated)
        request.startsAgain = operations[ref].progress.startsAgain || isRepeated && id.attempt == 1
        request.wasStopped = operations[ref].progress.wasStopped
        request.acquired = scheduler.members(of: run.held)
        request.trace = trace(of: operations[ref].lineage, id)
        if case .mail = run.definition.value.action {
            request.retryObstacle = retryObstacle(events.reported, origin: request.origin)
        }
        return request
    }

    /// Actions that the engine does itself, at once or when the conditions hold.
    mutating func act(_ ref: OperationRef, part: Int, _ definition: HandlerDefinition) {
        let events = events(ref, part: part)
        switch definition.action {
        case .exec, .stream, .mail, .unit: break
        case .client(let action): serve(ref, part: part, action)
        case .process(let action): steer(ref, part: part, action, definition)
        case .log(let template):
            let text = template.expanded(context(ref, part, events).value)
            let log = Action.log(handler: definition.name, operation: operations[ref].id, text: text)
            // Before it is stored as done: rather twice than never.
            if operations[ref].record.isDurable { actions.append(log) } else { whenSafe(ref, log) }
            attemptEnded(ref, part: part, Verdict(result: .done))
        case .emit(let name, let data):
            emit(ref, part: part, into: name, data: data.map { $0.expanded(context(ref, part, events).value) })
        }
    }

    private func context(_ ref: OperationRef, _ part: Int, _ events: [Event]?) -> RunContext {
        let operation = operations[ref]
        let events = events ?? operation.entries.events
        var context = RunContext(
            handler: handlers[operation.handler].name, queue: queues[operation.queue].definition.name,
            operation: operation.id, attempt: Int(operation.progress.attempt), origin: sources[operation.source].origin,
            events: events, isRedelivered: operation.progress.isRedelivered || events.contains(where: \.isRepeated),
            host: hostName)
        context.acquired = operation.runs.first { $0.part == part }.map { scheduler.members(of: $0.held) } ?? []
        return context
    }

    private mutating func emit(_ ref: OperationRef, part: Int, into name: String, data text: [UInt8]?) {
        let data = text.map { Int64(String(decoding: $0, as: UTF8.self)) } ?? 1
        guard let source = sources.index(of: .source(SourceID(.custom, name))), !sources[source].isRemoved else {
            let reason = "Emit=: custom/\(name) does not exist any more"
            return attemptEnded(ref, part: part, Verdict(result: .failed, reason: reason))
        }
        guard let data else {
            let shown = String(decoding: text ?? [], as: UTF8.self)
            let reason = "Emit=: “\(shown)” is not a whole number of 64 bits"
            return attemptEnded(ref, part: part, Verdict(result: .failed, reason: reason))
        }
        let depth = Int(operations[ref].descent.depth) + 1
        let fact = Fact.custom(CustomFact(data: data))
        let trace = trace(of: operations[ref], part: part)
        // It has ended before its event comes: a source may start its own emitter again.
        attemptEnded(ref, part: part, Verdict(result: .done))
        if !isNoEvent(Event(id: 0, time: 0, fact: fact), source) {
            accept(fact, from: source, depth: depth, trace: trace)
        }
    }
}
