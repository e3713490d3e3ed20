import WatchFile

/// `Overlap=`: what a delivery does when an operation with its key already runs.
extension Engine {
    func overlap(_ source: Int, _ handler: Int) -> Overlap {
        if let written = handlers[handler].definition.value.overlap { return written }
        guard sources[source].isTimer else { return .wait }
        return .usualOfTimer(hasKey: sources[source].key != .none, keepsElapses: sources[source].keepsElapses)
    }

    /// The operation that has started with one of these keys.
    func runner(_ names: [KeyTable.Name]) -> UInt64? {
        for name in names {
            guard let key = keys.index(of: name), let first = keys[key].line.first, operations.isAlive(first) else {
                continue
            }
            if operations[first].progress.hasStarted { return operations[first].id }
        }
        return nil
    }

    // MARK: Overlap=restart

    /// Ends what runs for those whose turn has come but for it.
    mutating func restartWhatMay() {
        for ref in scheduler.takeRestarts() {
            let victims = scheduler.replaceable(by: ref)
            noteRateWaits()
            guard let victims else { continue }
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

    /// The runs of an operation have ended for a newer one: its events join that.
    ///
    /// - Parameter verdict: of its last run; that one has not failed.
    mutating func supersede(_ ref: OperationRef, _ verdict: Verdict = Verdict(result: .superseded)) {
        var verdict = verdict
        guard let next = scheduler.successor(of: ref) else {
            // A stop has left the newer one to the next start, and so this one.
            if life.isStopping, isDurable(ref) {
                operations[ref].runs = []
                return setAside(ref)
            }
            (verdict.result, verdict.reason) = (.cancelled, "ended for a newer operation, which was cancelled")
            return finish(ref, verdict)
        }
        let (old, new) = (operations[ref], operations[next])
        let target = SourceState.Target(handler: old.handler, queue: old.queue)
        let deliveries = old.entries.deliveries
        move(deliveries, from: old.progress.isRunning ? .running : .pending, to: .pending, source: old.source, target)
        if !old.progress.isRunning { changeLoad(-old.entries.load, queue: old.queue) }
        operations[ref].entries = EntryList()
        var heir = next
        let mayJoin = !isApart(source: old.source, handler: old.handler)
        if mayJoin, old.source == new.source, old.queue == new.queue, !old.descent.isOwn, !new.descent.isOwn {
            let before = new.entries.load
            operations[next].entries.rejoin(
                old.entries, merge: sources[old.source].merge, events: sources[old.source].pathEvents)
            operations[next].joined += deliveries
            countCoalesced(max(0, deliveries - old.joined), source: old.source, target)
            changeLoad(operations[next].entries.load - before, queue: old.queue)
            saveAsWhole(next)
        } else {
            heir = runAgain(old)
        }
        calls.handOver(from: ref.id, to: heir.id)
        verdict.reason = "superseded by operation \(new.id)"
        finish(ref, verdict, successor: heir.id, handedOn: tracedEvents(old))
    }

    /// Events of another source or queue cannot join, nor those of a `Run`: they make an operation of their own, behind
    /// the newer one.
    private mutating func runAgain(_ old: Operation) -> OperationRef {
        var draft = Operation()
        (draft.handler, draft.queue, draft.source) = (old.handler, old.queue, old.source)
        (draft.entries, draft.joined, draft.descent.depth) = (old.entries, old.joined, old.descent.depth)
        (draft.isClosed, draft.descent.isRerun, draft.lineage) = (true, true, old.lineage)
        (draft.descent.isByHand, draft.descent.isOwn) = (old.descent.isByHand, old.descent.isOwn)
        let ref = insert(draft, old.keys.map { keys[$0].name })
        begin(ref)
        return ref
    }
}
