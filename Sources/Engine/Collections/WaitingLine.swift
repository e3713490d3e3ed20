/// The sources that wait for room, in the order they came, each once.
struct WaitingLine: Sendable {
    private var order = Deque<Int>()
    private var members: Set<Int> = []

    var isEmpty: Bool { order.isEmpty }
    var first: Int? { order.first }

    func contains(_ member: Int) -> Bool { members.contains(member) }

    mutating func append(_ member: Int) {
        if members.insert(member).inserted { order.append(member) }
    }

    @discardableResult
    mutating func removeFirst() -> Int? {
        guard let first = order.removeFirst() else { return nil }
        members.remove(first)
        return first
    }
}
