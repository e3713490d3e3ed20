import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Run and Emit at a time") struct PlannedCallTests {
    private static let configuration = Configuration.of(
        queues: [.serial("ser"), .serial("small", backlog: 1)],
        handlers: [.exec("h", queue: "ser"), .exec("skipping", queue: "ser", overlap: .skip)],
        sources: [.custom("c", to: "h", on: "ser")])
    private static let hour: Int64 = 3_600_000_000

    @discardableResult
    private func plan(_ fixture: EngineFixture, _ call: CommandFact.Call, hours: Int64 = 1) -> Token {
        var fact = CommandFact(
            [Array("run".utf8)], user: .credentials(UserCredentials(user: 7, group: 8, groups: [])))
        fact.call = call
        return fixture.command(.submit(.init(queue: Engine.clientQueue, fact, delay: hours * Self.hour)))
    }

    @Test func aRunIsStartedAtItsTimeAndNotBefore() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h"))
        #expect(fixture.engine.operation(1)?.waitingFor == "its time, 1h more")
        #expect(fixture.engine.operation(1)?.queue == "ser", "that of what it starts")
        fixture.advance(seconds: 3599)
        #expect(fixture.story.isEmpty)
        fixture.advance(seconds: 1)
        #expect(fixture.running.count == 1 && fixture.running[0].hasPrefix("h"), "\(fixture.running)")
        #expect(fixture.results == ["@command done"])
        #expect(fixture.ended.first.map { String(decoding: $0.output, as: UTF8.self) } == "h: operation 2\n")
        fixture.endFirst()
        #expect(fixture.results == ["@command done", "h done"])
    }

    @Test func anEventIsFiredAtItsTimeWithItsData() throws {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .emit(name: "c", CustomFact(data: 41)))
        fixture.advance(seconds: 3600)
        let start = try #require(fixture.starts.first)
        #expect(start.events.map(\.fact) == [.custom(CustomFact(data: 41))])
        #expect(fixture.results == ["@command done"])
    }

    @Test func dataOfZeroIsNoEventThen() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .emit(name: "c", CustomFact(data: 0)))
        fixture.advance(seconds: 3600)
        #expect(fixture.story.isEmpty && fixture.results == ["@command done"])
    }

    @Test func cancelledItNeverStarts() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h"))
        fixture.cancel(1)
        fixture.advance(seconds: 7200)
        #expect(fixture.story.isEmpty && fixture.results == ["@command cancelled"])
    }

    @Test func itIsListedAndCancelledWithTheQueueOfWhatItStarts() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h"))
        plan(fixture, .emit(name: "c", CustomFact(data: 1)))
        func listed(_ queue: String) -> Int {
            fixture.engine.operationViews(queue: queue, handler: nil, after: 0, limit: 9).count
        }
        #expect(listed("ser") == 2 && listed("small") == 0)
        let token = fixture.command(.cancelQueue(name: "ser"))
        guard case .cancelled(2) = fixture.reply(token) else {
            Issue.record("\(String(describing: fixture.reply(token)))")
            return
        }
        fixture.advance(seconds: 7200)
        #expect(fixture.story.isEmpty && fixture.results == ["@command cancelled", "@command cancelled"])
    }

    @Test func whatCannotBeStartedNowIsRefusedAtOnce() {
        let fixture = EngineFixture(Self.configuration)
        #expect(fixture.error(plan(fixture, .run(name: "hh"))) == .noSuchName("hh", nearest: nil))
        #expect(fixture.error(plan(fixture, .emit(name: "h", CustomFact(data: 1)))) == .notCustom("h"))
        #expect(fixture.engine.operationViews.isEmpty)
        fixture.send(.store(.failing("disk full")))
        #expect(fixture.error(plan(fixture, .run(name: "h"))) == .storeFailing("disk full"))
    }

    @Test func whatHasGoneMeanwhileIsAFailureWithASentence() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h"))
        plan(fixture, .emit(name: "c", CustomFact(data: 1)))
        var changed = Self.configuration
        changed.handlers = []
        changed.sources = []
        fixture.reload(changed)
        fixture.advance(seconds: 3600)
        #expect(fixture.results == ["@command failed", "@command failed"])
        #expect(
            fixture.ended.map(\.reason).allSatisfy {
                $0?.contains("not there") == true || $0?.contains("any more") == true
            })
    }

    @Test func thePoliciesAreThoseOfItsTime() {
        let fixture = EngineFixture(Self.configuration)
        fixture.run("skipping")
        plan(fixture, .run(name: "skipping"))
        plan(fixture, .run(name: "skipping"), hours: 2)
        fixture.advance(seconds: 3600)
        #expect(fixture.results == ["@command failed"])
        #expect(fixture.ended.first?.reason?.hasPrefix("nothing was started: skipped, Overlap=skip") == true)
        fixture.endFirst()
        fixture.advance(seconds: 3600)
        #expect(fixture.running.count == 1 && fixture.results.last == "@command done")
    }

    @Test func nothingHoldsItsTimeBackAndNoBoundRefusesIt() {
        let fixture = EngineFixture(
            Configuration.of(
                queues: [.serial("small", backlog: 1)], handlers: [.exec("h", queue: "small")],
                sources: [.custom("c", to: "h", on: "small")]))
        fixture.suspend("small")
        fixture.emit("c")
        plan(fixture, .run(name: "h"))
        fixture.advance(seconds: 3600)
        #expect(fixture.results == ["@command done"])
        #expect(fixture.operations("h").count == 2)
    }

    @Test func itSurvivesACrashWithItsTime() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h", paths: [Array("/a".utf8)]))
        plan(fixture, .emit(name: "c", CustomFact(data: 5)), hours: 2)
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        #expect(state.operations.map(\.id).sorted() == [1, 2])
        let again = EngineFixture(Self.configuration, restoring: state)
        again.advance(seconds: 3599)
        #expect(again.story.isEmpty)
        again.advance(seconds: 1)
        #expect(again.starts.first?.events.first?.fact.words == [Array("/a".utf8)])
        again.endFirst()
        again.advance(seconds: 3600)
        #expect(again.starts.count == 2 && again.starts.last?.events.first?.fact == .custom(CustomFact(data: 5)))
    }

    @Test func aTimeThatPassedWhileWatchdWasDownIsDoneAtTheStart() {
        let fixture = EngineFixture(Self.configuration)
        plan(fixture, .run(name: "h"))
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        var later = EngineFixture.boot
        later.realtime += 5 * Self.hour
        let again = EngineFixture(Self.configuration, at: later, restoring: state)
        #expect(again.running.count == 1 && again.results == ["@command done"])
    }
}
