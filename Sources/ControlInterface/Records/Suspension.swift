/// One suspension of a source or queue.
package struct Suspension: Codable, Equatable, Sendable {
    /// `watch file`, or the name (else the uid) of who asked.
    package var by: String
    package var reason: String?
    package var since: String
    /// When it ends by itself.
    package var until: String?

    package init(by: String, reason: String? = nil, since: String, until: String? = nil) {
        self.by = by
        self.reason = reason
        self.since = since
        self.until = until
    }
}
