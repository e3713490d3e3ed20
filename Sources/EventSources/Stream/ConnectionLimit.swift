/// Every connection that `MaxConnections=` allows a source is open: who comes now waits in the kernel.
package struct ConnectionLimit: Equatable, Sendable {
    /// Those that are open; more than `limit` after a reload that lowered it.
    package let open: Int
    package let limit: Int
    /// Since when, wall clock, microseconds.
    package let since: Int64
    /// Somebody waits, as `poll(2)` of the listening socket says.
    package let hasWaiting: Bool

    package var sentence: String {
        let who = hasWaiting ? "clients wait" : "further clients wait"
        return "\(open) of \(limit) connections (MaxConnections=): \(who) until one of these ends"
    }
}
