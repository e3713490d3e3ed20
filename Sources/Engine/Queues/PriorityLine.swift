import WatchFile

/// The line of a queue: on a concurrent one, one for each level of `Priority=`; on a serial one, one for all.
struct QueueLine: Sendable {
    static let levels = 5
    private static let normal = 2

    private var normal = TicketLine()
    /// The others, once they are used.
    private var others: [TicketLine] = []

    mutating func insert(_ ticket: Ticket, level: Int) {
        if level == Self.normal { return normal.insert(ticket) }
        if others.isEmpty { others = Array(repeating: TicketLine(), count: Self.levels) }
        others[level].insert(ticket)
    }

    /// From the highest to the lowest, without those that nobody has used.
    var usedLevels: Range<Int> { others.isEmpty ? Self.normal..<(Self.normal + 1) : 0..<Self.levels }

    /// The first of a level.
    mutating func first(level: Int, in operations: OperationTable, at station: Operation.Station?) -> Ticket? {
        if level == Self.normal { return normal.first(in: operations, at: station) }
        return others.isEmpty ? nil : others[level].first(in: operations, at: station)
    }

    func peek(
        level: Int, in operations: OperationTable, at station: Operation.Station?, but excluded: Set<Ticket> = []
    ) -> Ticket? {
        if level == Self.normal { return normal.peek(in: operations, at: station, but: excluded) }
        return others.isEmpty ? nil : others[level].peek(in: operations, at: station, but: excluded)
    }

    mutating func trim(_ count: Int, in operations: OperationTable, at station: Operation.Station?) {
        normal.trim(count, in: operations, at: station)
        for level in others.indices { others[level].trim(count, in: operations, at: station) }
    }

    var tickets: [Ticket] { normal.tickets + others.flatMap(\.tickets) }
}

extension Engine {
    /// Where it stands among the ready ones (`Priority=`).
    func level(_ definition: SharedDefinition, on queue: Int, of id: UInt64) -> UInt8 {
        let own = priorities.isEmpty ? nil : priorities[id]
        return UInt8(queues[queue].isSerial ? 2 : (own ?? definition.value.constraints.priority).rank)
    }
}
