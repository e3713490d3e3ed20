import Schedule
import WatchFile

/// Operations that stand for a client: they take their places in lines as all others do, and are the engine's own.
/// Each has a handler that is there as long as the operation is. Nothing of them is stored. (What a client plans for a
/// time stands on their queue, too, but is an operation of the handler of commands, and is stored.)
extension Engine {
    /// The queue of those that belong to none. It is as wide as it has to be.
    package static let clientQueue = "@clients"

    /// - Parameters:
    ///   - definition: of a name that no watch file can have.
    ///   - words: shown as the command of the client.
    mutating func admitClient(
        _ definition: HandlerDefinition, _ words: [String], by user: String, on queue: Int
    ) -> UInt64? {
        let handler: Int
        if let known = handlers.index(of: definition.name) {
            handler = known
        } else {
            var state = HandlerState(definition: SharedDefinition(definition))
            state.isRemoved = true
            handler = handlers.insert(state)
            scheduler.define(handler: handler, scheduler.needs(of: definition, crew: nil))
        }
        let fact = CommandFact(words.map { Array($0.utf8) }, user: .named(user))
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
