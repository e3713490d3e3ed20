import Schedule
import WatchFile

/// The end of an operation, and what follows from it.
extension Engine {
    mutating func finish(_ ref: OperationRef, _ result: Result, reason: String? = nil, successor: UInt64? = nil) {
        finish(ref, Verdict(result: result, reason: reason), successor: successor)
    }

    /// - Parameters:
    ///   - handedOn: its events, where the successor has them now.
    ///   - seenAs: what those that depend on it see.
    mutating func finish(
        _ ref: OperationRef, _ verdict: Verdict, successor: UInt64? = nil, handedOn: [Event] = [],
        seenAs: Result? = nil
    ) {
        let operation = operations[ref]
        var view = view(operation, isEnding: true)
        view.state = verdict.result == .cancelled ? .cancelled : .finished
        view.ended = ended(view)
        view.successor = successor
        if !handedOn.isEmpty { (view.events, view.entries) = (handedOn, handedOn.count) }
        take(verdict, into: &view)
        note(ref, verdict, successor)
        leave(ref, operation, to: Place(verdict.result))
        note(operation, verdict.result, ended(view))
        endHandling(operation, verdict.result, successor: successor)
        let isOnceDone = fulfilsOnce(operation.handler, verdict.result)
        actions.append(.report(.ended(view)))
        tell(.operation(operation.id), view, isSafe: !operation.record.isStored && !isOnceDone)
        resolveDependents(of: operation.id, seenAs ?? verdict.result, successor: successor)
        markEnded(operation.id)
        if !calls.isEmpty { tell(.held(operation.id), view) }
        complete(operation, view)
        if isOnceDone { endOnce(operation.handler) }
        leaveGroups(operation, view)
        queueMayBeEmpty(operation.queue)
        sourceMayHaveEnded(operation.source)
        releaseUnused(operation)
    }

    /// A service may have ended while no watchd was there.
    func ended(_ view: OperationView) -> Int64 {
        guard let time = view.usage.service?.ended else { return now.realtime }
        return min(now.realtime, max(time, view.started ?? 0))
    }

    private mutating func note(_ ref: OperationRef, _ verdict: Verdict, _ successor: UInt64?) {
        let detail: Trail.Detail =
            verdict.result == .superseded
            ? .superseded
            : verdict.reason.map { .text("\(verdict.result.rawValue), \($0)") } ?? .result(verdict.result)
        note(ReasonCode(verdict.result), ref, other: successor ?? 0, detail: detail)
    }

    mutating func take(_ verdict: Verdict, into view: inout OperationView) {
        view.result = verdict.result
        view.reason = verdict.reason
        view.exit = verdict.exit
        view.output = verdict.output
    }

    /// Takes it out of every count, line and table.
    mutating func leave(_ ref: OperationRef, _ operation: Operation, to place: Place) {
        let target = SourceState.Target(handler: operation.handler, queue: operation.queue)
        move(
            operation.entries.deliveries, from: operation.progress.isRunning ? .running : .pending, to: place,
            source: operation.source, target)
        loopHoldsNoMore(ref)
        if !joins.isEmpty { joins[ref.id] = nil }
        if operation.progress.isRunning {
            loopRunEnded(ref)
            queues[operation.queue].running -= 1
            scheduler.countBarrier(ref, -1)
        } else {
            operations[ref].progress.hasStarted = true
            waitsNoMore(operation.queue)
            changeLoad(-operation.entries.load, queue: operation.queue)
        }
        clocks.holdNoMore(ref.id)
        holdNoMore(ref.id)
        for ready in scheduler.remove(ref) { reportReady(ready) }
        if !splits.isEmpty { splits[operation.id] = nil }
        if !attempts.isEmpty { attempts[operation.id] = nil }
        if !commands.isEmpty { commands[operation.id] = nil }
        if !priorities.isEmpty { priorities[operation.id] = nil }
        hurryNoMore(operation)
        overdue.forget(operation.id)
        journal.forget(operation.id)
        if !dependencies.isEmpty { dependencies.forget(ref) }
    }

    private mutating func note(_ operation: Operation, _ result: Result, _ ended: Int64) {
        let handler = operation.handler
        handlers[handler].operations -= 1
        sources[operation.source].operations -= 1
        if result.isOutcome {
            handlers[handler].lastResult = result
            handlers[handler].lastEnded = ended
        }
    }

    /// Forgets what was removed and has no operation left.
    mutating func releaseUnused(_ operation: Operation) {
        releaseSourceIfUnused(operation.source)
        releaseHandlerIfUnused(operation.handler)
        releaseQueueIfUnused(operation.queue)
    }
}
