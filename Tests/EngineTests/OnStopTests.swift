import Schedule
import Testing
import WatchFile

@testable import Engine

/// `OnStop=`: what becomes of runs that a stop ends, and of what follows from their ends.
@Suite("OnStop=") struct OnStopTests {
    private static func configuration(
        _ policy: StopPolicy?, isDurable: Bool = false, edit: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        .of(
            queues: [QueueDefinition(name: "jobs", isDurable: isDurable), .serial("plain")],
            handlers: [
                .exec("job") {
                    $0.onStop = policy
                    edit(&$0)
                }, .exec("mail"), .exec("always"),
            ],
            sources: [.custom("job", to: "job", on: "jobs")])
    }

    private func restarted(_ fixture: EngineFixture, _ configuration: Configuration) -> EngineFixture {
        let runsGoOn = !fixture.leftBesideStop.isEmpty
        return EngineFixture(
            configuration, restoring: DurableTests.state(fixture.writes, ended: fixture.ended, runsGoOn: runsGoOn))
    }

    /// A run that the stop has to end.
    private func stopped(_ configuration: Configuration) -> EngineFixture {
        let fixture = EngineFixture(configuration)
        fixture.emit("job", 7)
        fixture.spawn(fixture.starts[0].run)
        fixture.send(.drain)
        fixture.send(.hurry)
        endAll(fixture, .signaled(15))
        #expect(fixture.drained == [])
        return fixture
    }

    private func endAll(_ fixture: EngineFixture, _ exit: Exit) {
        while let run = fixture.runs.first { fixture.end(run, exit) }
    }

    private func names(_ fixture: EngineFixture) -> [String] { fixture.starts.map(\.definition.value.name) }

    @Test func aRunThatAStopEndsHasFailedAndIsTold() throws {
        let configuration = Self.configuration(nil) {
            $0.completions.failure = ["mail"]
            $0.completions.finished = ["always"]
            $0.completions.success = ["job"]
        }
        let fixture = stopped(configuration)
        let end = try #require(fixture.ended.first)
        #expect((end.handler, end.result, end.state) == ("job", .stopped, .finished))
        #expect(end.reason == "ended because watchd stopped")
        #expect(end.exit == .signaled(15))
        #expect(fixture.engine.totals[.failed] == 1)
        let next = restarted(fixture, configuration)
        #expect(Set(names(next)) == ["mail", "always"], "the queue of neither is durable")
        guard case .completion(let fact) = next.starts.first?.events.first?.fact else {
            Issue.record("\(next.starts)")
            return
        }
        #expect((fact.result, fact.exit) == (.stopped, .signaled(15)))
        next.endAll()
        #expect(next.ended.map(\.result) == [.done, .done])
    }

    @Test(arguments: [true, false]) func againRunsAgainWithTheSameEvents(_ isDurable: Bool) {
        let configuration = Self.configuration(isDurable ? nil : .again, isDurable: isDurable)
        let fixture = stopped(configuration)
        #expect(fixture.ended.isEmpty)
        let next = restarted(fixture, configuration)
        #expect(names(next) == ["job"])
        #expect(next.starts[0].isRedelivered)
        #expect(next.starts[0].events.map(\.fact) == fixture.starts[0].events.map(\.fact))
        next.endAll()
        #expect(next.ended.map(\.result) == [.done])
        #expect(restarted(next, configuration).starts.isEmpty, "once")
    }

    @Test func failCountsMoreThanADurableQueue() {
        let configuration = Self.configuration(.fail, isDurable: true)
        let fixture = stopped(configuration)
        #expect(fixture.ended.map(\.result) == [.stopped])
        #expect(restarted(fixture, configuration).starts.isEmpty)
    }

    @Test(arguments: StopPolicy.allCases) func aCancelIsACancel(_ policy: StopPolicy) {
        let configuration = Self.configuration(policy)
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        fixture.spawn(fixture.starts[0].run)
        fixture.cancel(1)
        fixture.send(.drain)
        endAll(fixture, .signaled(15))
        #expect(fixture.ended.map(\.result) == [.cancelled])
        #expect(fixture.drained == [])
    }

