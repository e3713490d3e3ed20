import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Join=all") struct JoinTests {
    private func configuration(_ paths: [String] = ["/a", "/b"], settle: SettleRule? = nil, isDurable: Bool = false)
        -> Configuration
    {
        .of(
            queues: [QueueDefinition(name: "q", isDurable: isDurable)], handlers: [.exec("h")],
            sources: [.path("p", to: "h", on: "q", events: .written, settle: settle, joining: paths)])
    }

    private func change(_ fixture: EngineFixture, _ path: String, _ change: PathChange = .written, isNew: Bool = false)
    {
        fixture.path("p", change, path, isNew: isNew, root: String(path.prefix(2)))
    }

    @Test func itFiresWhenEachPathHasChanged() {
        let fixture = EngineFixture(configuration())
        change(fixture, "/a/1")
        change(fixture, "/a/2")
        #expect(fixture.running == [])
        #expect(fixture.engine.operation(1)?.waitReason == .join)
        #expect(fixture.engine.operation(1)?.waitingFor == "Join=all, a change of /b")
        change(fixture, "/b/1")
        #expect(fixture.running == ["h: written:1 written:2 written:1"])
        fixture.endFirst()
        change(fixture, "/b/1")
        #expect(fixture.running == [], "since the last one")
        change(fixture, "/a/1")
        #expect(fixture.running.count == 1)
    }

    @Test func whatComesToNothingIsNoChange() {
        let fixture = EngineFixture(configuration())
        change(fixture, "/a/1")
        change(fixture, "/b/1", isNew: true)
        fixture.endFirst()
        change(fixture, "/b/2", isNew: true)
        change(fixture, "/b/2", .deleted)
        change(fixture, "/a/1")
        #expect(fixture.running == [])
        change(fixture, "/b/1")
        #expect(fixture.running.count == 1)
    }

    @Test func whatComesWhileItStandsInLineIsForTheNextOne() {
        let fixture = EngineFixture(configuration())
        fixture.suspend("q")
        change(fixture, "/a/1")
        change(fixture, "/b/1")
        change(fixture, "/a/2")
        fixture.resume("q")
        #expect(fixture.running == ["h: written:1 written:1"])
        fixture.endFirst()
        #expect(fixture.running == [])
        change(fixture, "/b/2")
        #expect(fixture.running == ["h: written:2 written:2"])
    }

    @Test func theKeyIsQuietToo() {
        let fixture = EngineFixture(configuration(settle: SettleRule(quiet: .seconds(2))))
        change(fixture, "/a/1")
        fixture.advance(seconds: 1)
        change(fixture, "/b/1")
        fixture.advance(seconds: 1.9)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.1)
        #expect(fixture.running.count == 1)
    }

    @Test func aChangeThatIsUndoneWhileTheKeySettlesIsWaitedForAgain() {
        let fixture = EngineFixture(configuration(settle: SettleRule(quiet: .seconds(2))))
        change(fixture, "/a/1")
        change(fixture, "/b/1", isNew: true)
        fixture.advance(seconds: 1)
        change(fixture, "/b/1", .deleted)
        fixture.advance(seconds: 3)
        #expect(fixture.running == [] && fixture.engine.operation(1)?.waitingFor == "Join=all, a change of /b")
        change(fixture, "/b/2")
        fixture.advance(seconds: 2)
        #expect(fixture.running == ["h: written:1 written:2"])
    }

    @Test func aReloadThatRemovesTheSourceSubmitsWhatHasCome() {
        let fixture = EngineFixture(configuration())
        change(fixture, "/a/1")
        fixture.reload(.of(queues: [QueueDefinition(name: "q")], handlers: [.exec("h")]))
        #expect(fixture.running == ["h: written:1"])
    }

    @Test func aRunByHandWaitsForNothing() {
        let fixture = EngineFixture(configuration())
        fixture.command(.run(.init(name: "p", paths: [Array("/a/1".utf8)])))
        #expect(fixture.running.count == 1)
    }

    @Test func aReloadThatTakesAPathAwayMayCompleteIt() {
        let fixture = EngineFixture(configuration(["/a", "/b", "/c"]))
        change(fixture, "/a/1")
        change(fixture, "/b/1")
        #expect(fixture.engine.operation(1)?.waitingFor == "Join=all, a change of /c")
        fixture.reload(configuration(["/a", "/b"]))
        #expect(fixture.running.count == 1)
    }

    @Test func aPathWhoseChangeIsUndoneIsWaitedForAgain() {
        let fixture = EngineFixture(configuration(["/a", "/b", "/c"]))
        fixture.path("p", .written, "/a/1", isNew: true, root: "/a")
        change(fixture, "/b/1")
        fixture.path("p", .deleted, "/a/1", root: "/a")
        #expect(fixture.engine.operation(1)?.waitingFor == "Join=all, a change of /a and 1 more")
        change(fixture, "/c/1")
        #expect(fixture.running == [] && fixture.engine.operation(1)?.waitingFor == "Join=all, a change of /a")
        change(fixture, "/a/1")
        #expect(fixture.running.count == 1)
    }

    @Test func aStopCancelsItAndADurableQueueKeepsIt() {
        let fixture = EngineFixture(configuration())
        change(fixture, "/a/1")
        fixture.send(.drain)
        #expect(fixture.results == ["h cancelled"] && fixture.drained == [])
        let kept = EngineFixture(configuration(isDurable: true))
        change(kept, "/a/1")
        kept.send(.drain)
        let again = EngineFixture(
            configuration(isDurable: true), at: kept.now, restoring: DurableTests.state(kept.writes, ended: kept.ended))
        #expect(again.running == [] && again.engine.operation(1)?.waitReason == .join)
        change(again, "/b/1")
        #expect(again.running == ["h: written:1 written:1"])
    }
}
