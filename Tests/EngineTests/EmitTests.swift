import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Callers of Emit")
struct EmitTests {
    private func fixture(
        backlog: Int, _ overflow: QueueDefinition.Overflow = .block, settings: DaemonSettings = DaemonSettings()
    ) -> EngineFixture {
        let fixture = EngineFixture(
            .of(
                settings: settings,
                queues: [.serial("q", backlog: backlog, overflow: overflow), .serial("r", backlog: 2)],
                handlers: [.exec("h"), .exec("g")],
                sources: [
                    .custom("x", to: "h", on: "q", coalesces: false), .custom("y", to: "h", on: "q", coalesces: false),
                    .custom("z", to: "g", on: "r", coalesces: false), .custom("fold", to: "h", on: "q"),
                ]))
        fixture.emit("x", 0, payload: "first")
        return fixture
    }

    private func error(_ fixture: EngineFixture, _ token: Token) -> CommandError? {
        if case .failure(let error) = fixture.reply(token) { error } else { nil }
    }

    private func ids(_ fixture: EngineFixture, _ token: Token) -> [UInt64]? {
        if case .events(let ids) = fixture.reply(token) { ids } else { nil }
    }

    @Test func theyAreToldTheIdsOfTheirEvents() {
        let fixture = fixture(backlog: 9)
        #expect(ids(fixture, fixture.emit([("x", 1, nil), ("z", 2, nil)])) == [2, 3])
    }

    @Test func theyWaitForRoomAndKeepTheirOrder() {
        let fixture = fixture(backlog: 1)
        let tokens = (1...4).map { fixture.emit($0 == 3 ? "y" : "x", Int64($0)) }
        #expect(fixture.reply(tokens[0]) != nil && tokens.dropFirst().allSatisfy { fixture.reply($0) == nil })
        fixture.endFirst()
        #expect(ids(fixture, tokens[1]) != nil && fixture.reply(tokens[2]) == nil)
        fixture.endAll()
        #expect(fixture.story.dropFirst() == (1...4).map { "h: data:\($0)" }[...])
        #expect(fixture.counters(queue: "q")?[.held] == 0)
    }

    @Test func sixtyFourMayWait() {
        let fixture = fixture(backlog: 1)
        let tokens = (0...65).map { fixture.emit("x", Int64($0 + 1)) }
        #expect(error(fixture, tokens[65]) == .queueFull(queue: "q", backlog: 1))
        #expect(tokens.dropFirst().dropLast().allSatisfy { fixture.reply($0) == nil })
        // Who needs another queue need not wait.
        #expect(ids(fixture, fixture.emit("z")) != nil)
        fixture.endAll()
        #expect(tokens.dropLast().allSatisfy { ids(fixture, $0) != nil })
        #expect(fixture.counters(source: "custom/x")?[.dropped] == 0)
    }

    @Test func aListIsTakenInAsAWholeOrNotAtAll() {
        let fixture = fixture(backlog: 3)
        fixture.emit("x", 1)
        let list = fixture.emit([("x", 2, nil), ("z", 3, nil), ("y", 4, nil), ("x", 5, nil)])
        #expect(fixture.reply(list) == nil && fixture.counters(source: "custom/z")?.accepted == 0)
        fixture.endFirst()
        #expect(ids(fixture, list)?.count == 4)
    }

    @Test func aListThatCanNeverBeTakenInIsRefusedAtOnce() {
        let fixture = fixture(backlog: 2)
        let list = (1...3).map { (name: "x", data: Int64?.some(Int64($0)), payload: String?.none) }
        #expect(error(fixture, fixture.emit(list)) == .queueFull(queue: "q", backlog: 2))
        let small = self.fixture(backlog: 9, settings: DaemonSettings(maxOperations: 2))
        #expect(error(small, small.emit(list)) == .queueFull(queue: "q", backlog: 9))
        #expect(ids(small, small.emit("x")) != nil)
    }

    @Test func whoNeedsMuchRoomIsNotPassedByWhoNeedsLittle() {
        let fixture = fixture(backlog: 2)
        fixture.emit("x", 1)
        let large = fixture.emit([("x", 2, nil), ("x", 3, nil)])
        let small = fixture.emit("y", 4)
        #expect(fixture.reply(large) == nil && fixture.reply(small) == nil)
        fixture.endAll()
        #expect(fixture.story.suffix(3) == ["h: data:2", "h: data:3", "h: data:4"])
    }

