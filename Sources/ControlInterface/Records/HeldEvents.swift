/// Events that wait at the door for `RateLimit=` of their source: they are no operation yet.
package struct HeldEvents: Codable, Equatable, Sendable {
    enum CodingKeys: String, CodingKey {
        case source, handlers, events, since
        case waitingFor = "waiting_for"
    }

    /// `path/uploads`.
    package var source: String
    package var handlers: [String]
    package var events: Int
    /// When the oldest came.
    package var since: String
    /// A phrase.
    package var waitingFor: String

    package init(source: String, handlers: [String], events: Int, since: String, waitingFor: String) {
        self.source = source
        self.handlers = handlers
        self.events = events
        self.since = since
        self.waitingFor = waitingFor
    }
}
