import Schedule
import WatchFile

@testable import Engine

/// What must hold after every input, whatever came before; computed from the operations themselves, not from what the
/// engine keeps about them.
struct EngineInvariants {
    private struct Waiting {
        var ref: OperationRef
        var queue: Int
        var isReady: Bool
        var isExec: Bool
        /// It waits for nothing but a process slot.
        var isStandingBy: Bool
    }

    /// Width, runs, definition of each queue in use, before the last input.
    private var queuesBefore: [Int: (bound: Int, definition: QueueDefinition)] = [:]
    private var processBoundBefore = 0
    private var waitingBefore: [OperationRef: Waiting] = [:]
    private var startedBefore: Set<OperationRef> = []

    /// A sentence about the first thing that is wrong.
    mutating func check(_ engine: Engine, armed: [Clock: Int64]) -> String? {
        let refs = engine.operations.refs
        let waiting = waiting(engine, refs)
        let started = Set(refs.filter { engine.operations[$0].run != nil })
        defer {
            queuesBefore = Dictionary(
                uniqueKeysWithValues: engine.queues.indices.map { index in
                    let queue = engine.queues[index]
                    return (index, (max(queue.running, queue.width), queue.definition))
                })
            processBoundBefore = max(engine.processes, engine.settings.maxProcesses)
            waitingBefore = waiting
            startedBefore = started
        }
        return accounting(engine, refs) ?? bounds(engine, refs) ?? keys(engine, refs) ?? order(engine, waiting, started)
            ?? wakeUps(engine, waiting) ?? heldBack(engine) ?? deadlines(engine, refs, armed) ?? tidiness(engine, refs)
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
            let place: WritableKeyPath<Sums, Int> = operation.run != nil ? \.running : \.pending
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
            if let wrong = Self.compare(state.counters, sources[index] ?? Sums()) { return "\(state.origin): \(wrong)" }
        }
        for index in engine.queues.indices {
            let state = engine.queues[index]
            if let wrong = Self.compare(state.counters, queues[index] ?? Sums()) {
                return "queue \(state.definition.name): \(wrong)"
            }
        }
        for index in engine.handlers.indices {
            let state = engine.handlers[index]
            if let wrong = Self.compare(state.counters, handlers[index] ?? Sums()) {
                return "handler \(state.name): \(wrong)"
            }
        }
        if !Self.isBalanced(engine.totals) { return "the totals do not add up: \(engine.totals)" }
        return nil
    }

    private static func isBalanced(_ counters: Counters) -> Bool {
        counters.accepted == Place.allCases.reduce(0) { $0 + counters[$1] }
            && Place.allCases.allSatisfy { counters[$0] >= 0 } && counters.coalesced <= counters.accepted
    }

    private static func compare(_ counters: Counters, _ sums: Sums) -> String? {
        guard isBalanced(counters) else { return "its counts do not add up: \(counters)" }
        let counted = Sums(held: counters[.held], pending: counters[.pending], running: counters[.running])
        return counted == sums ? nil : "counted \(counted), there are \(sums)"
    }

    // MARK: Bounds

    private func bounds(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        var (entries, waiting, running) = ([Int: Int](), [Int: Int](), [Int: Int]())
        var (ofHandler, ofSource) = ([Int: Int](), [Int: Int]())
        for ref in refs {
            let operation = engine.operations[ref]
            ofHandler[operation.handler, default: 0] += 1
            ofSource[operation.source, default: 0] += 1
            if operation.run != nil {
                running[operation.queue, default: 0] += 1
            } else {
                waiting[operation.queue, default: 0] += 1
                entries[operation.queue, default: 0] += operation.entries.events.count
                if operation.entries.isEmpty { return "operation \(operation.id) waits without events" }
            }
        }
        for index in engine.queues.indices {
            let queue = engine.queues[index]
            let name = queue.definition.name
            if queue.entries != entries[index] ?? 0 { return "queue \(name) counts \(queue.entries) entries" }
            if queue.waiting != waiting[index] ?? 0 { return "queue \(name) counts \(queue.waiting) waiting" }
            if queue.running != running[index] ?? 0 { return "queue \(name) counts \(queue.running) running" }
            // A reload may have made it narrower; what runs goes on.
            if queue.running > max(queue.width, queuesBefore[index]?.bound ?? 0) {
                return "queue \(name) runs \(queue.running) at once, its width is \(queue.width)"
            }
        }
        if engine.entries != entries.values.reduce(0, +) { return "\(engine.entries) entries counted in all" }
        for index in engine.handlers.indices where engine.handlers[index].operations != ofHandler[index] ?? 0 {
            return "handler \(engine.handlers[index].name) counts \(engine.handlers[index].operations) operations"
        }
        for index in engine.sources.indices where engine.sources[index].operations != ofSource[index] ?? 0 {
            return "\(engine.sources[index].origin) counts \(engine.sources[index].operations) operations"
        }
        let commands = refs.count { ref in
            guard let run = engine.operations[ref].run, case .exec = run.definition.value.action else { return false }
            return true
        }
        if commands != engine.processes { return "\(engine.processes) processes counted, \(commands) are there" }
        if commands > max(engine.settings.maxProcesses, processBoundBefore) { return "\(commands) processes at once" }
        return nil
    }

    /// Whether a new configuration came into force with the last input.
    private func isReloaded(_ engine: Engine) -> Bool {
        engine.queues.indices.contains { queuesBefore[$0]?.definition != engine.queues[$0].definition }
    }

    // MARK: Keys, order, wake-ups

    private func names(_ engine: Engine, _ ref: OperationRef) -> Set<KeyTable.Name> {
        Set(engine.operations[ref].keys.map { engine.keys[$0].name })
    }

    private func keys(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        var (running, all) = (Set<KeyTable.Name>(), Set<KeyTable.Name>())
        for ref in refs {
            let names = names(engine, ref)
            all.formUnion(names)
            guard engine.operations[ref].run != nil else { continue }
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

    /// Every waiting operation, with what it really waits for.
    private func waiting(_ engine: Engine, _ refs: [OperationRef]) -> [OperationRef: Waiting] {
        var taken: Set<KeyTable.Name> = []
        for ref in refs where engine.operations[ref].run != nil { taken.formUnion(names(engine, ref)) }
        var isAhead: Set<Int> = []
        var result: [OperationRef: Waiting] = [:]
        for ref in refs where engine.operations[ref].run == nil {
            let operation = engine.operations[ref]
            let names = names(engine, ref)
            let queue = engine.queues[operation.queue]
            var isExec = false
            if case .exec = engine.handlers[operation.handler].definition.value.action { isExec = true }
            let isReady = taken.isDisjoint(with: names)
            let mayStart =
                (engine.phase == .running || engine.phase == .reloading) && !queue.isSuspended
                && queue.running < queue.width && !engine.isWaitingForReload(operation.queue)
            let isFirst = !isAhead.contains(operation.queue)
            result[ref] = Waiting(
                ref: ref, queue: operation.queue, isReady: isReady, isExec: isExec,
                isStandingBy: isReady && mayStart && isFirst)
            if isReady || queue.isSerial { isAhead.insert(operation.queue) }
            taken.formUnion(names)
        }
        return result
    }

    private func order(
        _ engine: Engine, _ waiting: [OperationRef: Waiting], _ started: Set<OperationRef>
    ) -> String? {
        if isReloaded(engine) { return nil }
        for ref in started.subtracting(startedBefore) {
            let id = engine.operations[ref].id
            let queue = engine.operations[ref].queue
            for other in waiting.values where other.ref < ref {
                let passed = engine.operations[other.ref].id
                guard let before = waitingBefore[other.ref] else { continue }
                if other.queue == queue, engine.queues[queue].isSerial {
                    return "\(id) overtook \(passed) on a serial queue"
                }
                if other.queue == queue, before.isReady, other.isReady {
                    return "\(id) overtook \(passed), which was ready"
                }
                if before.isStandingBy, other.isStandingBy, before.isExec, other.isExec, other.queue != queue,
                    case .exec = engine.operations[ref].run?.definition.value.action
                {
                    return "\(id) took the process slot that \(passed) waits for"
                }
            }
        }
        return nil
    }

    private func wakeUps(_ engine: Engine, _ waiting: [OperationRef: Waiting]) -> String? {
        for other in waiting.values {
            let operation = engine.operations[other.ref]
            if case .ready = operation.state {
                if !other.isReady { return "\(operation.id) is called ready and waits for its key" }
            } else if other.isReady {
                return "\(operation.id) has its key and is called pending"
            }
            if other.isStandingBy, !other.isExec || engine.processes < engine.settings.maxProcesses {
                return "\(operation.id) waits for nothing"
            }
        }
        return nil
    }

    // MARK: Held back

    private func heldBack(_ engine: Engine) -> String? {
        guard engine.phase == .running || engine.phase == .reloading else { return nil }
        for index in engine.queues.indices
        where engine.queues[index].hasRoom && !engine.queues[index].heldSources.isEmpty {
            return "queue \(engine.queues[index].definition.name) has room and holds sources back"
        }
        if engine.entries * 8 < engine.settings.maxOperations * 7, !engine.heldByTotal.isEmpty {
            return "there is room in all and sources are held back"
        }
        for index in engine.sources.indices {
            let source = engine.sources[index]
            if source.isHeldInRim, !source.isSuspended, source.held.isEmpty {
                return "\(source.origin) is held for nothing"
            }
            guard !source.isSuspended, !source.held.isEmpty else { continue }
            let isInLine =
                engine.heldByTotal.contains(index)
                || engine.queues.indices.contains { engine.queues[$0].heldSources.contains(index) }
            if !isInLine { return "\(source.origin) holds events and stands in no line" }
        }
        if let call = engine.waitingEmits.first, engine.entries == 0, engine.heldByTotal.isEmpty {
            let isFree = call.emissions.allSatisfy { source, _ in
                !engine.sources[source].isSuspended && engine.sources[source].held.isEmpty
                    && engine.sources[source].targets.allSatisfy { engine.queues[$0.queue].heldSources.isEmpty }
            }
            if isFree { return "a caller of Emit waits for nothing" }
        }
        return nil
    }

    // MARK: Deadlines and tidiness

    private func deadlines(_ engine: Engine, _ refs: [OperationRef], _ armed: [Clock: Int64]) -> String? {
        var (boot, monotonic) = ([Int64](), [Int64]())
        for index in engine.sources.indices {
            boot += engine.sources[index].timer.next.map { [$0] } ?? []
            monotonic += engine.sources[index].timer.after.map { [$0] } ?? []
            boot += engine.sources[index].suspensions.compactMap(\.resumesAt)
        }
        for index in engine.queues.indices { boot += engine.queues[index].suspensions.compactMap(\.resumesAt) }
        monotonic += refs.compactMap { engine.operations[$0].run?.deadline }
        if let reload = engine.pendingReload { monotonic.append(reload.deadline) }
        if let drain = engine.drain, !drain.isOver, let deadline = drain.deadline { monotonic.append(deadline) }
        for (clock, times) in [(Clock.boottime, boot), (.monotonic, monotonic)] {
            guard let next = times.min() else { continue }
            guard let time = armed[clock], time <= next else { return "the \(clock) clock is not armed for \(next)" }
        }
        return nil
    }

    private func tidiness(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        for index in engine.sources.indices {
            let source = engine.sources[index]
            if source.isRemoved, source.operations == 0, source.held.isEmpty {
                return "\(source.origin) is kept for nothing"
            }
        }
        for index in engine.handlers.indices
        where engine.handlers[index].isRemoved && engine.handlers[index].operations == 0 {
            return "handler \(engine.handlers[index].name) is kept for nothing"
        }
        for index in engine.queues.indices {
            let queue = engine.queues[index]
            if queue.isRemoved, queue.waiting + queue.running == 0 {
                return "queue \(queue.definition.name) is kept for nothing"
            }
            if queue.arrivals.count > 2 * queue.waiting + 64 {
                return "queue \(queue.definition.name) keeps what has gone"
            }
        }
        return refs.count == engine.operations.count ? nil : "operations are missing"
    }
}
