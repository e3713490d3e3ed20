import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("QoS= and process slots")
struct QoSTests {
    private func fixture(_ slots: Int, change: (inout QueueDefinition) -> Void = { _ in }) -> EngineFixture {
        let queues = QoS.allCases.map { level in
            QueueDefinition.concurrent(level.rawValue, width: 1000).with {
                $0.qos = level
                change(&$0)
            }
        }
        return EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: slots), queues: queues, handlers: [.exec("h")],
                sources: QoS.allCases.map { .fifo($0.rawValue, to: "h", on: $0.rawValue) }))
    }

    private func lines(_ fixture: EngineFixture, _ level: QoS, _ texts: String...) {
        for text in texts { fixture.line(level.rawValue, text) }
    }

    private func story(_ fixture: EngineFixture) -> [String] { fixture.story.map { String($0.dropFirst(8)) } }

    // MARK: Order

    @Test func theHigherClassStartsFirst() {
        let fixture = fixture(1)
        lines(fixture, .default, "0")
        lines(fixture, .background, "b")
        lines(fixture, .utility, "u")
        lines(fixture, .userInteractive, "i")
        lines(fixture, .default, "d")
        lines(fixture, .userInitiated, "t")
        fixture.endAll()
        #expect(story(fixture) == ["0", "i", "t", "d", "u", "b"])
    }

    @Test func withinAClassItIsByAge() {
        let fixture = fixture(1) { if $0.name == "utility" { $0.qos = .default } }
        lines(fixture, .default, "1")
        lines(fixture, .utility, "2")
        lines(fixture, .default, "3")
        lines(fixture, .utility, "4")
        lines(fixture, .default, "5")
        fixture.endAll()
        #expect(story(fixture) == ["1", "2", "3", "4", "5"])
    }

    @Test func aTargetOfALowerClassLowersItsChildren() {
        let fixture = fixture(1) { if $0.name == "user-interactive" { $0.target = "background" } }
        lines(fixture, .default, "0")
        lines(fixture, .userInteractive, "i")
        lines(fixture, .utility, "u")
        fixture.endAll()
        #expect(story(fixture) == ["0", "u", "i"])
    }

    @Test func everySixteenthStartGoesToTheOldestOfALowerClass() {
        let fixture = fixture(1)
        lines(fixture, .default, "first")
        for number in 1...70 { lines(fixture, .userInitiated, "\(number)") }
        lines(fixture, .background, "older")
        lines(fixture, .utility, "younger", "youngest")
        fixture.endAll()
        let order = story(fixture)
        let places = ["older", "younger", "youngest"].compactMap { order.firstIndex(of: $0) }
        #expect(places.count == 3 && places == places.sorted(), "the oldest, whatever its class")
        #expect(places.first.map { (2...17).contains($0) } == true)
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 == 16 })
    }

    @Test func whoHasNobodyAboveItNeedsNoTurn() {
        let fixture = fixture(1)
        for number in 1...40 { lines(fixture, .background, "\(number)") }
        fixture.endAll()
        #expect(story(fixture) == (1...40).map(String.init))
    }

    // MARK: Kept slots

    @Test(arguments: [(2, 1), (3, 2), (8, 7), (15, 14), (16, 14), (24, 21)] + (LongPart.isAsked ? [(64, 56)] : []))
    func oneSlotInEightIsKeptForUserInteractive(slots: Int, free: Int) {
        let fixture = fixture(slots)
        for number in 1...(slots + 5) { lines(fixture, .default, "\(number)") }
        #expect(fixture.running.count == free)
        #expect(fixture.engine.operationViews.last?.waitReason == .processSlot)
        for number in 1...(slots + 5) { lines(fixture, .userInteractive, "i\(number)") }
        #expect(fixture.running.count == slots)
        fixture.endAll()
        #expect(fixture.ended.count == 2 * (slots + 5))
    }

    @Test func aSingleSlotIsForEverybody() {
        let fixture = fixture(1)
        lines(fixture, .background, "1")
        #expect(fixture.running.count == 1)
    }

    @Test func userInteractiveMayTakeEverySlot() {
        let fixture = fixture(16)
        for number in 1...20 { lines(fixture, .userInteractive, "\(number)") }
        #expect(fixture.running.count == 16)
        lines(fixture, .default, "x")
        for _ in 0..<4 { fixture.endFirst() }
        #expect(fixture.running.count == 16 && !fixture.running.contains("h: line:x"))
    }

    @Test func whenAllAreTakenItSaysSinceWhen() {
        let fixture = fixture(1)
        #expect(fixture.engine.slotsFullSince == nil)
        fixture.advance(seconds: 5)
        lines(fixture, .default, "1", "2")
        let full = fixture.now.realtime
        fixture.advance(seconds: 70)
        #expect(fixture.engine.slotsFullSince == full)
        fixture.endFirst()
        fixture.endFirst()
        #expect(fixture.engine.slotsFullSince == nil)
    }

    @Test func aSlotThatIsFreeIsGivenToWhoeverMayStart() {
        let fixture = fixture(1)
        lines(fixture, .default, "0")
        lines(fixture, .userInitiated, "t")
        lines(fixture, .background, "b")
        fixture.suspend("queue/user-initiated")
        fixture.endFirst()
        #expect(fixture.running == ["h: line:b"])
    }
}
