import Schedule
import WatchFile

@testable import Engine

/// What must hold inside the engine after every input: what it counts is what is there, what it keeps is needed, and
/// every deadline is armed.
struct EngineInvariants {
    /// A sentence about the first thing that is wrong. What starts when is the concern of `SchedulingModel`.
    func check(_ engine: Engine, armed: [Clock: Int64]) -> String? {
        let refs = engine.operations.refs
        return accounting(engine, refs) ?? bounds(engine, refs) ?? keys(engine, refs) ?? heldBack(engine)
            ?? deadlines(engine, refs, armed) ?? WorkerInvariants().check(engine, refs) ?? tidiness(engine, refs)
            ?? ObstacleInvariants().check(engine)
    }

    // MARK: Accounting

    private struct Sums: Equatable {
        var held = 0
        var pending = 0
        var running = 0
    }

    private func accounting(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        var (sources, queues, handlers) = ([Int: Sums](), [Int: Sums](), [Int: Sums]())
        for ref in refs {
            let operation = engine.operations[ref]
            let deliveries = operation.entries.events.reduce(0) { $0 + $1.count }
            let place: WritableKeyPath<Sums, Int> = operation.progress.isRunning ? \.running : \.pending
            sources[operation.source, default: Sums()][keyPath: place] += deliveries
            queues[operation.queue, default: Sums()][keyPath: place] += deliveries
            handlers[operation.handler, default: Sums()][keyPath: place] += deliveries
        }
        for source in engine.sources.indices {
            for target in engine.sources[source].targets {
                sources[source, default: Sums()].held += engine.sources[source].held.deliveries
                queues[target.queue, default: Sums()].held += engine.sources[source].held.deliveries
                handlers[target.handler, default: Sums()].held += engine.sources[source].held.deliveries
            }
        }
        for index in engine.sources.indices {
            let state = engine.sources[index]
            if let wrong = Self.compare(engine, state.counters, sources[index] ?? Sums()) {
                return "\(state.origin): \(wrong)"
            }
        }
        for index in engine.queues.indices {
            let state = engine.queues[index]
            if let wrong = Self.compare(engine, state.counters, queues[index] ?? Sums()) {
                return "queue \(state.definition.name): \(wrong)"
            }
        }
        for index in engine.handlers.indices {
            let state = engine.handlers[index]
            if let wrong = Self.compare(engine, state.counters, handlers[index] ?? Sums()) {
                return "handler \(state.name): \(wrong)"
            }
        }
        if !Self.isBalanced(engine.totals) { return "the totals do not add up: \(engine.totals)" }
        return nil
    }

    private static func isBalanced(_ counters: Counters) -> Bool {
        Place.allCases.allSatisfy { counters[$0] >= 0 } && counters.coalesced <= counters.accepted
    }

    private static func compare(_ engine: Engine, _ counters: Counters, _ sums: Sums) -> String? {
        guard isBalanced(counters) else { return "its counts do not add up: \(counters)" }
        var counted = Sums(held: counters[.held], pending: counters[.pending], running: counters[.running])
        // What a stop has left to the next start is pending, and in the store.
        if engine.setAsideCount > 0 { counted.pending = min(counted.pending, sums.pending) }
        return counted == sums ? nil : "counted \(counted), there are \(sums)"
    }

    // MARK: Bounds

