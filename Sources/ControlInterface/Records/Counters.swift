/// The counts of deliveries (Semantics.md, "Accounting"):
/// `accepted = held + pending + running + done + failed + cancelled + skipped + dropped + annulled`.
package struct Counters: Codable, Equatable, Sendable {
    package var accepted = 0
    package var held = 0
    package var pending = 0
    package var running = 0
    package var done = 0
    package var failed = 0
    package var cancelled = 0
    package var skipped = 0
    package var dropped = 0
    package var annulled = 0
    /// How many of the above joined an operation that was there already.
    package var coalesced = 0
    /// Refused by a filter, before acceptance.
    package var filtered = 0
    /// Lost by the kernel, before they could be accepted.
    package var gap = 0
    /// Admitted above a backlog because watchd made them itself.
    package var over = 0

    package init() {}
}
