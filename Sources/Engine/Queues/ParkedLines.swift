/// Operations of a concurrent queue that wait for semaphores: a line for each handler, as those of one need the same.
struct ParkedLines: Sendable {
    private struct Line: Sendable {
        var handler: Int
        var tickets = TicketLine()
    }

    /// Operations that run through the queue and wait for semaphores, of its own and of others.
    var through = 0
    private var lines: [Line] = []

    var isEmpty: Bool { lines.isEmpty }

    mutating func insert(_ ticket: Ticket, handler: Int) {
        if let index = lines.firstIndex(where: { $0.handler == handler }) {
            lines[index].tickets.insert(ticket)
        } else {
            lines.append(Line(handler: handler))
            lines[lines.count - 1].tickets.insert(ticket)
        }
    }

    /// The first of each line that still waits.
    mutating func firsts(in operations: OperationTable) -> [Ticket] {
        var firsts: [Ticket] = []
        for index in lines.indices.reversed() {
            if let first = lines[index].tickets.first(in: operations, at: .semaphores) {
                firsts.append(first)
            } else {
                lines.remove(at: index)
            }
        }
        return firsts
    }

    /// Drops those that wait here no more, once they are the greater part. `count`: how many wait here at most.
    mutating func trim(_ count: Int, in operations: OperationTable) {
        for index in lines.indices { lines[index].tickets.trim(count, in: operations, at: .semaphores) }
    }
}
