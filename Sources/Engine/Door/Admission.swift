import Schedule
import WatchFile

/// From a fact to operations that wait: hold back, merge, skip, drop, or take a place in line.
extension Engine {
    /// The outcome of one delivery at the door.
    enum Admission: Equatable {
        /// Joined an operation, or made one.
        case operation(UInt64)
        /// `seenAs`: what those that depend on it see.
        case ended(Result, reason: String, seenAs: Result)
    }

    /// Takes in what a source saw. It is held back while the source is, else admitted.
    ///
    /// Events of watchd itself (`depth` above 0) are never held back, but wait while the source is suspended.
    mutating func accept(
        _ fact: Fact, count: Int = 1, from source: Int, depth: Int = 0, trace: TraceContext? = nil
    ) {
        if case .timer = fact, sources[source].isSuspended { return }
        if case .path(let path) = fact {
            return acceptPath(path, count: count, from: source, depth: depth, trace: trace)
        }
        enter(fact, count: count, from: source, depth: depth, trace: trace)
    }

    /// Takes in what is an event of the source.
    mutating func enter(_ fact: Fact, count: Int, from source: Int, depth: Int, trace: TraceContext?) {
        if sources[source].traits.contains(.silence) { noteHeard(source, depth: depth) }
        var event = makeEvent(fact, count: count)
        if let trace { event.trace = trace }
        sources[source].lastEvent = event.time
        actions.append(.report(accepted(event, source)))
        if life.isOpen {
            let isHeldBack = sources[source].isSuspended || (depth == 0 && sources[source].holds)
            if isHeldBack { return hold(event, source: source) }
            if depth == 0,
                let obstacle = rateObstacle(event, source) ?? obstacle(event, source: source, isFirst: false)
            {
                hold(event, source: source)
                return wait(source, for: obstacle)
            }
        }
        passRate(source) { engine in
            engine.admitAll(event, source: source, engine.sources[source].targets, depth: depth)
        }
        if sources[source].isTimer { sourceMayHaveEnded(source) }
    }

    /// The lines of one read, as if each had come alone.
    mutating func acceptLines(_ facts: [LineFact], of id: SourceID, _ position: [UInt8]?) {
        guard let source = sources.index(of: .source(id)), !sources[source].isRemoved else { return }
        for fact in facts {
            accept(.line(fact), from: source)
            settle()
        }
        // A first place, or that of the next file: what comes in behind it is read even after a kill.
        if let position { actions.append(.store(.position(id, position, isUrgent: facts.isEmpty))) }
    }

    mutating func makeEvent(_ fact: Fact, count: Int = 1) -> Event {
        Event(id: takeEventID(), time: now.realtime, count: count, fact: fact)
    }

    func accepted(_ event: Event, _ source: Int) -> Report {
        let handlers = handlerNames(sources[source].targets)
        return .event(event, sources[source].origin, handlers: handlers, isKept: sources[source].isSuspended)
    }

    func handlerNames(_ targets: some Collection<SourceState.Target>) -> [String] {
        targets.map { handlers[$0.handler].name }
    }

    // MARK: The deliveries of one event

    /// Brings every delivery of an event to its place. `targets`: those first that others wait for. `isCounted`: they
    /// stand at `pending` already. `behind`: of a `Run`, the newest operation there was before; it joins only its own.
    @discardableResult
    mutating func admitAll(
        _ event: Event, source: Int, _ targets: some Collection<SourceState.Target>, depth: Int,
        isCounted: Bool = false, behind: UInt64? = nil
    ) -> [Admission] {
        if targets.count == 1, let target = targets.first {
            let admission = admit(event, source: source, target, .none, depth, isCounted: isCounted, behind: behind)
            noteReached(admission)
            if !emitWaits.isEmpty, behind == nil { noteAdmitted(event, source, [admission]) }
            return [admission]
        }
        var admissions: Admissions = []
        for target in targets {
            let dependencies = dependencies(target.handler, admissions)
            let admission = admit(
                event, source: source, target, dependencies, depth, isCounted: isCounted, behind: behind)
            noteReached(admission)
            admissions.append((target.handler, admission))
        }
        if !emitWaits.isEmpty, behind == nil { noteAdmitted(event, source, admissions.map(\.admission)) }
        return admissions.map(\.admission)
    }

