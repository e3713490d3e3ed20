import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("LateSec= and SlowSec=")
struct OverdueTests {
    /// `busy` takes the one place of `q`; `h` is late after 10 s and slow after 20 s.
    private func configuration(
        durable isDurable: Bool = false, _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        var queue = QueueDefinition.serial("q")
        queue.isDurable = isDurable
        return .of(
            queues: [queue],
            handlers: [
                .exec("h") {
                    ($0.patience.late, $0.patience.slow) = (.seconds(10), .seconds(20))
                    ($0.completions.late, $0.completions.slow) = (["late"], ["slow"])
                    change(&$0)
                }, .exec("busy"), .exec("late"), .exec("slow"),
            ],
            sources: [.fifo("f", to: "h", on: "q"), .fifo("busy", to: "busy", on: "q")])
    }

    private func views(_ fixture: EngineFixture) -> [String] {
        fixture.engine.overdueViews(10).map { view in
            "\(view.handler) \(view.operation) \(view.isSlow ? "slow" : "late") \(view.span) \(view.others)"
        }
    }

    private func facts(_ fixture: EngineFixture, _ handler: String) -> [CompletionFact] {
        fixture.starts.filter { $0.definition.value.name == handler }.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact { fact } else { nil }
        }
    }

    @Test func whatHasNotStartedInTimeIsToldOnceAndSeenUntilItStarts() {
        let fixture = EngineFixture(configuration())
        fixture.line("busy", "1")
        fixture.line("f", "1")
        fixture.advance(seconds: 9.999)
        #expect(views(fixture) == [] && fixture.overdue == [])
        fixture.advance(seconds: 0.001)
        #expect(views(fixture) == ["h 2 late 10s 0"])
        #expect(fixture.overdue.count == 1 && fixture.overdue[0].hasPrefix("2 not started 10s after its event: waits"))
        fixture.advance(seconds: 100)
        #expect(fixture.story == ["busy: line:1", "late: late(2)"])
        let fact = facts(fixture, "late").first
        #expect(fact?.result == nil && fact?.exit == nil && fact?.ending == "late" && fact?.operation == 2)
        #expect(fact?.reason?.hasPrefix("not started 10s after its event") == true)
        fixture.end("busy")
        #expect(views(fixture) == [] && fixture.running.contains("h: line:1"))
    }

    /// Processes are used up: no time passes for the run until it has one.
    @Test(arguments: [false, true]) func aRunWithoutAProcessWaits(durable isDurable: Bool) {
        let fixture = EngineFixture(configuration(durable: isDurable) { $0.timeout = .seconds(30) })
        fixture.line("f", "1")
        fixture.send(.runDelayed(fixture.runs[0], reason: "clone: EAGAIN"))
        fixture.advance(seconds: 100)
        #expect(views(fixture) == [] && fixture.signals.isEmpty)
        let waiting = fixture.engine.operation(1)
        #expect(waiting?.state == .ready && waiting?.started == nil)
        #expect(waiting?.waitReason == .processSlot && waiting?.waitingFor == "a process: clone: EAGAIN")
        #expect(fixture.counters(handler: "h")?[.running] == 0 && fixture.counters(handler: "h")?[.pending] == 1)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.engine.operation(1)?.started == fixture.now.realtime)
        fixture.advance(seconds: 20)
        #expect(views(fixture) == ["h 1 slow 20s 0"])
        fixture.advance(seconds: 10)
        #expect(fixture.signals.count == 1)
    }

    /// Of an operation in parts, one runs and another has no process.
    @Test func aPartThatRunsIsSlowThoughAnotherWaits() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 4)],
                handlers: [
                    .exec("h") {
                        $0.patience.slow = .seconds(20)
                        $0.stride = 1
                        $0.constraints.delay = .seconds(1)
                    }
                ], sources: [.path("p", to: "h", on: "q", key: .handler)]))
        for name in ["a", "b"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.advance(seconds: 1)
        #expect(fixture.runs.count == 2)
        fixture.spawn(fixture.runs[0])
        fixture.send(.runDelayed(fixture.runs[1], reason: "clone: EAGAIN"))
        #expect(fixture.engine.operation(1)?.state == .executing)
        fixture.advance(seconds: 20)
        #expect(views(fixture) == ["h 1 slow 20s 0"])
        fixture.endAll()
        #expect(fixture.results == ["h done"] && fixture.engine.overdue.delayed.isEmpty)
    }

    @Test func whatStartsInTimeOrNeverIsNotLate() {
        let fixture = EngineFixture(configuration())
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.cancel(2)
        fixture.end("h")
        fixture.advance(seconds: 100)
        #expect(fixture.overdue == [] && fixture.engine.overdue.entries.isEmpty)
    }

    @Test func theDelayDoesNotCount() {
        let fixture = EngineFixture(configuration { $0.constraints.delay = .seconds(60) })
        fixture.line("busy", "1")
        fixture.line("f", "1")
        fixture.advance(seconds: 69.999)
        #expect(fixture.overdue == [])
        fixture.advance(seconds: 0.001)
        #expect(fixture.overdue.count == 1)
    }

    @Test func whatStillRunsAfterItsTimeIsToldOnceAndSeenUntilItEnds() {
        let fixture = EngineFixture(configuration { $0.retry = RetryPolicy(limit: 1, delay: .seconds(1)) })
        fixture.line("f", "1")
        fixture.advance(seconds: 20)
        #expect(fixture.overdue == ["1 still running after 20s"] && views(fixture) == ["h 1 slow 20s 0"])
        #expect(fixture.signals == [] && fixture.running == ["h: line:1", "slow: slow(1)"])
        #expect(facts(fixture, "slow").map(\.result) == [nil])
        // The next attempt has its own time, and nobody is told again.
        fixture.end("h", .exited(1))
        #expect(views(fixture) == [])
        fixture.advance(seconds: 10)
        #expect(views(fixture) == [])
        fixture.advance(seconds: 100)
        #expect(views(fixture) == ["h 1 slow 20s 0"] && fixture.overdue.count == 1)
        fixture.end("h")
        #expect(views(fixture) == [])
    }

    @Test func manyOfOneHandlerAreOneProblem() {
        let fixture = EngineFixture(configuration())
        fixture.line("busy", "1")
        for line in 1...5 { fixture.line("f", "\(line)") }
        fixture.advance(seconds: 10)
        #expect(views(fixture) == ["h 2 late 10s 4"])
    }

    @Test func aTimerIsLateByTheTimeItWasDue() {
        var configuration = configuration()
        configuration.sources.append(.timer("t", to: "h", on: "q", onStartup: .seconds(5)))
        let fixture = EngineFixture(configuration)
        fixture.line("busy", "1")
        fixture.advance(seconds: 14.999)
        #expect(fixture.overdue == [])
        fixture.advance(seconds: 0.001)
        #expect(fixture.overdue.count == 1)
    }

    @Test func aReloadMayChangeTheTime() {
        let fixture = EngineFixture(configuration())
        fixture.line("busy", "1")
        fixture.line("f", "1")
        fixture.reload(configuration { $0.patience.late = .seconds(30) })
        fixture.advance(seconds: 29.999)
        #expect(fixture.overdue == [])
        fixture.advance(seconds: 0.001)
        #expect(views(fixture) == ["h 2 late 30s 0"])
        fixture.reload(configuration { $0.patience.late = .infinity })
        #expect(views(fixture) == [])
    }

    @Test func afterARestartItIsSeenAgainButNotToldAgain() {
        let fixture = EngineFixture(configuration(durable: true))
        fixture.line("busy", "1")
        fixture.line("f", "1")
        fixture.advance(seconds: 11)
        #expect(fixture.overdue.count == 1)
        var state = StoredState()
        for case .insert(let stored) in fixture.writes where stored.handler != "late" {
            state.operations.removeAll { $0.id == stored.id }
            state.operations.append(stored)
        }
        for case .update(let stored) in fixture.writes {
            guard let index = state.operations.firstIndex(where: { $0.id == stored.id }) else { continue }
            let events = state.operations[index].events
            state.operations[index] = stored
            state.operations[index].events = events
        }
        (state.lastEventID, state.lastOperationID) = (100, 100)
        var later = fixture.now
        later.realtime += 60_000_000
        let next = EngineFixture(configuration(durable: true), at: later, restoring: state)
        next.advance(seconds: 0)
        #expect(views(next) == ["h 2 late 10s 0"] && next.overdue == [])
    }
}
