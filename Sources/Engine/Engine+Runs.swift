import Schedule
package import WatchFile

/// The life of a run, and the end of an operation.
extension Engine {
    /// Does what a handler does: a command goes to the rim, `Log=` and `Emit=` are done here and now.
    mutating func perform(_ ref: OperationRef, _ definition: SharedDefinition, _ entries: EntryList) {
        let operation = operations[ref]
        switch definition.value.action {
        case .exec:
            processes += 1
            actions.append(
                .start(
                    StartRequest(
                        run: RunID(operation: operation.id, attempt: 1), definition: definition,
                        queue: queues[operation.queue].definition.name, origin: sources[operation.source].origin,
                        events: entries.events)))
            setDeadline(ref, after: definition.value.timeout.microseconds)
        case .log(let template):
            let text = template.expanded(context(ref, entries).value)
            actions.append(.log(handler: definition.value.name, operation: operation.id, text: text))
            finish(ref, .done)
        case .emit(let name, let data):
            emit(ref, into: name, data: data.map { $0.expanded(context(ref, entries).value) })
        }
    }

    private func context(_ ref: OperationRef, _ entries: EntryList) -> RunContext {
        let operation = operations[ref]
        return RunContext(
            handler: handlers[operation.handler].name, queue: queues[operation.queue].definition.name,
            operation: operation.id, attempt: 1, origin: sources[operation.source].origin, events: entries.events)
    }

    private mutating func emit(_ ref: OperationRef, into name: String, data text: [UInt8]?) {
        let data = text.map { Int64(String(decoding: $0, as: UTF8.self)) } ?? 1
        guard let source = sources.index(of: .source(SourceID(.custom, name))), !sources[source].isRemoved else {
            return finish(ref, .failed, reason: "Emit=: custom/\(name) does not exist any more")
        }
        guard let data else {
            let shown = String(decoding: text ?? [], as: UTF8.self)
            return finish(ref, .failed, reason: "Emit=: “\(shown)” is not a whole number of 64 bits")
        }
        let depth = operations[ref].depth + 1
        let fact = Fact.custom(CustomFact(data: data))
        // It has ended before its event comes: a source may start its own emitter again.
        finish(ref, .done)
        if !isNoEvent(Event(id: 0, time: 0, fact: fact), source) { accept(fact, from: source, depth: depth) }
    }

    // MARK: What the rim says

    private func executing(_ run: RunID) -> OperationRef? {
        guard let ref = operations.ref(id: run.operation), operations[ref].run != nil else { return nil }
        return ref
    }

    mutating func runStarted(_ id: RunID, pid: Int32) {
        guard let ref = executing(id), var run = operations[ref].run else { return }
        run.phase = .running(pid: pid)
        operations[ref].state = .executing(run)
    }

    mutating func runEnded(_ id: RunID, exit: Exit?, output: [UInt8], reason: String?) {
        guard let ref = executing(id), let run = operations[ref].run else { return }
        processes -= 1
        let verdict = judge(run, exit, reason)
        finish(ref, verdict.result, reason: verdict.reason, exit: exit, output: output)
    }

    private func judge(_ run: Run, _ exit: Exit?, _ reason: String?) -> (result: Result, reason: String?) {
        switch run.ending {
        case .timedOut:
            let span = run.definition.value.timeout
            return (.failed, "ran longer than TimeoutSec=\(span)\(run.isKilled ? ", killed" : "")")
        case .cancelled: return (.cancelled, "cancelled while it ran")
        case .stopped: return (.cancelled, "ended because watchd stops")
        case nil: break
        }
        guard let exit else { return (.failed, reason ?? "its end is unknown") }
        if run.definition.value.isSuccess(exit) { return (.done, nil) }
        return (.failed, reason)
    }

    // MARK: Ending a run before its time

    mutating func setDeadline(_ ref: OperationRef, after span: UInt64) {
        guard var run = operations[ref].run else { return }
        run.deadline = span < UInt64(Int64.max / 4) ? now.monotonic + Int64(span) : nil
        operations[ref].state = .executing(run)
        if let deadline = run.deadline { deadlines.add(.run(ref), .monotonic, at: deadline) }
    }

    mutating func runDeadline(_ ref: OperationRef) {
        guard operations.isAlive(ref), let run = operations[ref].run, let deadline = run.deadline,
            deadline <= now.monotonic
        else { return }
        if run.ending == nil { terminate(ref, .timedOut) } else { kill(ref) }
    }

    /// Asks a run to end: its `KillSignal=`, then SIGKILL after `TimeoutStopSec=`.
    mutating func terminate(_ ref: OperationRef, _ ending: Run.Ending) {
        guard var run = operations[ref].run, run.ending == nil else { return }
        run.ending = ending
        operations[ref].state = .executing(run)
        signal(ref, run.definition.value.killSignal)
        setDeadline(ref, after: run.definition.value.timeoutStop.microseconds)
    }

