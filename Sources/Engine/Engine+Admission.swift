import Schedule
import WatchFile

/// From a fact to operations that wait: hold back, merge, skip, drop, or take a place in line.
extension Engine {
    /// What happened to one delivery at the door.
    enum Admission: Equatable {
        /// Joined an operation, or made one.
        case operation(UInt64)
        case ended(Result, reason: String)
    }

    /// Takes in what a source saw. It is held back while the source is, else admitted.
    mutating func accept(_ fact: Fact, count: Int = 1, from source: Int, depth: Int = 0) {
        if case .timer = fact, sources[source].isSuspended { return }
        let event = makeEvent(fact, count: count)
        sources[source].lastEvent = event.time
        let isInternal = depth > 0
        let mustHold =
            sources[source].isSuspended || !sources[source].held.isEmpty
            || (!isInternal && isBlocked(event, source: source))
        actions.append(.report(accepted(event, source)))
        if mustHold, phase != .draining {
            hold(event, source: source)
        } else {
            for target in sources[source].targets { admit(event, source: source, target, depth: depth) }
        }
        sourceMayHaveEnded(source)
    }

    mutating func makeEvent(_ fact: Fact, count: Int = 1) -> Event {
        lastEventID += 1
        return Event(id: lastEventID, time: now.realtime, count: count, fact: fact)
    }

    func accepted(_ event: Event, _ source: Int) -> Report {
        .event(event, sources[source].origin, handlers: sources[source].targets.map { handlers[$0.handler].name })
    }

    // MARK: Held back

    /// Whether a queue of the source that holds back when it is full has no room for the event.
    func isBlocked(_ event: Event, source: Int) -> Bool {
        sources[source].targets.contains { target in
            queues[target.queue].definition.overflow == .block && isFull(target.queue, for: event, source, target)
        }
    }

    private func isFull(_ queue: Int, for event: Event, _ source: Int, _ target: SourceState.Target) -> Bool {
        guard queues[queue].entries >= queues[queue].definition.backlog || entries >= settings.maxOperations else {
            return false
        }
        guard let merge = sources[source].merge else { return true }
        return !mergeCandidates(event, source: source, target).contains {
            operations[$0].entries.wouldMerge(event, merge: merge)
        }
    }

    private mutating func hold(_ event: Event, source: Int) {
        let targets = sources[source].targets
        let limit = targets.map { queues[$0.queue].definition.backlog }.min() ?? 1
        let annulled = sources[source].held.add(event, merge: sources[source].merge, limit: limit)
        for target in targets {
            if let annulled {
                enter(event.count, at: .held, source: source, target)
                move(annulled, from: .held, to: .annulled, source: source, target)
            } else {
                refuse(event, .dropped, "more than \(limit) events held back", source: source, target)
            }
        }
        waitForRoom(source)
        holdInRim(source, limit: limit)
    }

    /// A descriptor is not read any more at once; a path source when no more changes can be kept.
    private mutating func holdInRim(_ source: Int, limit: Int) {
        guard !sources[source].isHeldInRim, case .source(let id) = sources[source].origin else { return }
        guard id.kind == .descriptor || (id.kind == .path && sources[source].held.count >= limit) else { return }
        sources[source].isHeldInRim = true
        actions.append(.hold(id))
    }

    /// Lets go what a source held back, as far as there is room.
    mutating func releaseIfPossible(_ source: Int) {
        guard sources.isInUse(source), !sources[source].isSuspended else { return }
        let targets = sources[source].targets
        while let event = sources[source].held.oldest {
            let isFull = isBlocked(event, source: source) && !sources[source].isRemoved
            if isFull { return waitForRoom(source) }
            _ = sources[source].held.removeOldest()
            for target in targets {
                move(event.count, from: .held, to: .pending, source: source, target)
                admit(event, source: source, target, depth: 0, isCounted: true)
            }
        }
        for target in targets { queues[target.queue].heldSources.remove(source) }
        isRoomNew = true
        if sources[source].isHeldInRim, case .source(let id) = sources[source].origin {
            sources[source].isHeldInRim = false
            actions.append(.release(id))
        }
        sourceMayHaveEnded(source)
        releaseSourceIfUnused(source)
    }

