import WatchFile

/// `Key=`: what an operation is about.
extension Engine {
    /// The keys of a delivery: none with `Key=none`, two for a rename whose key depends on the path.
    func keyNames(_ event: Event, source: Int, _ target: SourceState.Target) -> [KeyTable.Name] {
        // The handler runs once, whatever its events are about: one run after the other, until one has succeeded.
        if handlers[target.handler].traits.contains(.once) {
            return [KeyTable.Name(handler: target.handler, bytes: [])]
        }
        if case .command(let fact) = event.fact {
            return fact.key.map { [KeyTable.Name(handler: target.handler, bytes: $0)] } ?? []
        }
        switch sources[source].key {
        case .none:
            return []
        case .handler:
            return [KeyTable.Name(handler: target.handler, bytes: [])]
        case .template(let template):
            let new = KeyTable.Name(handler: target.handler, bytes: expand(template, event, source: source, target))
            guard case .path(let fact) = event.fact, let oldPath = fact.oldPath else { return [new] }
            var old = event
            old.fact = .path(PathFact(.deleted, path: oldPath, root: fact.root))
            let other = KeyTable.Name(handler: target.handler, bytes: expand(template, old, source: source, target))
            return other == new ? [new] : [new, other]
        }
    }

    private func expand(
        _ template: Template, _ event: Event, source: Int, _ target: SourceState.Target
    ) -> [UInt8] {
        if template.isPath, case .path(let fact) = event.fact { return fact.path }
        let context = RunContext(
            handler: handlers[target.handler].name, queue: queues[target.queue].definition.name, operation: 0,
            attempt: 1, origin: sources[source].origin, events: [event], host: hostName)
        return template.expanded(context.value)
    }
}
