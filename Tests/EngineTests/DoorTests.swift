import Testing

@testable import Engine

@Suite("The door")
struct DoorTests {
    private let bound = Load(entries: 8, bytes: 1 << 20)

    private func next(_ door: inout Door, isStoreWorking: Bool = true) -> String {
        switch door.next(isStoreWorking: isStoreWorking) {
        case .source(let source): "source \(source)"
        case .queue(let queue): "queue \(queue)"
        case .total: "total"
        case .calls: "calls"
        case nil: ""
        }
    }

    @Test func eachGoesOnOnce() {
        var door = Door()
        door.resume(3)
        door.resume(3)
        door.roomMade(in: 1)
        let steps = [next(&door), next(&door), next(&door)]
        #expect(steps == ["source 3", "queue 1", ""])
    }

    @Test func whoWaitsForTheStoreGoesOnWhenItWorks() {
        var door = Door()
        door.waitForStore(2)
        let first = next(&door, isStoreWorking: false)
        #expect(first.isEmpty && door.isHeldByStore(2))
        let second = next(&door)
        #expect(second == "source 2" && !door.isHeldByStore(2))
    }

    @Test func nobodyPassesWhoWaitsForRoomInAll() {
        var door = Door()
        door.add(Load(entries: 8, bytes: 8))
        let one = Load(entries: 1, bytes: 1)
        #expect(door.isFull(for: one, within: bound, isFirst: true))
        door.waitForTotal(4)
        door.add(Load(entries: -1, bytes: -1))
        door.roomMade(within: bound)
        let first = next(&door)
        #expect(first.isEmpty, "there is room below 7/8 only")
        #expect(door.isFull(for: one, within: bound, isFirst: false))
        #expect(!door.isFull(for: one, within: bound, isFirst: true))
        door.add(Load(entries: -1, bytes: -1))
        door.roomMade(within: bound)
        let second = next(&door)
        #expect(second == "total")
        door.removeFirstOfTotal()
        #expect(door.heldByTotal.isEmpty)
    }

    @Test func aCallerIsTriedAgainWhenThereMayBeRoom() {
        var door = Door()
        door.wait(EmitCall(emissions: [], token: Token(1)))
        door.wait(EmitCall(emissions: [], token: Token(2)))
        let first = next(&door)
        #expect(first.isEmpty)
        door.abandon(Token(1))
        let second = next(&door)
        #expect(second == "calls" && door.calls.map(\.token) == [Token(2)])
        let third = next(&door)
        #expect(third.isEmpty)
    }
}
