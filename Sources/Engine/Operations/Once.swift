import WatchFile

/// `Once=`: a handler that has succeeded runs no more, in this boot or for ever.
extension Engine {
    /// `Once=` of a handler is fulfilled, as far as is known.
    package func isOnceDone(_ name: String) -> Bool {
        handlers.index(of: name).map { handlers[$0].isOnceDone } ?? false
    }

    /// Whether anything but a person can start a handler.
    package func isStartedByEvents(_ name: String) -> Bool {
        guard let handler = handlers.index(of: name) else { return false }
        let isTarget = sources.indices.contains { source in
            !sources[source].isRemoved && sources[source].targets.contains { $0.handler == handler }
                || sources[source].definition?.value.silence
                    .map { ($0.onSilence + $0.onSound).contains(name) } ?? false
        }
        let isNamed = handlers.indices.contains { other in
            let definition = handlers[other].definition.value
            return !handlers[other].isRemoved
                && (definition.completions.all + definition.constraints.requires).contains(name)
        }
        return isTarget || isNamed || (settings.onProblem + settings.onSolved).contains(name)
            || queues.indices.contains { queues[$0].definition.finalizer == name }
    }

    /// Whether it is fulfilled by an operation that ends so.
    mutating func fulfilsOnce(_ handler: Int, _ result: Result) -> Bool {
        guard result == .done, handlers[handler].definition.value.constraints.once != nil,
            !handlers[handler].isOnceDone
        else { return false }
        noteOnce(handler)
        return true
    }

    /// A reload has changed the key. That the handler has run stays known also while it has none.
    mutating func onceChanged(_ handler: Int, from old: Once?, to new: Once?) {
        guard old != new else { return }
        let name = handlers[handler].name
        if new == nil {
            if handlers[handler].isOnceDone { journal.orphans.once.insert(name) }
            handlers[handler].isOnceDone = false
        } else if old != nil, handlers[handler].isOnceDone {
            actions.append(.store(.once(handler: name, new)))
        } else if journal.orphans.once.remove(name) != nil {
            handlers[handler].isOnceDone = true
            actions.append(.store(.once(handler: name, new)))
        }
    }

    private mutating func noteOnce(_ handler: Int) {
        handlers[handler].isOnceDone = true
        let once = handlers[handler].definition.value.constraints.once
        actions.append(.store(.once(handler: handlers[handler].name, once)))
    }

    /// It has run: what still waits is skipped, and counts as done for those that depend on it.
    mutating func endOnce(_ handler: Int) {
        for ref in operations.refs
        where operations.isWaiting(ref) && operations[ref].handler == handler && !operations[ref].descent.isByHand {
            let spelling = handlers[handler].definition.value.constraints.once?.rawValue ?? ""
            finish(ref, Verdict(result: .skipped, reason: "Once=\(spelling): it has run"), seenAs: .done)
        }
    }
}
