/// A source that hands its descriptor to the handler (`Accept=yes`, `Framing=ready`).
extension Checker {
    mutating func checkHandovers() {
        var handed: Set<Int> = []
        for source in sources {
            guard case .descriptor(let trigger)? = source.trigger, trigger.handsOver else { continue }
            let reason = trigger.accepts ? "Accept=yes" : "Framing=ready"
            checkHandover(source, trigger, reason)
            for handler in source.routes.compactMap({ handlerIndices[$0.handler] }) {
                checkRetry(handler, source, trigger)
                handed.insert(handler)
            }
        }
        for index in handed where handlers[index].entries.entry("StandardInput") == nil {
            handlers[index].isHandedOver = true
        }
        checkSocketInput(handed)
    }

    private mutating func checkHandover(_ source: SourceDraft, _ trigger: DescriptorTrigger, _ reason: String) {
        if source.coalesces, let entry = source.entries.entry("Coalesce") {
            problems.error("\(reason) hands over one descriptor for each event: Coalesce=yes cannot be", at: entry.text)
        }
        if trigger.accepts, source.routes.count > 1 {
            problems.error(
                "\(source.title) starts \(source.routes.count) handlers, but a connection is for one",
                at: source.entries.entry("Handler")?.text ?? source.header)
        }
        for route in source.routes {
            guard let queue = queues.first(where: { $0.name == route.queue }), queue.isDurable else { continue }
            problems.error(
                "\(reason) of \(source.title): a descriptor is gone with watchd, and [Queue \(queue.name)] is durable",
                at: source.entries.entry("Queue")?.text ?? source.header)
        }
    }

    private mutating func checkRetry(_ handler: Int, _ source: SourceDraft, _ trigger: DescriptorTrigger) {
        let draft = handlers[handler]
        guard trigger.accepts, let entry = draft.entries.entry("Retry"), entry.value?.limit != .some(.some(0)),
            entry.value != nil
        else { return }
        problems.error(
            "\(draft.title) is handed connections of \(source.title), and one that failed cannot be tried again",
            at: entry.text)
    }

    /// `StandardInput=socket` is for handlers that only get events with a descriptor.
    private mutating func checkSocketInput(_ handed: Set<Int>) {
        for (index, handler) in handlers.enumerated() {
            let isWritten = handler.entries["StandardInput"]?.word == "socket"
            guard isWritten || handler.isHandedOver else { continue }
            let place = handler.entries.entry("StandardInput")?.text ?? handler.header
            guard handed.contains(index) else {
                problems.error(
                    "StandardInput=socket of \(handler.title): no source with Accept=yes or Framing=ready starts it",
                    at: place)
                continue
            }
            let other = sources.first { source in
                guard source.routes.contains(where: { $0.handler == handler.name }) else { return false }
                if case .descriptor(let trigger)? = source.trigger { return !trigger.handsOver }
                return source.trigger != nil
            }
            guard let other else { continue }
            problems.error(
                "\(handler.title) reads a descriptor that is handed over, and \(other.title) has none for it", at: place
            )
        }
    }
}
