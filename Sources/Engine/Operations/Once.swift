import WatchFile

/// `Once=`: a handler that has succeeded runs no more, in this boot or for ever.
extension Engine {
    /// `Once=` of a handler is fulfilled, as far as is known.
    package func isOnceDone(_ name: String) -> Bool {
        handlers.index(of: name).map { handlers[$0].isOnceDone } ?? false
    }

    /// Whether it is fulfilled by an operation that ends so.
    mutating func fulfilsOnce(_ handler: Int, _ result: Result) -> Bool {
        guard result == .done, handlers[handler].definition.value.constraints.once != nil,
            !handlers[handler].isOnceDone
        else { return false }
        noteOnce(handler, true)
        return true
    }

    mutating func noteOnce(_ handler: Int, _ isDone: Bool) {
        guard handlers[handler].isOnceDone != isDone else { return }
        handlers[handler].isOnceDone = isDone
        let once = isDone ? handlers[handler].definition.value.constraints.once : nil
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