    /// Brings the one delivery of an event that is its caller's own to its place, in an operation of its own.
    mutating func admitAlone(
        _ event: Event, source: Int, _ target: SourceState.Target, _ dependencies: Dependencies, depth: Int = 0
    ) -> Admission {
        let newest = journal.ids.lastOperation
        actions.append(.report(.event(event, sources[source].origin, handlers: handlerNames([target]))))
        let admission = admit(event, source: source, target, dependencies, depth, isCounted: false, behind: newest)
        noteReached(admission)
        return admission
    }

    /// Brings a delivery to its place: into an operation, or to its end.
    private mutating func admit(
        _ event: Event, source: Int, _ target: SourceState.Target, _ dependencies: Dependencies, _ depth: Int,
        isCounted: Bool, behind: UInt64?
    ) -> Admission {
        if !isCounted { enter(event.count, at: .pending, source: source, target) }
        if let (result, reason) = refusal(dependencies, depth, queue: target.queue) {
            return end(event, result, reason, source: source, target)
        }
        let traits = traits(source: source, handler: target.handler)
        if traits.contains(.once), handlers[target.handler].isOnceDone, behind == nil,
            let once = handlers[target.handler].definition.value.constraints.once
        {
            return end(
                event, .skipped, "Once=\(once.rawValue): it has run", source: source, target, seenAs: .done)
        }
        if traits.contains(.windows), let reason = skippingWindow(source: source, handler: target.handler) {
            return end(event, .skipped, reason, source: source, target)
        }
        if traits.contains(.digest), behind == nil, isDigested(source: source, handler: target.handler) {
            let (event, own) = digest(event, source: source, target)
            return admit(event, source: own, target, dependencies, depth, isCounted: true, behind: nil)
        }
        let names = keyNames(event, source: source, target)
        if overlap(source, target.handler) == .skip, let runner = runner(names) {
            return end(
                event, .skipped, "Overlap=skip: \(runner) still runs", source: source, target, other: runner)
        }
        if depth == 0, let refusal = makeRoom(for: event, source: source, target, behind: behind) {
            return end(event, .dropped, refusal, source: source, target)
        }
        let draft = Self.draft(
            event, source: source, target, depth: depth, isByHand: behind != nil,
            isClosed: merge(source: source, handler: target.handler) == nil)
        return enqueue(event, names, draft, dependencies, behind: behind)
    }

    /// Why a delivery may not become a part of an operation.
    private func refusal(_ dependencies: Dependencies, _ depth: Int, queue: Int) -> (Result, String)? {
        // A durable operation runs after the next start.
        if life.isStopping, !queues[queue].definition.isDurable, life.drain?.keepsAll != true {
            return (.cancelled, "watchd is stopping")
        }
        if depth > Self.chainLimit {
            return (.dropped, "more than \(Self.chainLimit) handlers behind the first of a chain")
        }
        if depth > 0, let measure = door.load.fullness(within: settings.bound + Self.overLimit, isWaitedFor: false) {
            let over = measure == .entries ? "\(Self.overLimit.entries) entries" : ByteCount.exact(Self.overLimit.bytes)
            return (.dropped, "more than \(over) over \(settings.limit(measure))")
        }
        if let refusal = dependencies.refusal { return (.skipped, refusal) }
        return nil
    }

    /// Static: otherwise making one would copy the engine.
    private static func draft(
        _ event: Event, source: Int, _ target: SourceState.Target, depth: Int, isByHand: Bool, isClosed: Bool
    ) -> Operation {
        var operation = Operation()
        operation.handler = target.handler
        operation.queue = target.queue
        operation.source = source
        operation.descent.depth = Int16(clamping: depth)
        operation.lineage = Operation.Lineage(event)
        operation.isClosed = isClosed
        (operation.descent.isByHand, operation.descent.isOwn) = (isByHand, isByHand)
        _ = operation.entries.add(event, merge: nil)
        return operation
    }

    private mutating func end(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target,
        other: UInt64 = 0, seenAs: Result? = nil
    ) -> Admission {
        move(event.count, from: .pending, to: Place(result), source: source, target)
        reportRefusal(event, result, reason, source: source, target, other: other)
        return .ended(result, reason: reason, seenAs: seenAs ?? result)
    }

