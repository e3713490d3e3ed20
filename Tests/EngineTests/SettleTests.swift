import Schedule
import Testing
import WatchFile

@testable import Engine

/// `SettleSec=`, `MaxSettleSec=` (Semantics.md, "Settle").
@Suite("SettleSec=") struct SettleTests {
    private static let rule = SettleRule(quiet: .seconds(10), longest: .seconds(60))

    private func fixture(
        _ rule: SettleRule = rule, key: KeyRule = .handler, queue: QueueDefinition = .concurrent("q", width: 4),
        events: PathEvents = .written, _ edit: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(configuration(rule, key: key, queue: queue, events: events, edit))
    }

    private func configuration(
        _ rule: SettleRule? = rule, key: KeyRule = .handler, queue: QueueDefinition = .concurrent("q", width: 4),
        events: PathEvents = .written, _ edit: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        .of(
            queues: [queue], handlers: [.exec("h", edit)],
            sources: [.path("p", to: "h", on: "q", key: key, events: events, settle: rule)])
    }

    private func counters(_ fixture: EngineFixture) -> Counters? { fixture.engine.sourceViews.first?.counters }

    // MARK: When it is submitted

    @Test func anOperationWaitsUntilItsKeyIsQuiet() {
        let fixture = fixture()
        for file in ["a", "b", "c"] {
            fixture.path("p", .written, "/w/\(file)")
            fixture.advance(seconds: 9)
        }
        fixture.advance(seconds: 0.999_999)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.running == ["h: written:a written:b written:c"])
    }

    @Test func noLongerThanItMaySettleWhateverComes() {
        let fixture = fixture()
        for _ in 0..<12 {
            #expect(fixture.running == [])
            fixture.path("p", .written, "/w/a")
            fixture.advance(seconds: 5)
        }
        #expect(fixture.running == ["h: written:ax12"])
    }

    @Test func withoutABoundItWaitsForQuietHoweverLong() {
        let fixture = fixture(SettleRule(quiet: .seconds(10), longest: .infinity))
        for _ in 0..<1000 {
            fixture.path("p", .written, "/w/a")
            fixture.advance(seconds: 9)
        }
        #expect(fixture.running == [])
        fixture.send(.clock)
        #expect(fixture.engine.operation(1)?.waitingFor == "SettleSec=, 1s more")
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:ax1000"])
    }

    @Test func theBoundIsTenTimesTheQuiet() {
        #expect(SettleRule(quiet: .seconds(3)).longest == .seconds(30))
        #expect(SettleRule(quiet: TimeSpan(microseconds: .max / 15)).longest < .infinity)
    }

    @Test func withAKeyOfItsOwnEachFileSettlesForItself() {
        let fixture = fixture(key: .perPath)
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 6)
        fixture.path("p", .written, "/w/b")
        fixture.advance(seconds: 4)
        #expect(fixture.running == ["h: written:a"])
        fixture.path("p", .written, "/w/b")
        fixture.advance(seconds: 9)
        #expect(fixture.running == ["h: written:a"])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:a", "h: written:bx2"])
    }

    @Test func whatComesWhileItStandsInLineSettlesForItself() {
        let fixture = fixture(queue: .serial("q"))
        fixture.suspend("q")
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 10)
        #expect(fixture.engine.operation(1)?.waitReason == .suspended)
        fixture.path("p", .written, "/w/.a.swp", isNew: true)
        fixture.resume("q")
        #expect(fixture.running == ["h: written:a"])
        fixture.path("p", .deleted, "/w/.a.swp")
        fixture.endFirst()
        fixture.advance(seconds: 60)
        #expect(fixture.story == ["h: written:a"])
    }

    @Test func whatComesWhileItRunsSettlesForItselfBehindIt() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 10)
        fixture.path("p", .written, "/w/b")
        fixture.advance(seconds: 30)
        #expect(fixture.running == ["h: written:a"])
        fixture.endFirst()
        #expect(fixture.running == ["h: written:b"])
    }

    @Test func theLaterOfDelayAndQuietCounts() {
        let fixture = fixture { $0.constraints.delay = .seconds(25) }
        fixture.path("p", .written, "/w/a")
        #expect(fixture.engine.operation(1)?.waitReason == .delay)
        fixture.advance(seconds: 20)
        fixture.path("p", .written, "/w/a")
        #expect(fixture.engine.operation(1)?.waitReason == .settle)
        fixture.advance(seconds: 9)
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:ax2"])
    }

    @Test func theTimeForItsStartBeginsWhenItIsQuiet() {
        let fixture = fixture { $0.constraints.startTimeout = .seconds(5) }
        fixture.suspend("q")
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 9)
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 14)
        #expect(fixture.results == [])
        fixture.advance(seconds: 1)
        #expect(fixture.results == ["h failed"])
    }

    @Test func aRunByHandWaitsForNothing() {
        let fixture = fixture()
        fixture.command(.run(.init(name: "p", paths: [Array("/w/a".utf8), Array("/w/b".utf8)])))
        #expect(fixture.running == ["h: written:a written:b"])
    }

    @Test func theWallClockDoesNotMoveIt() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.stepWallClock(seconds: 3600)
        fixture.machineSleeps(seconds: 60)
        #expect(fixture.running == [])
        fixture.stepWallClock(seconds: -7200)
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: written:a"])
    }

    // MARK: Net effect

    @Test(arguments: [KeyRule.handler, .perPath])
    func whatAnEditorTakesAwayAgainIsNeverTold(key: KeyRule) {
        let fixture = fixture(key: key)
        fixture.path("p", .written, "/w/.f.swp", isNew: true)
        fixture.advance(seconds: 5)
        fixture.path("p", .written, "/w/f")
        fixture.path("p", .deleted, "/w/.f.swp")
        fixture.advance(seconds: 60)
        #expect(fixture.running == ["h: written:f"])
        #expect(counters(fixture)?[.annulled] == 2)
    }

    @Test func aRenameJoinsTheTwoKeysAndTheyAreQuietTogether() {
        let fixture = fixture(key: .perPath, events: .changed)
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 4)
        fixture.path("p", .written, "/w/b")
        fixture.advance(seconds: 4)
        fixture.path("p", .renamed, "/w/b", from: "/w/a", replaced: true)
        fixture.advance(seconds: 9)
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: renamed:a>b!x3"])
    }

    // MARK: What is seen of it

    @Test func itSaysHowLongItWaits() throws {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 7.5)
        func waiting() -> String? {
            fixture.send(.clock)
            return fixture.engine.operation(1)?.waitingFor
        }
        #expect(waiting() == "SettleSec=, 2.5s more, at most 53s")
        fixture.path("p", .written, "/w/a")
        #expect(waiting() == "SettleSec=, 10s more, at most 53s")
        for _ in 0..<5 {
            fixture.advance(seconds: 9)
            fixture.path("p", .written, "/w/a")
        }
        #expect(waiting() == "MaxSettleSec=, 7.5s more")
        let step = try #require(fixture.engine.explain(operation: 1)?.last)
        #expect(step.code == .settle && step.section == "path/p")
        #expect(fixture.engine.queueViews.first { $0.definition.name == "q" }?.waiting == 1)
    }

    // MARK: Reload and stop

    @Test func itSurvivesAReload() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 5)
        fixture.reload(configuration(SettleRule(quiet: .seconds(2))))
        fixture.advance(seconds: 4)
        #expect(fixture.running == [])
        fixture.path("p", .written, "/w/b")
        fixture.advance(seconds: 1.999_999)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.running == ["h: written:a written:b"])
    }

    @Test func whatSettlesWhenTheKeyGoesIsToldInItsTime() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.reload(configuration(nil))
        #expect(fixture.running == [])
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: written:a"])
        fixture.endFirst()
        fixture.path("p", .written, "/w/a")
        #expect(fixture.running == ["h: written:a"])
    }

    @Test func aStopTreatsItAsPending() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.send(.drain)
        #expect(fixture.results == ["h cancelled"])
        #expect(fixture.drained == [])
    }

    @Test func itCanBeCancelled() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        fixture.cancel(1)
        fixture.advance(seconds: 60)
        #expect(fixture.results == ["h cancelled"] && fixture.running == [])
    }

    // MARK: Durable queues

    private func restarted(_ fixture: EngineFixture, _ configuration: Configuration, step: Int64 = 0) -> EngineFixture {
        var now = fixture.now
        now.realtime += (3600 + step) * 1_000_000
        (now.boottime, now.monotonic) = (5_000_000, 5_000_000)
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        return EngineFixture(configuration, at: now, restoring: state)
    }

    @Test(arguments: [false, true], [0, -86400]) func aDurableQueueKeepsWhatIsLeft(isKilled: Bool, step: Int64) {
        let configuration = configuration(queue: QueueDefinition(name: "q", isDurable: true))
        let fixture = EngineFixture(configuration)
        fixture.path("p", .written, "/w/a")
        fixture.advance(seconds: 7)
        fixture.path("p", .written, "/w/b")
        if !isKilled {
            fixture.advance(seconds: 4)
            fixture.send(.drain)
        }
        let again = restarted(fixture, configuration, step: step)
        #expect(again.engine.operation(1)?.waitReason == .settle)
        again.advance(seconds: isKilled ? 9 : 5)
        #expect(again.running == [])
        again.advance(seconds: 1)
        #expect(again.running == ["h: written:a written:b"])
    }

    @Test func theBoundIsKeptToo() {
        let configuration = configuration(queue: QueueDefinition(name: "q", isDurable: true))
        let fixture = EngineFixture(configuration)
        for _ in 0..<6 {
            fixture.path("p", .written, "/w/a")
            fixture.advance(seconds: 9)
        }
        fixture.send(.drain)
        let again = restarted(fixture, configuration)
        // 54 s of 60 are over.
        again.advance(seconds: 0.5)
        again.path("p", .written, "/w/a")
        again.advance(seconds: 5.4)
        #expect(again.running == [])
        again.advance(seconds: 0.1)
        #expect(again.running == ["h: written:ax7"])
    }

    @Test func withoutItsKeyInTheFileWhatWasKeptIsSubmittedAtOnce() {
        let queue = QueueDefinition(name: "q", isDurable: true)
        let fixture = EngineFixture(configuration(queue: queue))
        fixture.path("p", .written, "/w/a")
        fixture.send(.drain)
        let again = restarted(fixture, configuration(nil, queue: queue))
        #expect(again.running == ["h: written:a"])
    }

    // MARK: Cost

    /// A thousand events of one key make one deadline each time it is passed, not one each.
    @Test func manyEventsMakeFewWakeUps() {
        let fixture = fixture()
        for _ in 0..<1000 {
            fixture.path("p", .written, "/w/a")
            fixture.advance(seconds: 0.01)
        }
        fixture.advance(seconds: 60)
        #expect(fixture.running == ["h: written:ax1000"])
        #expect(fixture.wakeUps <= 4, "\(fixture.wakeUps)")
    }
}