    @Test(arguments: StopPolicy.allCases) func aRunThatEndsByItselfDuringTheStopHasItsOwnResult(_ policy: StopPolicy) {
        let configuration = Self.configuration(policy) { $0.completions.success = ["mail"] }
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        fixture.send(.drain)
        fixture.spawn(fixture.starts[0].run)
        if policy != .leave { fixture.endAll() }
        #expect(fixture.drained == [])
        #expect(fixture.ended.map(\.result) == (policy == .leave ? [] : [.done]))
        #expect(names(restarted(fixture, configuration)) == (policy == .leave ? [] : ["mail"]))
    }

    @Test func leaveLetsTheRunGoOnAndTheNextWatchdAdoptsIt() {
        let configuration = Self.configuration(.leave)
        let fixture = EngineFixture(configuration)
        fixture.emit("job", 7)
        fixture.send(.drain)
        #expect(fixture.drained == nil, "its process has no number yet")
        fixture.spawn(fixture.starts[0].run)
        #expect(fixture.drained == [])
        #expect(fixture.leftBesideStop.map(\.run) == [fixture.starts[0].run])
        #expect(fixture.signals.isEmpty && fixture.ended.isEmpty)
        let next = restarted(fixture, configuration)
        #expect(next.starts.isEmpty)
        #expect(next.adopted.map(\.run) == [fixture.starts[0].run])
        next.endAll()
        #expect(next.ended.map(\.result) == [.done])
    }

    @Test(arguments: [false, true], [false, true])
    func aRunThatNobodyCanEndIsWaitedForAndLeft(isDurable: Bool, isLate: Bool) {
        let configuration = Self.configuration(.fail, isDurable: isDurable) {
            $0.killMode = .none
            $0.timeout = .seconds(5)
        }
        let fixture = EngineFixture(configuration)
        fixture.emit("job", 7)
        fixture.spawn(fixture.starts[0].run)
        if isLate { fixture.advance(seconds: 6) }
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        fixture.send(.hurry)
        #expect(fixture.drained == [] && fixture.leftBesideStop.map(\.run) == [fixture.starts[0].run])
        // The rim sends none with that mode.
        #expect(fixture.signals.allSatisfy { $0.hasSuffix(" none") } && fixture.ended.isEmpty)
        let next = restarted(fixture, configuration)
        #expect(next.starts.isEmpty && next.adopted.map(\.run) == [fixture.starts[0].run])
    }

    /// Nobody but this watchd has what it asks for done.
    @Test(arguments: [false, true]) func aRunThatAsksAConditionIsWaitedFor(isDurable: Bool) {
        let configuration = Self.configuration(.leave, isDurable: isDurable)
        let fixture = EngineFixture(configuration)
        fixture.emit("job", 7)
        let run = fixture.starts[0].run
        fixture.send(.runStarted(run, pid: 70, asks: true))
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        fixture.send(.runStarted(run, pid: 71))
        #expect(fixture.drained == [] && fixture.leftBesideStop.map(\.pid) == [71])
        #expect(restarted(fixture, configuration).adopted.map(\.pid) == [71])
    }

    @Test func aConditionThatTakesTooLongIsEndedAndADurableOperationRunsAgain() {
        for isDurable in [false, true] {
            let configuration = Self.configuration(.leave, isDurable: isDurable)
            let fixture = EngineFixture(configuration)
            fixture.emit("job", 7)
            fixture.send(.runStarted(fixture.starts[0].run, pid: 70, asks: true))
            fixture.send(.drain)
            fixture.send(.hurry)
            endAll(fixture, .signaled(15))
            #expect(fixture.drained == [] && fixture.leftBesideStop.isEmpty)
            #expect(fixture.ended.map(\.result) == (isDurable ? [] : [.stopped]))
            #expect(names(restarted(fixture, configuration)) == (isDurable ? ["job"] : []))
        }
    }

