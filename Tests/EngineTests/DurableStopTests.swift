import Schedule
import Testing
import WatchFile

@testable import Engine

/// Where a stop, a failing store or another watch file meets durable work.
@Suite("Durable queues, at the edges") struct DurableStopTests {
    private func restarted(_ fixture: EngineFixture, _ configuration: Configuration) -> EngineFixture {
        EngineFixture(configuration, restoring: DurableTests.state(fixture.writes, ended: fixture.ended))
    }

    /// The end of the system cancels jobs beside watchd's own end; a unit that fails at any other time has failed.
    @Test(arguments: [true, false]) func aDurableJobThatFailsWhileWatchdStopsRunsAgain(isDurable: Bool) {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "q", isDurable: isDurable)],
            handlers: [.exec("h") { $0.action = .unit(UnitAction(units: [Template(literal: "a.service")])) }],
            sources: [.custom("c", to: "h", on: "q")])
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        fixture.endFirst(nil, reason: "its job was cancelled")
        #expect(fixture.results == (isDurable ? [] : ["h failed"]))
        let again = restarted(fixture, configuration)
        #expect(again.starts.count == (isDurable ? 1 : 0))
    }

    @Test func aSignalReachesWhatRunsThoughTheStoreFails() {
        let fixture = EngineFixture(DurableTests.configuration())
        fixture.emit("c")
        fixture.spawn(fixture.starts[0].run)
        fixture.send(.store(.failing("no space left")))
        let before = fixture.actions.count
        fixture.cancel(1)
        let isSent = fixture.actions[before...].contains { if case .signal = $0 { true } else { false } }
        #expect(isSent, "it must not wait for a commit that may never come")
    }

    @Test func aRunThatCouldNotBeStartedIsLeftToTheNextStart() {
        let configuration = DurableTests.configuration()
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.send(.drain)
        fixture.send(.runGivenUp(fixture.starts[0].run, reason: "no descriptor is free"))
        #expect(fixture.drained == [])
        #expect(restarted(fixture, configuration).starts.map(\.definition.value.name) == ["c"])
    }

    @Test func aQueueThatKeepsSomethingIsNotEmptyWhenWatchdStops() {
        let fixture = EngineFixture(DurableTests.configuration())
        fixture.emit("c")
        fixture.emit("c")
        let queue = fixture.engine.operation(1)?.queue ?? ""
        let token = fixture.wait(.named("queue/\(queue)"))
        fixture.send(.drain)
        #expect(fixture.error(token) == .draining)
        fixture.endAll()
    }

    @Test func whatEndsDuringAStopMakesDurableWorkForTheNextStart() {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", isDurable: true), .serial("plain")],
            handlers: [
                .exec("n") { $0.completions.finished = ["c"] }, .exec("c", queue: "kept"),
            ],
            sources: [.custom("n", to: "n", on: "plain")])
        let fixture = EngineFixture(configuration)
        fixture.emit("n")
        fixture.send(.drain)
        fixture.endAll()
        #expect(fixture.starts.map(\.definition.value.name) == ["n"])
        #expect(fixture.drained == [])
        let again = restarted(fixture, configuration)
        #expect(again.starts.map(\.definition.value.name) == ["c"])
    }

    @Test func aStoreThatFailsDuringAStopDoesNotHoldItUp() {
        let fixture = EngineFixture(DurableTests.configuration())
        fixture.emit("c")
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        fixture.send(.store(.failing("no space left")))
        #expect(fixture.drained == [])
        let late = fixture.starts[0].run
        fixture.spawn(late)
        let isKilled = fixture.actions.contains { if case .signal(late, 9, .tree) = $0 { true } else { false } }
        #expect(isKilled, "what was being spawned then has no place any more")
    }

    @Test func aRestartOvertakenByAStopLosesNothing() {
        let configuration = DurableTests.configuration { $0.overlap = .restart }
        let fixture = EngineFixture(configuration)
        fixture.emit("c", payload: "1")
        fixture.spawn(fixture.starts[0].run)
        fixture.emit("c", payload: "2")
        fixture.send(.drain)
        fixture.endFirst(.signaled(15))
        #expect(fixture.drained == [])
        let again = restarted(fixture, configuration)
        again.endAll()
        let payloads = again.starts.flatMap(\.events).compactMap(\.payloadNumber)
        #expect(Set(payloads) == [1, 2])
    }

    /// An operation of as many parts as payloads, in a queue that runs two of them beside each other.
    private func inParts(_ payloads: ClosedRange<Int>) -> (EngineFixture, Configuration) {
        var configuration = DurableTests.configuration {
            $0.stride = 1
            $0.retry = RetryPolicy(limit: 3, delay: .seconds(10))
        }
        let wide = QueueDefinition.concurrent("kept", width: 2).with { $0.isDurable = true }
        configuration.queues = configuration.queues.map { $0.name == "kept" ? wide : $0 }
        let fixture = EngineFixture(configuration)
        fixture.suspend("queue/kept")
        for payload in payloads { fixture.emit("c", payload: "\(payload)") }
        fixture.resume("queue/kept")
        return (fixture, configuration)
    }

    private func payloads(_ fixture: EngineFixture) -> [Int] {
        fixture.starts.flatMap(\.events).compactMap(\.payloadNumber)
    }

    @Test(arguments: [true, false]) func partsThatWereDoneDoNotRunAgainAfterARestartBetweenTwoAttempts(stops: Bool) {
        let (fixture, configuration) = inParts(1...2)
        fixture.endFirst()
        fixture.endFirst(.exited(1))
        if stops { fixture.send(.drain) }
        let again = restarted(fixture, configuration)
        again.advance(seconds: 20)
        again.endAll()
        #expect(payloads(again) == [2] && again.starts.allSatisfy { !$0.isRedelivered })
        #expect(again.results == ["c done"])
    }

    @Test func aStopInTheMiddleLeavesTheOtherPartsToTheNextStart() {
        let (fixture, configuration) = inParts(1...4)
        fixture.send(.drain)
        fixture.endFirst()
        fixture.endFirst()
        #expect(payloads(fixture) == [1, 2])
        let again = restarted(fixture, configuration)
        while !again.runs.isEmpty { again.endAll() }
        #expect(payloads(again) == [3, 4])
        #expect(again.results == ["c done"])
    }

    @Test func aKillInTheMiddleRepeatsOnlyWhatHadNotEnded() {
        let (fixture, configuration) = inParts(1...4)
        fixture.endFirst()
        #expect(payloads(fixture) == [1, 2, 3])
        let again = restarted(fixture, configuration)
        while !again.runs.isEmpty { again.endAll() }
        #expect(Set(payloads(again)) == [2, 3, 4])
        #expect(again.starts.allSatisfy { $0.isRedelivered })
    }

    @Test func whatItRequiredMayHaveEndedDuringTheStop() {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", isDurable: true)],
            handlers: [.exec("a"), .exec("b") { $0.constraints.requires = ["a"] }],
            sources: [.custom("c", to: "a", "b", on: "kept")])
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.send(.drain)
        fixture.endAll()
        #expect(fixture.results == ["a done"])
        var state = DurableTests.state(fixture.writes, ended: fixture.ended)
        // The history knows.
        state.results = [1: .done]
        let again = EngineFixture(configuration, restoring: state)
        #expect(again.starts.map(\.definition.value.name) == ["b"])
    }

    @Test func whatWasToStartWhileTheStoreFailsIsNotWaitedFor() {
        let fixture = EngineFixture(DurableTests.configuration())
        fixture.emit("c")
        fixture.send(.store(.failing("no space left")))
        fixture.send(.drain)
        #expect(fixture.drained == [])
        #expect(!fixture.engine.isStarting(fixture.starts[0].run), "its start is not performed any more")
    }

    @Test func whatASuspendedPathSourceHoldsIsRestored() {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", isDurable: true)], handlers: [.exec("h")],
            sources: [.path("p", to: "h", on: "kept")])
        let fixture = EngineFixture(configuration)
        fixture.suspend("path/p")
        fixture.path("p", .written, "/w/a")
        let again = restarted(fixture, configuration)
        again.resume("path/p")
        #expect(again.starts.count == 1)
    }

    @Test func anOrphansPlaceIsNoOneElses() {
        // A barrier that comes back stands behind what came meanwhile.
        let full = Configuration.of(
            queues: [QueueDefinition(name: "kept", kind: .concurrent(width: 4), isDurable: true)],
            handlers: [.exec("h"), .exec("b") { $0.constraints.isBarrier = true }],
            sources: [
                .custom("c", to: "h", on: "kept", coalesces: false),
                .custom("d", to: "b", on: "kept", coalesces: false),
            ])
        let fixture = EngineFixture(full)
        fixture.suspend("queue/kept")
        for _ in 0..<2 { fixture.emit("d") }
        var without = full
        without.handlers.removeAll { $0.name == "b" }
        without.sources.removeAll { $0.id.name == "d" }
        let again = restarted(fixture, without)
        for _ in 0..<3 { again.emit("c", payload: "1") }
        again.reload(full)
        again.resume("queue/kept")
        again.endAll()
        let barriers = again.starts.filter { $0.definition.value.name == "b" }
        #expect(barriers.count == 2)
        #expect(again.engine.operationViews.isEmpty)
    }
}
