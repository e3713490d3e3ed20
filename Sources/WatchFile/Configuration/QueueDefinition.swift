/// `[Queue NAME]`.
package struct QueueDefinition: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// One at a time, in strict order.
        case serial
        /// Started in order, up to `width` at once (at least 1).
        case concurrent(width: Int)
    }

    /// What happens when the backlog is full.
    package enum Overflow: String, CaseIterable, Sendable {
        case block
        case dropOldest = "drop-oldest"
        case dropNewest = "drop-newest"
    }

    package var name: String
    package var kind: Kind
    /// `Backlog=`: entries pending, at least 1.
    package var backlog: Int
    package var overflow: Overflow
    /// `Suspended=`: start suspended.
    package var isSuspended: Bool

    package init(
        name: String, kind: Kind = .serial, backlog: Int = 10_000, overflow: Overflow = .block,
        isSuspended: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.backlog = backlog
        self.overflow = overflow
        self.isSuspended = isSuspended
    }

    /// The queues that always exist: `main`, which is serial, and the global concurrent ones.
    package static let builtInNames = [
        "main", "user-interactive", "user-initiated", "default", "utility", "background",
    ]

    /// Other names of built-in queues.
    package static let aliases = ["high": "user-initiated", "low": "utility"]
}
