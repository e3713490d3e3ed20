import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("watchctl acquire") struct AcquireTests {
    private static func configuration(_ semaphore: SemaphoreDefinition) -> Configuration {
        .of(
            queues: [.concurrent("q", width: 8)], semaphores: [semaphore],
            handlers: [.exec("h") { $0.constraints.acquire("s", 1) }],
            sources: [.fifo("h", to: "h", on: "q")])
    }

    private func fixture(_ semaphore: SemaphoreDefinition = .of("s", 2)) -> EngineFixture {
        EngineFixture(Self.configuration(semaphore))
    }

    private static let holder = CommandFact.Holder(process: 4711, started: 5)

    private func acquire(
        _ fixture: EngineFixture, _ count: Int = 1, name: String = "s", seconds: Int64? = nil, caller: UInt64? = nil
    ) -> Token {
        fixture.command(
            .acquire(
                Engine.Command.AcquireCommand(
                    name, count: count, words: ["acquire", name, "make"], by: "me", for: Self.holder,
                    timeout: seconds.map { $0 * 1_000_000 }, caller: caller)))
    }

    /// The operation that holds the units; `nil`: they are not given yet.
    private func holder(_ fixture: EngineFixture, _ token: Token) -> UInt64? {
        if case .waited(let view?) = fixture.reply(token), view.result == nil { view.id } else { nil }
    }

    private func release(_ fixture: EngineFixture, _ id: UInt64?) { fixture.command(.endHold(operation: id ?? 0)) }

    @Test func aClientHoldsUnitsUntilItEnds() {
        let fixture = fixture()
        let first = acquire(fixture)
        #expect(holder(fixture, first) == 1 && fixture.semaphore("s")?.available == 1)
        fixture.line("h", "1")
        fixture.line("h", "2")
        #expect(fixture.running == ["h: line:1"])
        release(fixture, 1)
        #expect(fixture.running == ["h: line:1", "h: line:2"])
        #expect(fixture.results == ["@acquire s:1 done"])
        fixture.endAll()
        #expect(fixture.semaphore("s")?.available == 2)
    }

    @Test func itStandsInLineAmongHandlers() {
        let fixture = fixture()
        fixture.line("h", "1")
        let token = acquire(fixture, 2)
        // Who comes later passes nobody who waits for the same.
        fixture.line("h", "2")
        #expect(holder(fixture, token) == nil && fixture.running == ["h: line:1"])
        fixture.end("h")
        #expect(holder(fixture, token) == 2 && fixture.running == [])
        release(fixture, 2)
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func membersAreLentToClientsToo() {
        let fixture = fixture(SemaphoreDefinition(name: "s", members: ["a", "b"]))
        _ = acquire(fixture)
        fixture.line("h", "1")
        #expect(fixture.starts.first?.acquired.first?.members == ["b"])
        let holders = fixture.semaphore("s")?.holders.map { "\($0.handler) \($0.members.joined())" }
        #expect(holders == ["@acquire s:1 a", "h b"])
        guard case .refused? = fixture.error(acquire(fixture, 3)) else { return #expect(Bool(false), "too many") }
    }

    @Test func whoHasWaitedTooLongOrGoesStandsInNoLine() {
        let fixture = fixture(.of("s", 1))
        _ = acquire(fixture)
        let late = acquire(fixture, seconds: 5)
        let gone = acquire(fixture)
        fixture.line("h", "1")
        fixture.advance(seconds: 6)
        guard case .timedOut? = fixture.reply(late) else { return #expect(Bool(false), "it is answered") }
        fixture.send(.abandon(gone))
        release(fixture, 1)
        #expect(fixture.running == ["h: line:1"] && fixture.reply(gone) == nil)
        #expect(fixture.ended.filter { $0.result == .cancelled }.map(\.id) == [2, 3])
    }

    @Test func aCancelTakesTheUnitsBack() {
        let fixture = fixture(.of("s", 1))
        let token = acquire(fixture)
        #expect(holder(fixture, token) == 1)
        fixture.cancel(1)
        #expect(fixture.semaphore("s")?.available == 1 && fixture.results == ["@acquire s:1 cancelled"])
        // Its process ends later.
        release(fixture, 1)
        #expect(fixture.semaphore("s")?.available == 1)
    }

    @Test func aRunThatHoldsItCannotWaitForMore() {
        let fixture = fixture(.of("s", 1))
        fixture.line("h", "1")
        guard case .wouldDeadlock? = fixture.error(acquire(fixture, caller: 1)) else {
            return #expect(Bool(false), "it is refused")
        }
        #expect(fixture.error(acquire(fixture, name: "q")) == .noSuchName("q", nearest: nil))
        #expect(fixture.error(acquire(fixture, 0)) == .badCount(0))
    }

    @Test func unitsThatCanNeverBeGivenAreRefused() {
        let fixture = fixture()
        guard case .refused(let reason)? = fixture.error(acquire(fixture, 3)) else {
            return #expect(Bool(false), "too many")
        }
        #expect(reason == "semaphore s has 2 units, and no handler has Release= of it: nobody can hold 3")
        // A unit more, given by hand.
        fixture.command(.signal(semaphore: "s", count: 1))
        #expect(holder(fixture, acquire(fixture, 3)) != nil)
    }

    @Test func aReloadKeepsIt() {
        let fixture = fixture(.of("s", 1))
        _ = acquire(fixture)
        let waiting = acquire(fixture)
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 8)], semaphores: [.of("s", 2)],
                handlers: [.exec("h") { $0.constraints.acquire("s", 1) }], sources: [.fifo("h", to: "h", on: "q")]))
        #expect(holder(fixture, waiting) == 2 && fixture.semaphore("s")?.available == 0)
        release(fixture, 1)
        #expect(fixture.semaphore("s")?.available == 1)
        #expect(!fixture.engine.queueViews.contains { $0.definition.name.hasPrefix("@") })
    }

    @Test func aStopWaitsForNoClient() {
        let fixture = fixture(.of("s", 1))
        _ = acquire(fixture)
        let waiting = acquire(fixture)
        fixture.send(.drain)
        #expect(fixture.engine.phase == .drained)
        // The holder of units goes on; a client that waits for them is told.
        #expect(fixture.results == ["@acquire s:1 cancelled"] && fixture.engine.setAsideCount == 1)
        #expect(fixture.reply(waiting) != nil)
    }

    @Test(arguments: [false, true])
    func theUnitsAreHeldUntilTheProcessEndsWhateverBecomesOfWatchd(isStopped: Bool) {
        let semaphore = SemaphoreDefinition(name: "s", members: ["a", "b"])
        let fixture = fixture(semaphore)
        _ = acquire(fixture)
        if isStopped {
            fixture.send(.drain)
            #expect(fixture.leftBesideStop.map(\.pid) == [4711])
        }
        let state = DurableTests.state(fixture.writes, ended: fixture.ended, runsGoOn: true)
        let next = EngineFixture(Self.configuration(semaphore), restoring: state)
        let view = next.semaphore("s")
        #expect(view?.available == 1 && view?.holders.map(\.members) == [["a"]])
        #expect(next.adopted.map(\.pid) == [4711] && next.adopted.map(\.born) == [5])
        next.line("h", "1")
        #expect(next.starts.first?.acquired.first?.members == ["b"])
        for request in next.adopted { next.end(request.run, nil) }
        #expect(next.results == ["@acquire s:1 done"] && next.semaphore("s")?.available == 1)
        next.endAll()
    }

    @Test func aHoldWithoutItsSemaphoreEndsWithItsProcess() {
        let fixture = fixture(.of("s", 1))
        _ = acquire(fixture)
        let next = EngineFixture(.of(), restoring: DurableTests.state(fixture.writes, ended: [], runsGoOn: true))
        #expect(next.engine.orphanHolders.map(\.operation) == [1])
        #expect(next.engine.orphanHolders.map(\.holder) == [Self.holder])
        release(next, 1)
        #expect(next.engine.orphanCount == 0 && next.results == ["@acquire s:1 cancelled"])
    }

    /// Nothing of watchd's ends the process: not even the loss of its semaphore.
    @Test func aHoldWithoutItsSemaphoreWaitsForIt() {
        let fixture = fixture(.of("s", 1))
        _ = acquire(fixture)
        let state = DurableTests.state(fixture.writes, ended: [], runsGoOn: true)
        let next = EngineFixture(.of(), restoring: state)
        #expect(next.adopted.isEmpty && next.engine.setAsideCount == 0)
        next.reload(Self.configuration(.of("s", 1)))
        #expect(next.semaphore("s")?.available == 0 && next.adopted.map(\.pid) == [4711])
        next.cancel(1)
        #expect(next.semaphore("s")?.available == 1 && next.signals.isEmpty)
    }
}
