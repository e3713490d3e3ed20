/// The counts of a `[Group]`.
struct GroupState: Sendable {
    /// Operations of its members that have not ended.
    var outstanding = 0
    /// Clients that entered and have not left.
    var tickets: [UInt64: GroupTicket] = [:]
    /// Since it fired last.
    var tally = GroupFact()
    /// The deepest chain among the operations that ended since.
    var depth = 0

    var isEmpty: Bool { outstanding == 0 && tickets.isEmpty }
}