    @Test func aRunThatIsBeingEndedIsNotLeft() {
        let fixture = EngineFixture(Self.configuration(.leave) { $0.timeout = .seconds(1) })
        fixture.emit("job")
        fixture.spawn(fixture.starts[0].run)
        fixture.advance(seconds: 2)
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        endAll(fixture, .signaled(15))
        #expect(fixture.drained == [])
        #expect(fixture.leftBesideStop.isEmpty)
        #expect(fixture.ended.map(\.result) == [.failed])
    }

    @Test(arguments: StopPolicy.allCases) func anAttemptThatWasToComeIsNotForgotten(_ policy: StopPolicy) {
        let configuration = Self.configuration(policy) {
            $0.retry.limit = 3
            $0.retry.delay = .seconds(60)
        }
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        endAll(fixture, .exited(1))
        fixture.send(.drain)
        #expect(fixture.drained == [])
        #expect(fixture.ended.map(\.result) == (policy == .again ? [] : [.stopped]))
        let next = restarted(fixture, configuration)
        next.advance(seconds: 120)
        #expect(next.starts.map(\.run.attempt) == (policy == .again ? [2] : []))
    }

    /// Another run holds the stop up meanwhile.
    @Test(arguments: StopPolicy.allCases) func anAttemptThatFailsDuringTheStopIsTriedAgainBehindIt(
        _ policy: StopPolicy
    ) {
        let configuration = Configuration.of(
            queues: [.serial("jobs"), .serial("plain")],
            handlers: [
                .exec("job") { ($0.onStop, $0.retry.limit, $0.retry.delay) = (policy, 1, .seconds(60)) },
                .exec("mail"),
            ],
            sources: [.custom("job", to: "job", on: "jobs"), .custom("mail", to: "mail", on: "plain")])
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        fixture.emit("mail")
        for start in fixture.starts { fixture.spawn(start.run) }
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        fixture.end(fixture.starts[0].run, .exited(3))
        fixture.endAll()
        #expect(fixture.drained == [])
        let job = fixture.ended.first { $0.handler == "job" }
        #expect(job?.result == (policy == .fail ? .failed : nil))
        #expect(job?.reason == (policy == .fail ? "watchd stopped before it was tried again" : nil))
        let next = restarted(fixture, configuration)
        next.advance(seconds: 120)
        #expect(next.starts.map(\.run.attempt) == (policy == .fail ? [] : [2]))
    }

    @Test func whatNeverStartedIsCancelledWhichIsAnEndToo() {
        let configuration = Self.configuration(.again) { $0.completions.finished = ["always"] }
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        fixture.emit("job")
        fixture.send(.drain)
        #expect(fixture.ended.map(\.result) == [.cancelled])
        fixture.endAll()
        let next = restarted(fixture, configuration)
        next.endAll()
        let told = next.starts.flatMap(\.events).map { event -> Result? in
            if case .completion(let fact) = event.fact { fact.result } else { nil }
        }
        #expect(Set(told) == [.cancelled, .done])
    }

    /// A group that a stop makes empty tells it after the next start, as one that a crash makes empty does.
    @Test(arguments: [true, false]) func aGroupThatAStopMakesEmptyIsTold(endsByItself: Bool) throws {
        let configuration = Configuration.of(
            queues: [.serial("jobs")], handlers: [.exec("job"), .exec("all")],
            sources: [.custom("job", to: "job", on: "jobs"), .group("g", of: "job", to: "all", on: "jobs")])
        let fixture = EngineFixture(configuration)
        fixture.emit("job")
        fixture.spawn(fixture.starts[0].run)
        fixture.send(.drain)
        if !endsByItself { fixture.send(.hurry) }
        endAll(fixture, endsByItself ? .exited(0) : .signaled(15))
        #expect(fixture.drained == [] && names(fixture) == ["job"])
        let next = restarted(fixture, configuration)
        #expect(names(next) == ["all"])
        guard case .group(let fact) = try #require(next.starts.first?.events.first).fact else {
            Issue.record("\(next.starts)")
            return
        }
        #expect((fact.ran, fact.failed) == (1, endsByItself ? 0 : 1))
    }
}