    // MARK: One delivery

    /// Brings a delivery to its place: into an operation, or to its end. `isCounted`: it stands at `pending` already.
    @discardableResult
    mutating func admit(
        _ event: Event, source: Int, _ target: SourceState.Target, depth: Int, isCounted: Bool = false
    ) -> Admission {
        if !isCounted { enter(event.count, at: .pending, source: source, target) }
        if phase == .draining || phase == .drained {
            return end(event, .cancelled, "watchd is stopping", source: source, target)
        }
        if depth > Self.chainLimit {
            return end(event, .dropped, "a chain of more than \(Self.chainLimit) handlers", source: source, target)
        }
        let names = keyNames(event, source: source, target)
        if overlap(source, target) == .skip, let runner = runner(names) {
            return end(event, .skipped, "Overlap=skip: \(runner) still runs", source: source, target)
        }
        if depth == 0, let refusal = makeRoom(for: event, source: source, target) {
            return end(event, .dropped, refusal, source: source, target)
        }
        let operation = enqueue(event, names, source: source, target, depth: depth)
        return .operation(operation)
    }

    private mutating func end(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target
    ) -> Admission {
        move(event.count, from: .pending, to: Place(result), source: source, target)
        reportRefusal(event, result, reason, source: source, target)
        return .ended(result, reason: reason)
    }

    /// A delivery that never was more than accepted.
    mutating func refuse(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target
    ) {
        enter(event.count, at: Place(result), source: source, target)
        reportRefusal(event, result, reason, source: source, target)
    }

    private mutating func reportRefusal(
        _ event: Event, _ result: Result, _ reason: String, source: Int, _ target: SourceState.Target
    ) {
        let handler = handlers[target.handler].name
        actions.append(.report(.refused(event, sources[source].origin, handler: handler, result, reason: reason)))
    }

    private func overlap(_ source: Int, _ target: SourceState.Target) -> Overlap {
        if let written = handlers[target.handler].definition.value.overlap { return written }
        if case .timer = sources[source].definition?.trigger, sources[source].definition?.key != KeyRule.none {
            return .skip
        }
        return .wait
    }

    /// The operation that runs with one of these keys.
    private func runner(_ names: [KeyTable.Name]) -> UInt64? {
        for name in names {
            guard let key = keys.index(of: name), let first = keys[key].line.first else { continue }
            if operations[first].run != nil { return operations[first].id }
        }
        return nil
    }

    /// Drops what the queue's policy says to drop. Returns why the delivery itself must be dropped, if it must.
    private mutating func makeRoom(for event: Event, source: Int, _ target: SourceState.Target) -> String? {
        let queue = target.queue
        guard queues[queue].definition.overflow != .block, isFull(queue, for: event, source, target) else { return nil }
        let definition = queues[queue].definition
        if definition.overflow == .dropOldest, dropOldestEntry(of: queue) { return nil }
        return
            "Overflow=\(definition.overflow.rawValue): \(queues[queue].entries) entries wait on queue \(definition.name)"
    }

    private mutating func dropOldestEntry(of queue: Int) -> Bool {
        while let ref = queues[queue].arrivals.first, !operations.isWaiting(ref) {
            _ = queues[queue].arrivals.removeFirst()
        }
        guard let ref = queues[queue].arrivals.first, let event = operations[ref].entries.removeOldest() else {
            return false
        }
        let operation = operations[ref]
        let target = SourceState.Target(handler: operation.handler, queue: queue)
        changeEntries(-1, queue: queue)
        move(event.count, from: .pending, to: .dropped, source: operation.source, target)
        let reason = "Overflow=drop-oldest"
        reportRefusal(event, .dropped, reason, source: operation.source, target)
        if operation.entries.isEmpty { finish(ref, .dropped, reason: reason) }
        return true
    }

    // MARK: Into an operation

    func mergeCandidates(_ event: Event, source: Int, _ target: SourceState.Target) -> [OperationRef] {
        mergeCandidates(keyNames(event, source: source, target), source: source, target)
    }