    mutating func kill(_ ref: OperationRef) {
        guard var run = operations[ref].run, !run.isKilled else { return }
        run.isKilled = true
        run.deadline = nil
        operations[ref].state = .executing(run)
        signal(ref, 9)
    }

    /// While the spawn is on its way the rim keeps it in mind; with `KillMode=none` it only starts no further command.
    private mutating func signal(_ ref: OperationRef, _ number: Int32) {
        guard let mode = operations[ref].run?.definition.value.killMode else { return }
        actions.append(.signal(RunID(operation: operations[ref].id, attempt: 1), number: number, mode: mode))
    }

    // MARK: The end of an operation

    mutating func finish(
        _ ref: OperationRef, _ result: Result, reason: String? = nil, exit: Exit? = nil, output: [UInt8] = []
    ) {
        var view = view(ref, isEnding: true)
        view.result = result
        view.state = result == .cancelled ? .cancelled : .finished
        (view.reason, view.exit, view.ended, view.output) = (reason, exit, now.realtime, output)
        let operation = operations[ref]
        let target = SourceState.Target(handler: operation.handler, queue: operation.queue)
        let isRunning = operation.run != nil
        operations[ref].state = .gone
        if isRunning {
            queues[operation.queue].running -= 1
        } else {
            waitsNoMore(operation.queue)
            changeEntries(-operation.entries.count, queue: operation.queue)
        }
        move(
            operation.entries.deliveries, from: isRunning ? .running : .pending, to: Place(result),
            source: operation.source, target)
        leaveLines(ref)
        operations.remove(ref)
        forget(operation, result)
        actions.append(.report(.ended(view)))
        tell(operation.waiters, view)
        complete(operation, view)
        sourceMayHaveEnded(operation.source)
        releaseUnused(operation)
    }

    private mutating func forget(_ operation: Operation, _ result: Result) {
        handlers[operation.handler].operations -= 1
        sources[operation.source].operations -= 1
        if result != .annulled {
            handlers[operation.handler].lastResult = result
            handlers[operation.handler].lastEnded = now.realtime
        }
    }

    /// Starts what `OnSuccess=`, `OnFailure=` and `OnFinished=` name.
    private mutating func complete(_ operation: Operation, _ view: OperationView) {
        guard phase == .running || phase == .reloading, let result = view.result, let cause = operation.entries.newest
        else { return }
        let definition = (operation.run?.definition ?? handlers[operation.handler].definition).value
        if result == .done { start(definition.onSuccess, .success, operation, view, cause) }
        if result == .failed { start(definition.onFailure, .failure, operation, view, cause) }
        if result == .done || result == .failed || result == .cancelled {
            start(definition.onFinished, .finished, operation, view, cause)
        }
    }

    private mutating func start(
        _ names: [String], _ outcome: CompletionFact.Outcome, _ operation: Operation, _ view: OperationView,
        _ cause: Event
    ) {
        let started = names.filter { target(handler: $0) != nil }
        guard !started.isEmpty, let result = view.result else { return }
        let source = internalSource(.completion(handler: view.handler))
        let fact = CompletionFact(
            outcome: outcome, operation: operation.id, result: result, exit: view.exit, output: view.output,
            cause: cause, causeOrigin: view.origin)
        let event = makeEvent(.completion(fact))
        sources[source].lastEvent = event.time
        actions.append(.report(.event(event, .completion(handler: view.handler), handlers: started)))
        for target in started.compactMap({ target(handler: $0) }) {
            admit(event, source: source, target, depth: operation.depth + 1)
        }
        releaseSourceIfUnused(source)
    }

    /// A handler on the queue it names itself; `nil`: it was removed.
    func target(handler name: String) -> SourceState.Target? {
        guard let handler = handlers.index(of: name), !handlers[handler].isRemoved,
            let queue = queues.index(of: handlers[handler].definition.value.queue ?? "default")
        else { return nil }
        return SourceState.Target(handler: handler, queue: queue)
    }

    /// A source that watchd itself is; it goes with its handler.
    mutating func internalSource(_ origin: Origin) -> Int {
        if let source = sources.index(of: origin) { return source }
        var state = SourceState(origin: origin)
        state.condition = .armed
        state.isRemoved = !isWanted(origin)
        return sources.insert(state, name: origin)
    }

    /// Whether the handler of a source that watchd itself is still exists.
    func isWanted(_ origin: Origin) -> Bool {
        switch origin {
        case .source: true
        case .completion(let handler), .run(let handler):
            handlers.index(of: handler).map { !handlers[$0].isRemoved } ?? false
        }
    }
}

extension HandlerDefinition {
    /// Exit status 0 and what `SuccessExitStatus=` adds.
    package func isSuccess(_ exit: Exit) -> Bool {
        switch exit {
        case .exited(let code): code == 0 || successExitStatus.codes.contains(code)
        case .signaled(let number): successExitStatus.signals.contains(number)
        }
    }
}
