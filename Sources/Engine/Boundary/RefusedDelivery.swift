import Schedule

/// A delivery that ended without an operation of its own.
package struct RefusedDelivery: Sendable {
    package var event: Event
    package var origin: Origin
    package var handler: String
    package var queue: String
    package var result: Result
    package var reason: String
    /// It was the last that an operation carried, whose end is told next.
    package var endsOperation = false
}

extension Engine {
    /// As a record of the history, with an id that no operation gets.
    package mutating func record(_ delivery: RefusedDelivery) -> OperationView {
        var view = OperationView(
            id: takeOperationID(), handler: delivery.handler, queue: delivery.queue, origin: delivery.origin,
            state: delivery.result == .cancelled ? .cancelled : .finished, events: [delivery.event], entries: 1,
            deliveries: delivery.event.count, depth: 0, submitted: delivery.event.time, attempt: 1)
        (view.result, view.reason, view.ended) = (delivery.result, delivery.reason, now.realtime)
        return view
    }
}
