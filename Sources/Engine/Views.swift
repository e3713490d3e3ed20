import Schedule
package import WatchFile

/// One operation as readers see it, waiting, running or ended.
package struct OperationView: Sendable {
    package var id: UInt64
    package var handler: String
    package var queue: String
    package var origin: Origin
    package var key: [UInt8]?
    package var state: OperationState
    /// Set when it has ended.
    package var result: Result?
    package var reason: String?
    /// What it waits for, as a sentence.
    package var waitingFor: String?
    /// Empty where its changes came to nothing.
    package var events: [Event]
    /// How many events it carries; who remembers it may keep fewer.
    package var entries: Int
    package var deliveries: Int
    package var depth: Int
    /// Times are microseconds of the wall clock.
    package var submitted: Int64
    package var started: Int64?
    package var ended: Int64?
    package var attempt: Int
    package var pid: Int32?
    package var exit: Exit?
    package var output: [UInt8] = []
}

package struct SourceView: Sendable {
    package var id: SourceID
    package var definition: SourceDefinition
    package var condition: SourceCondition
    package var isHeld: Bool
    package var isRemoved: Bool
    package var suspensions: [Suspension]
    package var counters: Counters
    package var lastEvent: Int64?
    /// Wall clock, microseconds, as far as it is known now.
    package var nextElapse: Int64?
}

package struct QueueView: Sendable {
    package var definition: QueueDefinition
    package var isRemoved: Bool
    package var suspensions: [Suspension]
    package var counters: Counters
    /// Entries and operations that wait.
    package var entries: Int
    package var waiting: Int
    package var running: Int
    /// When the oldest waiting operation was submitted.
    package var oldest: Int64?
}

package struct HandlerView: Sendable {
    package var definition: HandlerDefinition
    package var isRemoved: Bool
    package var counters: Counters
    package var runningPIDs: [Int32]
    package var lastResult: Result?
    package var lastEnded: Int64?
}

extension Engine {
    /// The accounting over everything since the start.
    package var totals: Counters {
        handlers.indices.reduce(retired) { $0 + handlers[$1].counters }
            + sources.indices.reduce(into: Counters()) {
                $0.filtered += sources[$1].counters.filtered
                $0.gap += sources[$1].counters.gap
            }
    }

    package var entriesPending: Int { entries }
    package var processesRunning: Int { processes }

    /// Every operation that has not ended, oldest first.
    package var operationViews: [OperationView] { operations.refs.map { view($0) } }

    /// Operations that have not ended and wait.
    package var operationsWaiting: Int { queues.indices.reduce(0) { $0 + queues[$1].waiting } }

    /// The oldest operations that run (or wait), at most `limit`.
    package func oldestViews(_ limit: Int, running isRunning: Bool) -> [OperationView] {
        operations.oldest(limit) { ($0.run != nil) == isRunning }.map { view($0) }
    }

    /// At most `limit` operations that have not ended, with an id above `after`, oldest first.
    package func operationViews(
        queue: String?, handler: String?, after: UInt64, limit: Int
    ) -> [OperationView] {
        operations.oldest(limit) { operation in
            operation.id > after && (queue.map { $0 == queues[operation.queue].definition.name } ?? true)
                && (handler.map { $0 == handlers[operation.handler].name } ?? true)
        }.map { view($0) }
    }

    /// Operations that have not ended and were started by the end of that one.
    package func operationViews(startedBy id: UInt64) -> [OperationView] {
        operations.oldest(100) { operation in
            operation.depth > 0
                && operation.entries.events.contains { event in
                    if case .completion(let fact) = event.fact { fact.operation == id } else { false }
                }
        }.map { view($0) }
    }

    package func operation(_ id: UInt64) -> OperationView? {
        operations.ref(id: id).map { view($0) }
    }

    package var sourceViews: [SourceView] {
        sources.indices.compactMap { index in
            let state = sources[index]
            guard case .source(let id) = state.origin, let definition = state.definition else { return nil }
            return SourceView(
                id: id, definition: definition, condition: state.condition,
                isHeld: state.isHeldInRim || !state.held.isEmpty, isRemoved: state.isRemoved,
                suspensions: state.suspensions, counters: state.counters, lastEvent: state.lastEvent,
                nextElapse: nextElapse(state))
        }
    }

    package var queueViews: [QueueView] {
        queues.indices.map { index in
            let state = queues[index]
            let oldest = state.arrivals.elements.first { operations.isWaiting($0) }
            return QueueView(
                definition: state.definition, isRemoved: state.isRemoved, suspensions: state.suspensions,
                counters: state.counters, entries: state.entries, waiting: state.waiting, running: state.running,
                oldest: oldest.map { operations[$0].submitted })
        }
    }

    package var handlerViews: [HandlerView] {
        var pids: [Int: [Int32]] = [:]
        for ref in operations.refs {
            if case .running(let pid) = operations[ref].run?.phase {
                pids[operations[ref].handler, default: []].append(pid)
            }
        }
        return handlers.indices.map { index in
            let state = handlers[index]
            return HandlerView(
                definition: state.definition.value, isRemoved: state.isRemoved, counters: state.counters,
                runningPIDs: pids[index] ?? [], lastResult: state.lastResult, lastEnded: state.lastEnded)
        }
    }

    private func nextElapse(_ state: SourceState) -> Int64? {
        let boot = state.timer.next.map { now.realtime + ($0 - now.boottime) }
        let monotonic = state.timer.after.map { now.realtime + ($0 - now.monotonic) }
        return [boot, monotonic].compactMap { $0 }.min()
    }

    /// `isEnding`: it waits for nothing any more.
    func view(_ ref: OperationRef, isEnding: Bool = false) -> OperationView {
        let operation = operations[ref]
        var view = OperationView(
            id: operation.id, handler: handlers[operation.handler].name,
            queue: queues[operation.queue].definition.name, origin: sources[operation.source].origin,
            key: operation.keys.first.map { keys[$0].name.bytes }, state: .pending, events: operation.entries.events,
            entries: operation.entries.count, deliveries: operation.entries.deliveries, depth: operation.depth,
            submitted: operation.submitted, attempt: 1
        )
        switch operation.state {
        case .pending, .ready:
            if case .ready = operation.state { view.state = .ready }
            if !isEnding { view.waitingFor = waitingFor(ref) }
        case .executing(let run):
            view.state = .executing
            view.started = run.started
            if case .running(let pid) = run.phase { view.pid = pid }
        case .gone:
            view.state = .finished
        }
        return view
    }

    /// What an operation waits for, the first reason that holds.
    private func waitingFor(_ ref: OperationRef) -> String? {
        let operation = operations[ref]
        for key in operation.keys {
            if let first = keys[key].line.first, first != ref, operations.isAlive(first) {
                return "\(operations[first].id) (same key)"
            }
        }
        let queue = queues[operation.queue]
        if let suspension = queue.suspensions.last {
            return "queue \(queue.definition.name) suspended by \(suspension.by)"
        }
        if queue.running >= queue.width {
            return queue.isSerial
                ? "queue \(queue.definition.name): one at a time"
                : "queue \(queue.definition.name): Width=\(queue.width) in use"
        }
        if queue.standing != nil, processes >= settings.maxProcesses {
            return "MaxProcesses=\(settings.maxProcesses) in use"
        }
        if isWaitingForReload(operation.queue) { return "a reload" }
        return "its turn on queue \(queue.definition.name)"
    }
}
