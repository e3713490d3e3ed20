import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("watchctl drain, and suspend --wait") struct DrainVerbTests {
    private func fixture() -> EngineFixture {
        EngineFixture(
            .of(
                queues: [
                    .serial("q"), .concurrent("wide", width: 4), .concurrent("parent", width: 4),
                    QueueDefinition.serial("child").targeting("parent"),
                ],
                handlers: [.exec("h") { $0.overlap = .parallel }, .exec("again") { $0.retry.limit = 3 }],
                sources: ["q", "wide", "parent", "child"].map { .fifo("f-\($0)", to: "h", on: $0) } + [
                    .fifo("again", to: "again", on: "wide"), .custom("x", to: "h", on: "q"),
                ]))
    }

    private func drain(
        _ fixture: EngineFixture, _ queue: String?, seconds: Int64? = nil, caller: UInt64? = nil
    ) -> Token {
        fixture.command(
            .drain(
                Engine.Command.DrainCommand(
                    queue: queue, by: "me", timeout: seconds.map { $0 * 1_000_000 }, caller: caller)))
    }

    private func drained(_ fixture: EngineFixture, _ token: Token) -> [String]? {
        if case .drained(let queues, _) = fixture.reply(token) { queues } else { nil }
    }

    private func waiting(_ fixture: EngineFixture, _ token: Token) -> Int? {
        if case .drained(_, let waiting) = fixture.reply(token) { waiting } else { nil }
    }

    private func suspended(_ fixture: EngineFixture) -> [String] {
        fixture.engine.queueViews.filter { !$0.suspensions.isEmpty }.map(\.definition.name).sorted()
    }

    private func isTimedOut(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .timedOut = fixture.reply(token) { true } else { false }
    }

    private func isOfStop(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .failure(.draining) = fixture.reply(token) { true } else { false }
    }

    /// A mark is the client's own: it is no event, and nothing that a next start knows.
    @Test func theMarkIsNotDroppedAndNotKept() {
        var queue = QueueDefinition.serial("q", backlog: 3, overflow: .dropOldest)
        queue.isDurable = true
        let configuration = Configuration.of(
            queues: [queue], handlers: [.exec("h") { $0.overlap = .parallel }],
            sources: [.fifo("f", to: "h", on: "q")])
        let fixture = EngineFixture(configuration)
        for line in ["1", "2"] { fixture.line("f", line) }
        let token = drain(fixture, "q")
        for line in 3...6 { fixture.line("f", "\(line)") }
        #expect(fixture.reply(token) == nil)
        fixture.reload(configuration)
        fixture.send(.drain)
        fixture.endAll()
        #expect(isOfStop(fixture, token))
        let kept = DurableTests.state(fixture.writes, ended: fixture.ended).operations
        #expect(kept.map(\.handler) == ["h", "h"], "\(kept.map(\.handler))")
    }

    @Test func whatWasBeforeRunsAndWhatComesLaterWaits() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        fixture.line("f-q", "2")
        let token = drain(fixture, "q")
        fixture.line("f-q", "3")
        #expect(suspended(fixture) == [])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"] && drained(fixture, token) == nil)
        fixture.endFirst()
        #expect(drained(fixture, token) == ["q"] && suspended(fixture) == ["q"] && fixture.running == [])
        fixture.resume("q")
        #expect(fixture.running == ["h: line:3"])
    }

    @Test(arguments: ["q", "wide", "child"]) func whatWaitsWhereItIsSuspendedIsCounted(_ queue: String) {
        let fixture = fixture()
        fixture.suspend("queue/\(queue)")
        fixture.line("f-\(queue)", "1")
        let token = drain(fixture, queue)
        #expect(drained(fixture, token) == [queue] && waiting(fixture, token) == 1)
        fixture.resume("queue/\(queue)")
        #expect(suspended(fixture) == [queue] && fixture.running == [])
        fixture.resume("queue/\(queue)")
        #expect(suspended(fixture) == [] && fixture.running == ["h: line:1"])
    }

    @Test(arguments: [("q", "q"), ("wide", "wide"), ("parent", "child"), ("parent", "parent")])
    func theSecondOfTwoDrainsEndsWithTheFirst(_ first: String, _ second: String) {
        let fixture = fixture()
        fixture.line("f-\(second)", "1")
        let token = drain(fixture, first)
        fixture.line("f-\(second)", "2")
        let other = drain(fixture, second)
        #expect(drained(fixture, token) == nil && drained(fixture, other) == nil)
        fixture.endFirst()
        #expect(drained(fixture, token) == [first] && waiting(fixture, token) == 0)
        #expect(drained(fixture, other) == [second] && waiting(fixture, other) == 1)
        fixture.resume("queue/\(first)")
        #expect(suspended(fixture) == [second] && fixture.running == [])
        fixture.resume("queue/\(second)")
        #expect(suspended(fixture) == [] && fixture.running == ["h: line:2"])
    }

    @Test func onAConcurrentQueueItIsABarrier() {
        let fixture = fixture()
        for number in 1...6 { fixture.line("f-wide", "\(number)") }
        let token = drain(fixture, "wide")
        fixture.line("f-wide", "7")
        for _ in 1...5 { fixture.endFirst() }
        #expect(drained(fixture, token) == nil && fixture.running == ["h: line:6"])
        fixture.endFirst()
        #expect(drained(fixture, token) == ["wide"] && fixture.running == [])
    }

    @Test func aGlobalQueueIsEmptyOfWhatRunsToo() {
        let fixture = fixture()
        fixture.run("h")
        fixture.run("h")
        let token = drain(fixture, "default")
        fixture.run("h")
        #expect(fixture.running.count == 2)
        fixture.endFirst()
        #expect(drained(fixture, token) == nil)
        fixture.endFirst()
        #expect(drained(fixture, token) == ["default"] && fixture.running == [])
    }

    @Test func thoseThatRunThroughItAreDrainedBefore() {
        let fixture = fixture()
        fixture.line("f-child", "1")
        fixture.line("f-child", "2")
        fixture.line("f-parent", "3")
        let token = drain(fixture, "parent")
        fixture.line("f-child", "4")
        fixture.endAll()
        #expect(fixture.story.count == 3)
        #expect(drained(fixture, token) == ["parent"] && suspended(fixture) == ["parent"])
        fixture.resume("parent")
        #expect(fixture.running == ["h: line:4"])
    }

    @Test func withoutANameAllQueuesAreDrained() {
        let fixture = fixture()
        for queue in ["q", "wide", "child"] { fixture.line("f-\(queue)", "1") }
        let token = drain(fixture, nil)
        fixture.endAll()
        let all = fixture.engine.queueViews.map(\.definition.name).sorted()
        #expect(drained(fixture, token) == all.filter { $0 != "child" })
        fixture.line("f-q", "2")
        #expect(fixture.running == [])
    }

    /// A kill before its end leaves no queue suspended, and one behind it all of them.
    @Test func itIsStoredWhenAllAreDrained() {
        let fixture = fixture()
        func stored() -> [String] {
            var stored: [String: Int] = [:]
            for case .suspensions(let name, let suspensions) in fixture.writes { stored[name] = suspensions.count }
            return stored.filter { $0.value > 0 }.keys.sorted()
        }
        fixture.line("f-q", "1")
        let token = drain(fixture, nil)
        #expect(suspended(fixture).count > 1 && stored() == [] && drained(fixture, token) == nil)
        fixture.suspend("queue/wide")
        #expect(stored() == ["queue/wide"], "another one is")
        fixture.endFirst()
        #expect(drained(fixture, token)?.map { "queue/\($0)" } == stored())
    }

    @Test func afterItsTimeEverythingGoesOn() {
        let fixture = fixture()
        fixture.line("f-child", "1")
        fixture.line("f-parent", "2")
        let token = drain(fixture, "parent", seconds: 5)
        fixture.line("f-child", "3")
        fixture.end("h")
        fixture.advance(seconds: 6)
        #expect(isTimedOut(fixture, token) && suspended(fixture) == [])
        fixture.endAll()
        #expect(fixture.story.count == 3)
        #expect(fixture.ended.filter { $0.handler == "@drain" }.allSatisfy { [.done, .cancelled].contains($0.result) })
    }

    @Test func aClientThatGoesTakesItBack() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = drain(fixture, "q")
        fixture.line("f-q", "2")
        fixture.send(.abandon(token))
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"] && suspended(fixture) == [] && fixture.reply(token) == nil)
    }

    @Test func aQueueThatIsSuspendedLosesOnlyWhatRuns() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        fixture.line("f-q", "2")
        fixture.suspend("q")
        let token = drain(fixture, "q")
        #expect(drained(fixture, token) == nil)
        fixture.endFirst()
        #expect(drained(fixture, token) == ["q"] && fixture.running == [])
    }

    @Test func aMarkThatIsCancelledEndsIt() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = drain(fixture, "q")
        fixture.cancel(2)
        guard case .refused? = fixture.error(token) else { return #expect(Bool(false), "it is answered") }
        fixture.line("f-q", "2")
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func aRunCannotDrainItsOwnQueue() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = drain(fixture, "q", caller: 1)
        guard case .wouldDeadlock(let chain)? = fixture.error(token) else {
            return #expect(Bool(false), "it is refused")
        }
        #expect(!chain.isEmpty && suspended(fixture) == [])
        fixture.endAll()
        #expect(fixture.error(drain(fixture, "nobody")) == .noSuchName("nobody", nearest: nil))
    }

    @Test func aStopAnswersIt() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = drain(fixture, "q")
        fixture.send(.drain)
        #expect(fixture.error(token) == .draining)
        fixture.endAll()
        #expect(fixture.engine.phase == .drained)
    }

    // MARK: suspend --wait

    private func suspendAndWait(
        _ fixture: EngineFixture, _ name: String, seconds: Int64? = nil, caller: UInt64? = nil
    ) -> Token {
        fixture.command(
            .suspendAndWait(
                name: name, by: "me", reason: nil, until: nil, after: seconds.map { $0 * 1_000_000 }, caller: caller))
    }

    private func hasWaited(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .waited = fixture.reply(token) { true } else { false }
    }

    @Test func itWaitsForWhatRunsOnly() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        fixture.line("f-q", "2")
        let token = suspendAndWait(fixture, "q")
        #expect(suspended(fixture) == ["q"] && !hasWaited(fixture, token))
        fixture.endFirst()
        #expect(hasWaited(fixture, token) && fixture.running == [])
        #expect(hasWaited(fixture, suspendAndWait(fixture, "q")))
    }

    @Test func whatIsTriedAgainDoesNotRun() throws {
        let fixture = fixture()
        fixture.line("again", "1")
        let token = suspendAndWait(fixture, "wide")
        fixture.end(try #require(fixture.starts.first?.run), .exited(1))
        #expect(hasWaited(fixture, token))
        fixture.advance(seconds: 3600)
        #expect(fixture.starts.count == 1)
    }

    @Test func aSourceIsIdleWhenNothingOfItRuns() {
        let fixture = fixture()
        fixture.line("f-wide", "1")
        fixture.line("again", "1")
        let token = suspendAndWait(fixture, "descriptor/f-wide")
        #expect(!hasWaited(fixture, token))
        fixture.endFirst()
        #expect(hasWaited(fixture, token) && fixture.running == ["again: line:1"])
    }

    @Test func afterItsTimeItStaysSuspended() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = suspendAndWait(fixture, "q", seconds: 5)
        fixture.advance(seconds: 6)
        #expect(isTimedOut(fixture, token) && suspended(fixture) == ["q"])
    }

    @Test func aRunCannotWaitForItself() {
        let fixture = fixture()
        fixture.line("f-q", "1")
        let token = suspendAndWait(fixture, "q", caller: 1)
        guard case .wouldDeadlock? = fixture.error(token) else { return #expect(Bool(false), "it is refused") }
        #expect(suspended(fixture) == [])
    }
}