    private func mergeCandidates(
        _ names: [KeyTable.Name], source: Int, _ target: SourceState.Target
    ) -> [OperationRef] {
        var found: [OperationRef] = []
        for name in names {
            guard let key = keys.index(of: name) else { continue }
            for ref in keys[key].open where !found.contains(ref) {
                if operations[ref].source == source, operations[ref].queue == target.queue { found.append(ref) }
            }
        }
        return found.count > 1 ? found.sorted() : found
    }

    private mutating func enqueue(
        _ event: Event, _ names: [KeyTable.Name], source: Int, _ target: SourceState.Target, depth: Int
    ) -> UInt64 {
        let merge = sources[source].merge
        let candidates = merge == nil ? [] : mergeCandidates(names, source: source, target)
        guard let oldest = candidates.first else {
            return insert(event, names, source: source, target, depth: depth)
        }
        for other in candidates.dropFirst() { absorb(other, into: oldest, merge: merge) }
        countCoalesced(event.count, source: source, target)
        joinKeys(names, oldest)
        let id = operations[oldest].id
        change(oldest, operations[oldest].entries.add(event, merge: merge), source: source, target)
        return id
    }

    private mutating func change(
        _ ref: OperationRef, _ change: EntryList.Change, source: Int, _ target: SourceState.Target
    ) {
        changeEntries(change.entries, queue: target.queue)
        move(change.annulled, from: .pending, to: .annulled, source: source, target)
        if operations[ref].entries.isEmpty { finish(ref, .annulled, reason: "its changes cancel each other out") }
    }

    /// A rename made two waiting operations one: the older keeps its place and takes all.
    private mutating func absorb(_ other: OperationRef, into ref: OperationRef, merge: CustomTrigger.Merge?) {
        let absorbed = operations[other]
        let target = SourceState.Target(handler: absorbed.handler, queue: absorbed.queue)
        changeEntries(-absorbed.entries.count, queue: absorbed.queue)
        countCoalesced(absorbed.entries.deliveries, source: absorbed.source, target)
        joinKeys(absorbed.keys.map { keys[$0].name }, ref)
        operations[ref].waiters += absorbed.waiters
        operations[other].waiters = []
        operations[other].entries = EntryList()
        finish(other, .annulled, reason: "joined operation \(operations[ref].id)")
        change(ref, operations[ref].entries.absorb(absorbed.entries, merge: merge), source: absorbed.source, target)
    }

    private mutating func joinKeys(_ names: [KeyTable.Name], _ ref: OperationRef) {
        let have = operations[ref].keys.map { keys[$0].name }
        for name in names where !have.contains(name) {
            let key = keys.join(name, ref, isOpen: true, in: operations)
            if operations[ref].key == nil { operations[ref].key = key } else { operations[ref].moreKeys.append(key) }
        }
        if case .ready = operations[ref].state, !hasKeys(ref) { operations[ref].state = .pending }
    }

    private mutating func insert(
        _ event: Event, _ names: [KeyTable.Name], source: Int, _ target: SourceState.Target, depth: Int
    ) -> UInt64 {
        lastOperationID += 1
        var operation = Operation()
        operation.id = lastOperationID
        operation.handler = target.handler
        operation.queue = target.queue
        operation.source = source
        operation.depth = depth
        operation.submitted = now.realtime
        operation.state = .pending
        operation.isClosed = sources[source].merge == nil
        _ = operation.entries.add(event, merge: nil)
        let ref = operations.insert(operation)
        for name in names {
            let key = keys.join(name, ref, isOpen: !operation.isClosed, in: operations)
            if operations[ref].key == nil { operations[ref].key = key } else { operations[ref].moreKeys.append(key) }
        }
        handlers[target.handler].operations += 1
        sources[source].operations += 1
        queues[target.queue].waiting += 1
        queues[target.queue].arrivals.append(ref)
        changeEntries(1, queue: target.queue)
        takePlace(ref)
        return operation.id
    }
}

extension Place {
    init(_ result: Result) {
        switch result {
        case .done: self = .done
        case .failed: self = .failed
        case .cancelled: self = .cancelled
        case .skipped: self = .skipped
        case .dropped: self = .dropped
        case .annulled: self = .annulled
        }
    }
}
