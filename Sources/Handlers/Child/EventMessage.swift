package import Engine
import JSON

/// The message for a handler on its standard input: one JSON object on one line (watchd.handler(7)).
package enum EventMessage {
    /// The whole message, ended by a newline.
    ///
    /// - Parameter isTraced: the span is told, which who reads lines has no environment for.
    package static func line(_ context: RunContext, isTraced: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        // The events are the last.
        var message = writer.beginObject(keepsOrder: true)
        if !context.acquired.isEmpty {
            writer.beginMember("acquired", of: &message)
            write(context.acquired, to: &writer)
        }
        writer.put("attempt", context.attempt, in: &message)
        writer.put("handler", context.handler, in: &message)
        writer.put("id", context.operation, in: &message)
        writer.put("queue", context.queue, in: &message)
        writer.put("redelivered", context.isRedelivered, in: &message)
        if isTraced, let trace = context.trace { writer.put("traceparent", trace.header, in: &message) }
        writer.beginMember("events", of: &message)
        writer.write(array: context.events) { write($1, origin: $1.origin ?? context.origin, to: &$0) }
        writer.end(message)
        writer.write(text: [UInt8(ascii: "\n")])
        return writer.bytes
    }

    /// One event as a JSON object.
    package static func object(_ event: Event, origin: Origin) -> [UInt8] {
        var writer = JSONWriter()
        write(event, origin: event.origin ?? origin, to: &writer)
        return writer.bytes
    }

    private static func write(_ event: Event, origin: Origin, to writer: inout JSONWriter) {
        var object = writer.beginObject(keepsOrder: true)
        EventBody(event, origin).write(to: &writer, &object)
        if case .custom(let fact) = event.fact, let payload = fact.payload {
            writer.beginMember("payload", of: &object)
            // It is JSON text already.
            writer.write(text: payload)
        }
        writer.end(object)
    }

    /// By the name of the semaphore.
    private static func write(_ acquired: [AcquiredMembers], to writer: inout JSONWriter) {
        var object = writer.beginObject()
        // Of two with one name the first counts.
        for one in acquired.reversed() { writer.write(one.semaphore, one.members, to: &object) }
        writer.end(object)
    }
}
