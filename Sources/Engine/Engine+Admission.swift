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
    ///
    /// What watchd makes itself (`depth` above 0) is never held back, but waits while the source is suspended.
    mutating func accept(_ fact: Fact, count: Int = 1, from source: Int, depth: Int = 0) {
        let isSuspended = sources[source].isSuspended
        if case .timer = fact, isSuspended { return }
        let event = makeEvent(fact, count: count)
        sources[source].lastEvent = event.time
        actions.append(.report(accepted(event, source)))
        if phase == .running || phase == .reloading {
            if isSuspended || (depth == 0 && !sources[source].held.isEmpty) { return hold(event, source: source) }
            if depth == 0, let obstacle = obstacle(event, source: source, isFirst: false) {
                hold(event, source: source)
                return wait(source, for: obstacle)
            }
        }
        for target in sources[source].targets { admit(event, source: source, target, depth: depth) }
        sourceMayHaveEnded(source)
    }

    mutating func makeEvent(_ fact: Fact, count: Int = 1) -> Event {
        lastEventID += 1
        return Event(id: lastEventID, time: now.realtime, count: count, fact: fact)
    }

    func accepted(_ event: Event, _ source: Int) -> Report {
        .event(event, sources[source].origin, handlers: sources[source].targets.map { handlers[$0.handler].name })
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
        if depth > 0, entries >= settings.maxOperations + Self.overLimit {
            let reason = "more than \(Self.overLimit) entries over MaxOperations=\(settings.maxOperations)"
            return end(event, .dropped, reason, source: source, target)
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
        guard !queues[queue].holdsBack, isFull(queue) || entries >= settings.maxOperations,
            isNewEntry(event, source: source, target)
        else { return nil }
        let definition = queues[queue].definition
        if definition.overflow == .dropOldest, dropOldestEntry(of: queue) { return nil }
        return
            "Overflow=\(definition.overflow.rawValue): \(queues[queue].entries) entries wait on queue \(definition.name)"
    }

    private mutating func dropOldestEntry(of queue: Int) -> Bool {
        queues[queue].arrivals.trim(waiting: queues[queue].waiting, in: operations)
        guard let ref = queues[queue].arrivals.first, let event = operations[ref].entries.removeOldest() else {
            return false
        }
        let source = operations[ref].source
        let target = SourceState.Target(handler: operations[ref].handler, queue: queue)
        changeEntries(-1, queue: queue)
        move(event.count, from: .pending, to: .dropped, source: source, target)
        let reason = "Overflow=drop-oldest"
        reportRefusal(event, .dropped, reason, source: source, target)
        if operations[ref].entries.isEmpty { finish(ref, .dropped, reason: reason) }
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
        var change = EntryList.Change()
        for other in candidates.dropFirst() { change += absorb(other, into: oldest, merge: merge) }
        joinKeys(names, oldest)
        change += operations[oldest].entries.add(event, merge: merge)
        operations[oldest].joined += event.count
        countCoalesced(event.count, source: source, target)
        let id = operations[oldest].id
        move(change.annulled, from: .pending, to: .annulled, source: source, target)
        changeEntries(change.entries, queue: target.queue)
        if operations[oldest].entries.isEmpty { finish(oldest, .annulled, reason: "its changes cancel each other out") }
        return id
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
        operations[ref].waiters += absorbed.waiters
        operations[ref].joined += absorbed.entries.deliveries
        operations[other].waiters = []
        operations[other].entries = EntryList()
        changeEntries(-absorbed.entries.count, queue: absorbed.queue)
        finish(other, .annulled, reason: "joined operation \(operations[ref].id)")
        return operations[ref].entries.absorb(absorbed.entries, merge: merge)
    }

    private mutating func joinKeys(_ names: [KeyTable.Name], _ ref: OperationRef) {
        let have = operations[ref].keys.map { keys[$0].name }
        for name in names where !have.contains(name) {
            let key = keys.join(name, ref, isOpen: true, in: operations)
            operations[ref].keys.append(key)
            // Being older, it may have stepped in before one that was ready.
            if keys[key].line.first == ref, let displaced = keys[key].line.second { readyNoMore(displaced) }
        }
        if !hasKeys(ref) { readyNoMore(ref) }
    }

    private mutating func readyNoMore(_ ref: OperationRef) {
        guard operations.isWaiting(ref), case .ready = operations[ref].state else { return }
        operations[ref].state = .pending
        actions.append(.report(.operation(operations[ref].id, .pending)))
        // Who stands behind it may need less: no process slot.
        touch(queue: operations[ref].queue)
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
            operations[ref].keys.append(keys.join(name, ref, isOpen: !operation.isClosed, in: operations))
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
