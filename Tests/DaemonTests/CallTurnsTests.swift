import Testing

@testable import Daemon

@Suite("Turns of calls")
struct CallTurnsTests {
    /// Every connection has so many calls at hand: the order in which they are made.
    private func order(_ clients: [(user: UInt32, comesFirst: Bool, calls: Int)]) -> [Int] {
        var turns = CallTurns()
        var left = clients.map(\.calls)
        func add(_ client: Int) {
            turns.add(client, of: clients[client].user, comesFirst: clients[client].comesFirst)
        }
        for client in clients.indices { add(client) }
        var order: [Int] = []
        while let next = turns.next() {
            order.append(next)
            left[next] -= 1
            if left[next] > 0 { add(next) }
        }
        #expect(turns.isEmpty)
        #expect(left.allSatisfy { $0 == 0 })
        return order
    }

    @Test func connectionsOfAUserHaveACallEach() {
        #expect(order([(7, false, 3), (7, false, 2), (7, false, 1)]) == [0, 1, 2, 0, 1, 0])
    }

    @Test func aUserWithManyConnectionsGetsNoMoreThanOneWithOne() {
        let crowd = Array(repeating: (user: UInt32(7), comesFirst: false, calls: 20), count: 32)
        let order = order(crowd + [(8, false, 20)])
        let places = order.indices.filter { order[$0] == 32 }
        #expect(places == (0..<20).map { $0 * 2 + 1 })
    }

    @Test func rootComesFirstWhateverWaits() {
        let crowd = Array(repeating: (user: UInt32(7), comesFirst: false, calls: 20), count: 32)
        #expect(order(crowd + [(0, true, 3)]).prefix(3) == [32, 32, 32])
    }

    @Test func othersAreNotStarvedByRoot() {
        let order = order([(0, true, 100), (7, false, 3)])
        let places = order.indices.filter { order[$0] == 1 }
        let pace = CallTurns.firstInARow + 1
        #expect(places == [pace - 1, 2 * pace - 1, 3 * pace - 1])
    }
}