    /// A delivery that never was more than accepted.
    mutating func refuse(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target
    ) {
        enter(event.count, at: Place(result), source: source, target)
        reportRefusal(event, result, reason, source: source, target)
    }

    mutating func reportRefusal(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target,
        other: UInt64 = 0, endsOperation: Bool = false
    ) {
        var refused = refused(event, source: source, target, result, reason)
        refused.endsOperation = endsOperation
        actions.append(.report(.refused(refused)))
        trail.note(
            Trail.Step(
                time: now.realtime, code: ReasonCode(result), handler: target.handler, queue: target.queue,
                operation: 0, other: other, event: event.id, detail: .text(reason)))
    }

    func refused(
        _ event: Event, source: Int, _ target: SourceState.Target, _ result: Result, _ reason: String
    ) -> RefusedDelivery {
        RefusedDelivery(
            event: event, origin: sources[source].origin, handler: handlers[target.handler].name,
            queue: queues[target.queue].definition.name, result: result, reason: reason)
    }

    // MARK: Into an operation

    /// The operations that would take an event in; of a `Run` only those it has made itself.
    func mergeCandidates(
        _ event: Event, source: Int, _ target: SourceState.Target, behind: UInt64? = nil
    ) -> [OperationRef] {
        mergeCandidates(keyNames(event, source: source, target), source: source, target, behind: behind)
    }

    private func mergeCandidates(
        _ names: [KeyTable.Name], source: Int, _ target: SourceState.Target, behind: UInt64?
    ) -> [OperationRef] {
        var found: [OperationRef] = []
        for name in names {
            guard let key = keys.index(of: name) else { continue }
            for ref in keys[key].open
            where operations[ref].source == source && operations[ref].queue == target.queue && ref.id > behind ?? 0 {
                if !found.contains(ref) { found.append(ref) }
            }
        }
        return found.count > 1 ? found.sorted() : found
    }

    /// Joins an operation that waits and may take it in, or makes one; data 0, which there is nothing for to replace, is
    /// annulled.
    private mutating func enqueue(
        _ event: Event, _ names: [KeyTable.Name], _ draft: consuming Operation, _ dependencies: Dependencies,
        behind: UInt64?
    ) -> Admission {
        let (source, target) = (draft.source, SourceState.Target(handler: draft.handler, queue: draft.queue))
        let merge = draft.isClosed ? nil : sources[source].merge
        var candidates = merge == nil ? [] : mergeCandidates(names, source: source, target, behind: behind)
        for other in candidates where !mayJoin(other, dependencies) {
            close(other)
            candidates.removeAll { $0 == other }
        }
        // An event inside a HoldDuring= window must wait, and so must one whose key has to be quiet for a while, or that
        // others have to join: it may not join an operation that is already submitted.
        let traits = traits(source: source, handler: target.handler)
        if !candidates.isEmpty,
            (behind == nil && !traits.isDisjoint(with: [.settles, .joinsAll]))
                || (traits.contains(.windows)
                    && (holdingWindow(source: source, handler: target.handler) != nil
                        || !holdConditions(source: source, handler: target.handler).isEmpty))
        {
            for other in candidates where operations[other].turn.station != .unsubmitted { close(other) }
            candidates.removeAll { operations[$0].turn.station != .unsubmitted }
        }
        // An operation that has its place cannot wait for another one's dependencies.
        if let oldest = candidates.first, operations[oldest].turn.station != .unsubmitted {
            candidates.removeAll { operations[$0].blockers > 0 }
        }
        guard let oldest = candidates.first else {
            if event.isNothing, behind == nil {
                return end(event, .annulled, "data 0 is no event, and nothing waits", source: source, target)
            }
            let ref = insert(draft, names)
            note(.submitted, ref, event: event.id)
            if !dependencies.operations.isEmpty { depend(ref, dependencies) }
            if traits.contains(.paths), !loops.states.isEmpty { watchForLoop(ref, isNew: true) }
            if traits.contains(.joinsAll) { beginJoin(ref) }
            begin(ref)
            return .operation(ref.id)
        }
        var change: EntryList.Change?
        for other in candidates.dropFirst() {
            change = (change ?? EntryList.Change()) + absorb(other, into: oldest, merge: merge)
        }
        joinKeys(names, oldest)
        depend(oldest, dependencies)
        join(event, oldest, source: source, target, carrying: change)
        return .operation(oldest.id)
    }

