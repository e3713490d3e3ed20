import Schedule
import WatchFile

/// Operations that stand for a client: they take their places in lines as all others do, and are the engine's own.
/// Each has a handler that is there as long as the operation is. Of them only those are stored that hold units for a
/// process. (What a client plans for a time stands on their queue, too, but is an operation of the handler of commands,
/// and is stored.)
extension Engine {
    /// The queue of those that belong to none. It is as wide as it has to be.
    package static let clientQueue = "@clients"

    /// - Parameters:
    ///   - definition: of a name that no watch file can have.
    ///   - fact: the command of the client, as it is shown.
    mutating func admitClient(_ definition: HandlerDefinition, _ fact: CommandFact, on queue: Int) -> UInt64? {
        let handler = needHandler(definition)
        let source = internalSource(.run(handler: definition.name))
        let target = SourceState.Target(handler: handler, queue: queue)
        // Above the bounds of its queue, as what watchd makes itself.
        let admission = admitAlone(makeEvent(.command(fact)), source: source, target, Dependencies(), depth: 1)
        guard case .operation(let id) = admission else {
            releaseSourceIfUnused(source)
            releaseHandlerIfUnused(handler)
            return nil
        }
        if let ref = operations.ref(id: id) { close(ref) }
        return id
    }

    mutating func needHandler(_ definition: HandlerDefinition) -> Int {
        if let known = handlers.index(of: definition.name) { return known }
        var state = HandlerState(definition: SharedDefinition(definition))
        state.isRemoved = true
        let handler = handlers.insert(state)
        scheduler.define(handler: handler, scheduler.needs(of: definition, crew: nil))
        return handler
    }

    /// There from the first client on.
    mutating func needClientQueue() -> Int {
        if let queue = queues.index(of: Self.clientQueue) { return queue }
        let definition = QueueDefinition(name: Self.clientQueue, kind: .concurrent(width: 1_000_000))
        let queue = queues.insert(QueueState(definition: definition))
        scheduler.add(queue: queue, definition, isSuspended: false)
        formLines()
        return queue
    }

    /// Its turn has come.
    mutating func serve(_ ref: OperationRef, part: Int, _ action: ClientAction) {
        switch action {
        case .suspend: drainReached(ref, part: part)
        case .hold: hold(ref, part: part)
        case .call: makeCall(ref, part: part)
        }
    }

    func isOfClient(_ handler: Int) -> Bool {
        if case .client = handlers[handler].definition.value.action { true } else { false }
    }
}
