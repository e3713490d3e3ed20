/// The order of calls: of the connections that have calls at hand each has one call in its turn.
///
/// Those of root and of the daemon's own user come first. Other users take turns, and the connections of one user
/// among themselves: who has many gets no more than who has one.
struct CallTurns {
    /// Calls that come first in a row while others wait; then it is the turn of one of these.
    static let firstInARow = 16

    private var first: [Int] = []
    private var inARow = 0
    /// Users whose connections wait, the next one first.
    private var users: [UInt32] = []
    private var connections: [UInt32: [Int]] = [:]

    var isEmpty: Bool { first.isEmpty && users.isEmpty }

    /// - Parameter connection: is not in it.
    mutating func add(_ connection: Int, of user: UInt32, comesFirst: Bool) {
        if comesFirst { return first.append(connection) }
        if connections[user] == nil { users.append(user) }
        connections[user, default: []].append(connection)
    }

    /// Takes out the connection whose turn it is.
    mutating func next() -> Int? {
        if !first.isEmpty, users.isEmpty || inARow < Self.firstInARow {
            inARow = users.isEmpty ? 0 : inARow + 1
            return first.removeFirst()
        }
        inARow = 0
        guard !users.isEmpty else { return nil }
        let user = users.removeFirst()
        var waiting = connections.removeValue(forKey: user) ?? []
        let next = waiting.removeFirst()
        if !waiting.isEmpty {
            connections[user] = waiting
            users.append(user)
        }
        return next
    }
}