    /// `other`: what has come to the operation with it already.
    mutating func join(
        _ event: Event, _ ref: OperationRef, source: Int, _ target: SourceState.Target,
        carrying other: EntryList.Change? = nil
    ) {
        let events = sources[source].pathEvents
        // In a digest each is told by itself.
        let merge = isDigest(source: source) ? nil : sources[source].merge
        var change = operations[ref].entries.add(event, merge: merge, events: events)
        let isUndone = change.annulled > 0
        if let other { change += other }
        if change.isChosen { saveAsWhole(ref) } else { saveJoined(event, ref) }
        note(unasked: change, source: source, since: operations[ref].times.made, isHeld: false)
        operations[ref].joined += event.count
        settleAnew(ref)
        watchForLoop(ref, isNew: false)
        countCoalesced(event.count, source: source, target)
        note(.joined, ref, event: event.id)
        if isUndone, !operations[ref].entries.isEmpty { noteUndone(event, ref, change) }
        move(change.annulled, from: .pending, to: .annulled, source: source, target)
        changeLoad(change.load, queue: target.queue)
        guard operations[ref].entries.isEmpty else {
            noteJoin(event, ref)
            return batchMayBeFull(ref)
        }
        let isData = if case .custom = event.fact { true } else { false }
        finish(ref, .annulled, reason: isData ? Self.dataIsNothing : Self.undone(change))
    }

    private static func undone(_ change: EntryList.Change) -> String {
        change.isChosen ? "its changes come to nothing that Events= asks for" : "its changes cancel each other out"
    }

    /// Of its path the operation does not tell, though of others.
    private mutating func noteUndone(_ event: Event, _ ref: OperationRef, _ change: EntryList.Change) {
        guard case .path = event.fact else { return }
        let text = "\(Self.undone(change)): operation \(ref.id) does not tell of it"
        note(.annulled, ref, event: event.id, detail: .text(text))
    }

    /// A rename made two waiting operations one: the older keeps its place and takes all.
    private mutating func absorb(
        _ other: OperationRef, into ref: OperationRef, merge: CustomTrigger.Merge?
    ) -> EntryList.Change {
        let absorbed = operations[other]
        let target = SourceState.Target(handler: absorbed.handler, queue: absorbed.queue)
        let newlyJoined = max(0, absorbed.entries.deliveries - absorbed.joined)
        countCoalesced(newlyJoined, source: absorbed.source, target)
        joinKeys(absorbed.keys.map { keys[$0].name }, ref)
        calls.handOver(from: other.id, to: ref.id)
        for id in dependencies.dependencies(of: other.id) {
            let isRequired = dependencies.isRequired(id, by: other)
            depend(ref, Dependencies(operations: [(id, isRequired)]))
        }
        operations[ref].joined += absorbed.entries.deliveries
        operations[other].entries = EntryList()
        changeLoad(-absorbed.entries.load, queue: absorbed.queue)
        saveAsWhole(ref)
        finish(other, .annulled, reason: "joined operation \(operations[ref].id)", successor: ref.id)
        let events = sources[operations[ref].source].pathEvents
        return operations[ref].entries.absorb(absorbed.entries, merge: merge, events: events)
    }

    private mutating func joinKeys(_ names: [KeyTable.Name], _ ref: OperationRef) {
        let have = operations[ref].keys.map { keys[$0].name }
        for name in names where !have.contains(name) {
            if let displaced = scheduler.join(name, ref) { report(displaced) }
        }
        if operations[ref].turn.place != 0, !scheduler.hasKeys(ref) {
            if scheduler.readyNoMore(ref) { report(ref) }
            scheduler.noteRestart(ref)
        }
    }
}

extension Place {
    init(_ result: Result) {
        switch result {
        case .done: self = .done
        case .failed, .stopped: self = .failed
        case .cancelled: self = .cancelled
        case .skipped: self = .skipped
        case .dropped: self = .dropped
        case .annulled, .superseded: self = .annulled
        }
    }
}
