import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Stop")
struct DrainTests {
    private func fixture(drain: TimeSpan = .seconds(60), _ change: (inout HandlerDefinition) -> Void = { _ in })
        -> EngineFixture
    {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(drain: drain), queues: [.serial("q")],
                handlers: [.exec("h", queue: "q", change), .exec("g"), .exec("after")],
                sources: [
                    .fifo("f", to: "h", on: "q"), .path("p", to: "g", isSuspended: true), .custom("x", to: "g"),
                    .timer("t", to: "g", every: .seconds(1), key: .none),
                ]))
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.path("p", .written, "/w/a")
        return fixture
    }

    @Test func whatWaitsIsCancelledAndWhatRunsMayEnd() {
        let fixture = fixture { $0.completions.finished = ["after"] }
        fixture.send(.drain)
        #expect(fixture.engine.phase == .draining && fixture.open.isEmpty)
        #expect(fixture.results == ["h cancelled"])
        #expect(fixture.counters(source: "path/p")?[.cancelled] == 1)
        #expect(fixture.drained == nil && fixture.signals.isEmpty)
        fixture.advance(seconds: 30)
        fixture.endFirst()
        #expect(fixture.drained == [] && fixture.results == ["h cancelled", "h done"])
        #expect(fixture.starts.count == 1 && fixture.engine.phase == .drained)
    }

    @Test func aRunThatCouldNotBeStartedIsNotWaitedFor() {
        let fixture = fixture { $0.retry.limit = 5 }
        fixture.send(.drain)
        fixture.send(.runGivenUp(fixture.starts[0].run, reason: "no descriptor is free"))
        #expect(fixture.drained == [])
        #expect(fixture.results == ["h cancelled", "h stopped"])
        #expect(fixture.engine.processesRunning == 0)
    }

    @Test func withNothingRunningItIsOverAtOnce() {
        let fixture = EngineFixture(.of())
        fixture.send(.drain)
        #expect(fixture.drained == [])
    }

    @Test func whatStillComesIsCancelledAndCommandsAreRefused() {
        let fixture = fixture()
        fixture.send(.drain)
        fixture.path("p", .written, "/w/b")
        #expect(fixture.counters(source: "path/p")?[.cancelled] == 2)
        let tokens = [
            fixture.emit("x"), fixture.command(.run(Engine.Command.RunCommand(name: "g"))), fixture.reload(.of()),
        ]
        for token in tokens {
            guard case .failure(.draining) = fixture.reply(token) else {
                Issue.record("not refused")
                continue
            }
        }
    }

    @Test func whoWaitsIsAnswered() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1)], handlers: [.exec("h", queue: "q"), .exec("m", queue: "main")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
        for _ in 0..<2 { fixture.emit("x") }
        let emit = fixture.emit("x")
        let run = fixture.command(.run(Engine.Command.RunCommand(name: "m", waits: true)))
        let reload = fixture.reload(.of())
        fixture.send(.drain)
        for token in [emit, reload] {
            guard case .failure(.draining) = fixture.reply(token) else {
                Issue.record("not answered")
                continue
            }
        }
        #expect(fixture.reply(run) == nil)
        fixture.end(fixture.runs[1])
        guard case .ran = fixture.reply(run) else {
            Issue.record("not answered")
            return
        }
    }

    @Test func afterItsTimeWhatRunsIsTerminatedThenKilledThenLeft() {
        let fixture = fixture(drain: .seconds(5)) { $0.timeoutStop = .seconds(3) }
        let token = fixture.command(.run(Engine.Command.RunCommand(name: "g", waits: true)))
        for run in fixture.runs { fixture.spawn(run) }
        fixture.send(.drain)
        fixture.advance(seconds: 4.9)
        #expect(fixture.signals.isEmpty)
        fixture.advance(seconds: 0.1)
        #expect(fixture.signals == ["1 SIGTERM tree", "3 SIGTERM tree"])
        fixture.advance(seconds: 3)
        #expect(fixture.signals.last == "1 SIGKILL tree")
        fixture.advance(seconds: 8)
        #expect(fixture.signals.last == "3 SIGKILL tree" && fixture.drained == nil)
        fixture.advance(seconds: 5)
        #expect(fixture.drained == [1, 3] && fixture.signals.count == 4)
        guard case .failure(.draining) = fixture.reply(token) else {
            Issue.record("not answered")
            return
        }
        fixture.endAll()
        #expect(fixture.engine.totals[.running] == 0)
    }

    @Test func aSecondAndAThirdCallHurryIt() {
        let fixture = fixture()
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        fixture.send(.hurry)
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.send(.drain)
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"])
        fixture.endFirst(.signaled(9))
        #expect(fixture.drained == [] && fixture.results.last == "h stopped")
    }

    @Test func hurryAloneDoesNothing() {
        let fixture = fixture()
        fixture.send(.hurry)
        #expect(fixture.engine.phase == .running)
    }

    @Test func withoutABoundItWaitsForHurry() {
        let fixture = fixture(drain: .infinity) { $0.timeoutStop = .infinity }
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        fixture.advance(seconds: 100_000)
        #expect(fixture.signals.isEmpty && fixture.drained == nil)
        fixture.send(.hurry)
        fixture.advance(seconds: 100_000)
        #expect(fixture.signals == ["1 SIGTERM tree"] && fixture.drained == nil)
        fixture.send(.hurry)
        fixture.advance(seconds: 5)
        #expect(fixture.drained == [1])
    }

    @Test func aRunStillOnItsWayIsKilled() {
        let fixture = fixture(drain: .zero)
        fixture.send(.drain)
        fixture.send(.hurry)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"])
    }
}
