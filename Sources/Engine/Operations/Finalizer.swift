import WatchFile

/// `Finalizer=`: the last operation of a queue that goes, or of watchd itself.
extension Engine {
    /// Starts the finalizer of a queue that is empty. False: it has none, or it has run.
    mutating func finalize(_ queue: Int) -> Bool {
        guard !queues[queue].isFinalized, let name = queues[queue].definition.finalizer,
            let handler = handlers.index(of: name)
        else { return false }
        queues[queue].isFinalized = true
        let origin = Origin.finalizer(queue: queues[queue].definition.name)
        let source = internalSource(origin)
        let event = makeEvent(.finalizer)
        actions.append(.report(.event(event, origin, handlers: [name])))
        var draft = Operation()
        (draft.handler, draft.queue, draft.source) = (handler, queue, source)
        (draft.isClosed, draft.descent.isByHand) = (true, true)
        _ = draft.entries.add(event, merge: nil)
        enter(1, at: .pending, source: source, .init(handler: handler, queue: queue))
        let ref = insert(draft, [])
        operations[ref].times.wakeUp = 0
        begin(ref)
        return true
    }

    /// At a stop, when nothing else is left: the finalizers of all queues, if there is time. False: there were none.
    mutating func finalizeAll() -> Bool {
        guard life.drain?.step == .waiting else { return false }
        return queues.indices.reduce(false) { finalize($1) || $0 }
    }
}