    private func bounds(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        var entries: [Int: Int] = [:]
        var bytes: [Int: Int] = [:]
        var (ofHandler, ofSource) = ([Int: Int](), [Int: Int]())
        for ref in refs {
            let operation = engine.operations[ref]
            ofHandler[operation.handler, default: 0] += 1
            ofSource[operation.source, default: 0] += 1
            if operation.entries.isEmpty { return "operation \(operation.id) has no events" }
            let sum = operation.entries.events.reduce(0) { $0 + $1.load.bytes }
            if operation.entries.bytes != sum {
                return "operation \(operation.id) counts \(operation.entries.bytes) bytes, its events have \(sum)"
            }
            guard operation.state != .executing else { continue }
            entries[operation.queue, default: 0] += operation.entries.events.count
            bytes[operation.queue, default: 0] += sum
        }
        for index in engine.queues.indices where engine.queues[index].entries != entries[index] ?? 0 {
            let queue = engine.queues[index]
            return "queue \(queue.definition.name) counts \(queue.entries) entries, \(entries[index] ?? 0) wait"
        }
        if engine.entries != entries.values.reduce(0, +) { return "\(engine.entries) entries counted in all" }
        for index in engine.queues.indices where engine.queues[index].load.bytes != bytes[index] ?? 0 {
            let queue = engine.queues[index]
            return "queue \(queue.definition.name) counts \(queue.load.bytes) bytes, \(bytes[index] ?? 0) wait"
        }
        if engine.door.load.bytes != bytes.values.reduce(0, +) {
            return "\(engine.door.load.bytes) bytes counted in all"
        }
        for index in engine.handlers.indices where engine.handlers[index].operations != ofHandler[index] ?? 0 {
            return "handler \(engine.handlers[index].name) counts \(engine.handlers[index].operations) operations"
        }
        for index in engine.sources.indices where Int(engine.sources[index].operations) != ofSource[index] ?? 0 {
            return "\(engine.sources[index].origin) counts \(engine.sources[index].operations) operations"
        }
        return nil
    }

    // MARK: Keys

    private func names(_ engine: Engine, _ ref: OperationRef) -> Set<KeyTable.Name> {
        Set(engine.operations[ref].keys.map { engine.keys[$0].name })
    }

    private func keys(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        var (running, all) = (Set<KeyTable.Name>(), Set<KeyTable.Name>())
        for ref in refs {
            let names = names(engine, ref)
            all.formUnion(names)
            guard engine.operations[ref].progress.isRunning, engine.operations[ref].turn.isExclusive else { continue }
            if !running.isDisjoint(with: names) {
                return "two operations with one key run, one is \(engine.operations[ref].id)"
            }
            running.formUnion(names)
        }
        struct Open: Hashable { var name: KeyTable.Name, source: Int, queue: Int }
        var open: Set<Open> = []
        for ref in refs where !engine.operations[ref].isClosed {
            let operation = engine.operations[ref]
            for name in names(engine, ref) {
                let isFirst = open.insert(Open(name: name, source: operation.source, queue: operation.queue)).inserted
                if !isFirst { return "operation \(operation.id) did not join the one that waits" }
            }
        }
        return all.count == engine.keys.count ? nil : "\(engine.keys.count) keys kept, \(all.count) in use"
    }

    // MARK: Held back

    private func heldBack(_ engine: Engine) -> String? {
        guard engine.phase == .running || engine.phase == .reloading else { return nil }
        for index in engine.queues.indices
        where engine.queues[index].hasRoom && !engine.queues[index].heldSources.isEmpty {
            return "queue \(engine.queues[index].definition.name) has room and holds sources back"
        }
        if engine.door.load.isRoomy(within: engine.settings.bound), !engine.door.heldByTotal.isEmpty {
            return "there is room in all and sources are held back"
        }
        for index in engine.sources.indices {
            let source = engine.sources[index]
            if source.isHeldInRim, !source.isSuspended, source.held.isEmpty {
                return "\(source.origin) is held for nothing"
            }
            guard !source.isSuspended, !source.held.isEmpty else { continue }
            let isInLine =
                engine.door.heldByTotal.contains(index) || engine.door.isHeldByStore(index)
                || source.rateDeadline != nil
                || engine.queues.indices.contains { engine.queues[$0].heldSources.contains(index) }
            if !isInLine { return "\(source.origin) holds events and stands in no line" }
        }
        if let call = engine.door.calls.first, engine.entries == 0, engine.door.heldByTotal.isEmpty {
            let isFree = call.emissions.allSatisfy { source, _ in
                !engine.sources[source].isSuspended && engine.sources[source].held.isEmpty
                    && engine.sources[source].targets.allSatisfy { engine.queues[$0.queue].heldSources.isEmpty }
            }
            if isFree, engine.journal.isWorking { return "a caller of Emit waits for nothing" }
        }
        return nil
    }

    // MARK: Deadlines and tidiness