    @Test func whoWaitsForOneQueueDoesNotHoldUpWhoWaitsForAnother() {
        let fixture = fixture(backlog: 1)
        fixture.emit("x")
        for _ in 0..<3 { fixture.emit("z") }
        let (first, second) = (fixture.emit("x"), fixture.emit("z"))
        #expect(fixture.reply(first) == nil && fixture.reply(second) == nil)
        fixture.end(fixture.runs[1])
        #expect(fixture.reply(first) == nil && fixture.reply(second) != nil)
    }

    @Test func eventsThatFoldCountAsOne() {
        let fixture = fixture(backlog: 1)
        let list = [("fold", Int64(1), nil), ("fold", 2, nil), ("fold", 0, nil)] as [(String, Int64?, String?)]
        #expect(ids(fixture, fixture.emit(list)) == [2, 3, 0])
        #expect(ids(fixture, fixture.emit("fold", 4)) == [4])
        #expect(fixture.reply(fixture.emit("x")) == nil)
    }

    @Test func aQueueThatDropsTheNewestRefusesAtOnce() {
        let fixture = fixture(backlog: 1, .dropNewest)
        fixture.emit("x", 1)
        #expect(error(fixture, fixture.emit("x", 2)) == .queueFull(queue: "q", backlog: 1))
        #expect(error(fixture, fixture.emit([("z", 1, nil), ("x", 3, nil)])) == .queueFull(queue: "q", backlog: 1))
        #expect(fixture.counters(source: "custom/x")?[.dropped] == 2)
        #expect(fixture.counters(source: "custom/z")?[.dropped] == 1)
    }

    @Test func aQueueThatDropsTheOldestTakesEverybody() {
        let fixture = fixture(backlog: 1, .dropOldest)
        for data in 1...3 { #expect(ids(fixture, fixture.emit("x", Int64(data))) != nil) }
        fixture.endAll()
        #expect(fixture.story.dropFirst() == ["h: data:3"])
    }

    @Test func aSuspendedSourceKeepsAsManyAsTheBacklogAndThenItsCallersWait() {
        let fixture = fixture(backlog: 2)
        fixture.command(.suspend(name: "y", by: "me", reason: nil, until: nil))
        let tokens = (1...3).map { fixture.emit("y", Int64($0)) }
        #expect(tokens.map { fixture.reply($0) == nil } == [false, false, true])
        #expect(fixture.counters(source: "custom/y")?[.held] == 2)
        fixture.command(.resume(name: "y"))
        fixture.endAll()
        #expect(fixture.reply(tokens[2]) != nil)
        #expect(fixture.story.dropFirst() == ["h: data:1", "h: data:2", "h: data:3"])
    }

    @Test func aReloadAnswersWhoWaitsForWhatIsGone() {
        let fixture = fixture(backlog: 1)
        fixture.emit("x")
        let (one, list) = (fixture.emit("x"), fixture.emit([("y", 1, nil), ("z", 1, nil)]))
        fixture.reload(
            .of(
                queues: [.serial("q", backlog: 9)], handlers: [.exec("h")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
        #expect(ids(fixture, one) != nil)
        #expect(error(fixture, list) == .noSuchName("custom/y", nearest: nil))
    }

    @Test func aReloadThatDropsTheNewestRefusesWhoWaits() {
        let fixture = fixture(backlog: 1)
        fixture.emit("x")
        let token = fixture.emit("x")
        fixture.reload(
            .of(
                queues: [.serial("q", backlog: 1, overflow: .dropNewest)], handlers: [.exec("h")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
        #expect(error(fixture, token) == .queueFull(queue: "q", backlog: 1))
    }

    @Test func namesAreCheckedBeforeAnythingIsTakenIn() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("deploy")],
                sources: [.custom("poke", to: "deploy"), .timer("tick", to: "deploy", every: .seconds(60))]))
        #expect(
            error(fixture, fixture.emit([("poke", 1, nil), ("pok", 1, nil)])) == .noSuchName("pok", nearest: "poke"))
        #expect(error(fixture, fixture.emit("custom/poke")) == nil)
        #expect(error(fixture, fixture.emit("custom/poek")) == .noSuchName("custom/poek", nearest: "custom/poke"))
        #expect(error(fixture, fixture.emit("tick")) == .notCustom("tick"))
        #expect(error(fixture, fixture.emit("deploy")) == .notCustom("deploy"))
        #expect(fixture.counters(source: "custom/poke")?.accepted == 1)
    }
}
