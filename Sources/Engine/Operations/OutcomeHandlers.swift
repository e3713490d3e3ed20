import Schedule
import WatchFile

/// `OnSuccess=`, `OnFailure=`, `OnRetry=`, `OnChange=`, `OnFinished=`: who is told how an operation ended; `OnLate=`,
/// `OnSlow=` (`Clocks/Overdue`): that it has not.
extension Engine {
    mutating func complete(_ operation: Operation, _ view: OperationView) {
        guard let result = view.result else { return }
        let definition = definition(toEnd: operation)
        guard !definition.value.completions.isEmpty else {
            if result == .done || result.isFailure { handlers[operation.handler].lastVerdict = result }
            return
        }
        defer { releaseAwaited(definition.value.completions.all) }
        if result == .done { startCompletions(definition.value.completions.success, .success, operation, view) }
        if result.isFailure { startCompletions(definition.value.completions.failure, .failure, operation, view) }
        if result == .done || result.isFailure {
            // Before the first end it had succeeded as far as anybody knows.
            let hadFailed = handlers[operation.handler].lastVerdict?.isFailure ?? false
            handlers[operation.handler].lastVerdict = result
            if result.isFailure != hadFailed {
                startCompletions(definition.value.completions.change, .change, operation, view)
            }
        }
        // Where it was its turn and a condition did not hold; who is skipped otherwise never came to that.
        let isUnmet = result == .skipped && !operation.runs.isEmpty
        if result == .done || result.isFailure || result == .cancelled || isUnmet {
            startCompletions(definition.value.completions.finished, .finished, operation, view)
        }
    }

    mutating func startCompletions(
        _ names: [String], _ outcome: CompletionFact.Outcome, _ operation: Operation, _ view: OperationView
    ) {
        guard !names.isEmpty, let cause = operation.entries.newest else { return }
        let targets = names.compactMap { completionTarget($0) }
        guard !targets.isEmpty else { return }
        // At a stop they wait for the next start, whatever their queue.
        life.drain?.keepsAll = true
        defer { life.drain?.keepsAll = false }
        let source = internalSource(.completion(handler: view.handler))
        let fact = CompletionFact(
            outcome: outcome, operation: operation.id, result: view.result, reason: view.told, exit: view.exit,
            output: view.output, cause: cause, causeOrigin: view.origin)
        var event = makeEvent(.completion(fact))
        event.trace = trace(of: operation, part: operation.runs.last?.part ?? 0)
        sources[source].lastEvent = event.time
        let names = targets.map { handlers[$0.handler].name }
        actions.append(.report(.event(event, .completion(handler: view.handler), handlers: names)))
        admitAll(event, source: source, withRequired(targets), depth: Int(operation.descent.depth) + 1)
        releaseSourceIfUnused(source)
    }

    /// A reload may have removed the handler, or its queue, since the operation has begun (`isAwaited`).
    private func completionTarget(_ name: String) -> SourceState.Target? {
        guard let handler = handlers.index(of: name),
            let queue = queues.index(of: handlers[handler].definition.value.queue ?? "default")
                ?? queues.index(of: "default")
        else { return nil }
        return SourceState.Target(handler: handler, queue: queue)
    }

    /// Whether the end of an operation may start it, or that of one that this starts. Such a handler stays until then,
    /// though it was removed.
    func isAwaited(handler name: String) -> Bool {
        var names: Set = [name]
        var hasGrown = true
        while hasGrown {
            let tellers = handlers.indices.filter { index in
                handlers[index].isRemoved && !names.contains(handlers[index].name)
                    && !names.isDisjoint(with: handlers[index].definition.value.completions.all)
            }
            names.formUnion(tellers.map { handlers[$0].name })
            hasGrown = !tellers.isEmpty
        }
        return operations.contains { operation in
            let completions = definition(toEnd: operation).value.completions
            return !completions.isEmpty && !names.isDisjoint(with: completions.all)
        }
    }

    /// By which what comes of its end is decided: the one that its run began with.
    func definition(toEnd operation: Operation) -> SharedDefinition {
        operation.runs.last?.definition ?? handlers[operation.handler].definition
    }

    /// The operation has ended that could start them: those are removed that waited for that alone.
    mutating func releaseAwaited(_ names: [String]) {
        for name in names {
            if let handler = handlers.index(of: name), handlers[handler].isRemoved { releaseHandlerIfUnused(handler) }
        }
    }

    /// A handler on the queue it names itself; `nil`: it was removed.
    func target(handler name: String) -> SourceState.Target? {
        guard let handler = handlers.index(of: name), !handlers[handler].isRemoved,
            let queue = queues.index(of: handlers[handler].definition.value.queue ?? "default")
        else { return nil }
        return SourceState.Target(handler: handler, queue: queue)
    }
}

extension OperationView {
    /// Why it did not succeed, as handlers are told it: where nobody has said why, how it exited.
    var told: String? {
        result == .done ? nil : reason ?? exit?.sentence ?? result?.rawValue
    }
}