    private func deadlines(_ engine: Engine, _ refs: [OperationRef], _ armed: [Clock: Int64]) -> String? {
        var (real, boot, monotonic) = ([Int64](), [Int64](), [Int64]())
        for index in engine.sources.indices {
            let (timer, accuracy) = (engine.sources[index].timer, engine.timerRule(index)?.accuracy ?? 0)
            let leeway = accuracy > 1000 ? accuracy : 0
            let times = Clock.allCases.map { timer.due($0) == TimerState.never ? [] : [timer.due($0) + leeway] }
            (real, boot, monotonic) = (real + times[0], boot + times[1], monotonic + times[2])
            boot += engine.sources[index].suspensions.compactMap(\.resumesAt)
            let silence = engine.sources[index].silence
            if silence.isRunning, !silence.isSilent { monotonic.append(silence.heard + silence.span) }
        }
        real += engine.clocks.windowEnds.values
        for index in engine.queues.indices { boot += engine.queues[index].suspensions.compactMap(\.resumesAt) }
        monotonic += refs.flatMap { engine.operations[$0].runs.compactMap(\.deadline) }
        for crew in engine.scheduler.crews.indices {
            for copy in engine.scheduler.crews[crew].members.indices {
                monotonic += engine.workerDeadlines(Seat(crew: crew, copy: copy))
            }
        }
        if let reload = engine.life.reload { monotonic.append(reload.deadline) }
        if case .draining(let drain) = engine.life, let deadline = drain.deadline { monotonic.append(deadline) }
        for (clock, times) in [(Clock.realtime, real), (.boottime, boot), (.monotonic, monotonic)] {
            guard let next = times.min() else { continue }
            guard let time = armed[clock], time <= next else { return "the \(clock) clock is not armed for \(next)" }
        }
        return nil
    }

    /// A source that was removed while it was suspended holds events for it.
    private func isHeldFor(_ engine: Engine, _ isMeant: (SourceState.Target) -> Bool) -> Bool {
        engine.sources.indices.contains { index in
            let source = engine.sources[index]
            return source.isRemoved && !source.held.isEmpty && source.targets.contains(where: isMeant)
        }
    }

    /// An operation that has not ended may start it, by handlers that were removed too perhaps.
    private func isTold(_ engine: Engine, _ name: String, _ refs: [OperationRef]) -> Bool {
        var pending = refs.map { ref in
            let operation = engine.operations[ref]
            return operation.runs.last?.definition ?? engine.handlers[operation.handler].definition
        }
        var seen: Set<String> = []
        while let definition = pending.popLast() {
            for told in definition.value.completions.all where seen.insert(told).inserted {
                guard let handler = engine.handlers.index(of: told), engine.handlers[handler].isRemoved else {
                    continue
                }
                pending.append(engine.handlers[handler].definition)
            }
        }
        return seen.contains(name)
    }

    private func tidiness(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        for index in engine.sources.indices {
            let source = engine.sources[index]
            if engine.sources.index(of: source.name) != index { return "\(source.name) is there twice" }
            // A process that it supervised may still have to end.
            let isEnding = engine.supervisor[index]?.copies.contains { $0.life != nil } ?? false
            if source.isRemoved, source.operations == 0, source.held.isEmpty, source.group.tickets.isEmpty, !isEnding {
                return "\(source.origin) is kept for nothing"
            }
        }
        for index in engine.handlers.indices
        where engine.handlers[index].isRemoved && engine.handlers[index].operations == 0 {
            let name = engine.handlers[index].name
            let isFinalizer = engine.queues.indices.contains { engine.queues[$0].definition.finalizer == name }
            if isFinalizer || isHeldFor(engine, { $0.handler == index }) || isTold(engine, name, refs) { continue }
            return "handler \(engine.handlers[index].name) is kept for nothing"
        }
        for index in engine.queues.indices where engine.queues[index].isRemoved {
            let queue = engine.queues[index]
            let isUsed = refs.contains { engine.operations[$0].queue == index }
            let isTarget = engine.queues.indices.contains { $0 != index && engine.scheduler[$0].chain.contains(index) }
            // What was started under the old definition counts there until its end.
            let isCounted = refs.contains { engine.operations[$0].runs.contains { $0.queues.contains(index) } }
            let isHeldFor = isHeldFor(engine) { $0.queue == index }
            if !isUsed, !isTarget, !isCounted, !isHeldFor, !queue.isSuspended || queue.isFinalized {
                return "queue \(queue.definition.name) is kept for nothing"
            }
        }
        return refs.count == engine.operations.count ? nil : "operations are missing"
    }
}
