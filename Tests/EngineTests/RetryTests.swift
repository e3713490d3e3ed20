import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Retry=")
struct RetryTests {
    private func fixture(
        _ retry: RetryPolicy, queue: QueueDefinition = .concurrent("q", width: 1), _ key: KeyRule = .none,
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [queue],
                handlers: [
                    .exec("h") {
                        $0.retry = retry
                        change(&$0)
                    }, .exec("other"), .exec("told"),
                ],
                sources: [.fifo("f", to: "h", on: "q", key: key), .fifo("o", to: "other", on: "q")]))
    }

    /// Seconds from the end of each attempt to the start of the next, until none follows.
    private func pauses(_ fixture: EngineFixture, _ exits: [Exit], upTo seconds: Double = 1000) -> [Double] {
        var pauses: [Double] = []
        for exit in exits {
            guard !fixture.runs.isEmpty else { break }
            fixture.endFirst(exit)
            let ended = fixture.now.monotonic
            let count = fixture.starts.count
            for _ in 0..<Int(seconds * 20) where fixture.starts.count == count && fixture.ended.isEmpty {
                fixture.advance(seconds: 0.05)
            }
            if fixture.starts.count > count { pauses.append(Double(fixture.now.monotonic - ended) / 1_000_000) }
        }
        return pauses
    }

    /// Never earlier than written, at most a tenth (and the step of looking) later.
    private func expect(_ pauses: [Double], near expected: [Double]) {
        #expect(pauses.count == expected.count)
        for (pause, written) in zip(pauses, expected) {
            #expect(pause >= written && pause <= written * 1.1 + 0.1, "\(pauses)")
        }
    }

    @Test func thePausesDoubleUpToTheirBound() {
        let fixture = fixture(RetryPolicy(limit: 5, delay: .seconds(2), maxDelay: .seconds(10)))
        fixture.line("f", "1")
        let found = pauses(fixture, Array(repeating: .exited(1), count: 6))
        expect(found, near: [2, 4, 8, 10, 10])
        #expect(fixture.results == ["h failed"])
        #expect(fixture.starts.map(\.run.attempt) == [1, 2, 3, 4, 5, 6])
        #expect(Set(fixture.starts.map(\.run.operation)) == [1])
        #expect(fixture.story == Array(repeating: "h: line:1", count: 6))
    }

    @Test func theJitterIsTheSameForTheSameOperationAndAttempt() {
        let times = (0..<2).map { _ in
            let fixture = fixture(.times(5, after: 10))
            for text in ["1", "2", "3"] { fixture.line("f", text) }
            for _ in 0..<3 { fixture.endFirst(.exited(1)) }
            return fixture.operations("h").map(\.nextAttempt)
        }
        #expect(times[0] == times[1] && times[0].allSatisfy { $0 != nil })
    }

    @Test func aFailureWithAnAttemptToComeIsReportedAsSuch() {
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.endFirst(.exited(3), output: "oh")
        let view = fixture.engine.operation(1)
        #expect(view?.state == .pending && view?.waitReason == .backingOff)
        #expect((view?.nextAttempt ?? 0) - fixture.now.realtime >= 10_000_000)
        #expect(fixture.retried.map(\.exit) == [.exited(3)] && fixture.retried.first?.nextAttempt == view?.nextAttempt)
        #expect(fixture.retried.first?.output == Array("oh".utf8) && fixture.retried.first?.attempt == 1)
        #expect(fixture.ended.isEmpty && fixture.counters(handler: "h")?[.pending] == 1)
        fixture.advance(seconds: 12)
        #expect(fixture.engine.operation(1)?.attempt == 2 && fixture.counters(handler: "h")?[.running] == 1)
        fixture.endFirst()
        #expect(fixture.results == ["h done"] && fixture.ended.first?.attempt == 2)
    }

    @Test func whatAnAttemptHasUsedIsReportedWithIt() {
        func used(_ time: UInt64, memory: UInt64?) -> ResourceUsage {
            var usage = ResourceUsage()
            (usage.processorTime, usage.peakMemory) = (time, memory)
            return usage
        }
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.use(fixture.runs[0], used(5, memory: 100))
        fixture.endFirst(.exited(3))
        #expect(fixture.retried.map(\.usage) == [used(5, memory: 100)])
        #expect(fixture.engine.operation(1)?.usage.isKnown == false)
        fixture.advance(seconds: 12)
        fixture.use(fixture.runs[0], used(7, memory: nil))
        fixture.use(RunID(operation: 9, attempt: 1), used(9, memory: nil))
        fixture.endFirst()
        #expect(fixture.ended.map(\.usage) == [used(7, memory: nil)])
    }

    /// With `RunIn=unit`: no watchd looked when it ended.
    @Test func aServiceEndedWhenTheManagerSays() throws {
        func used(_ ended: Int64) -> ResourceUsage {
            var usage = ResourceUsage()
            usage.service = RunService(unit: "u.service", invocation: "", ended: ended)
            return usage
        }
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        let started = try #require(fixture.engine.operation(1)?.started)
        fixture.advance(seconds: 60)
        fixture.use(fixture.runs[0], used(started + 5_000_000))
        fixture.endFirst(.exited(3))
        #expect(fixture.retried.first?.ended == started + 5_000_000)
        // A clock that was set.
        for wrong in [Int64.max, 1] {
            fixture.line("f", "2")
            fixture.advance(seconds: 12)
            fixture.use(fixture.runs[0], used(wrong))
            fixture.endFirst()
        }
        let (late, early) = (fixture.ended[0], fixture.ended[1])
        #expect(late.ended == started + 72_000_000 && early.ended == early.started)
        #expect(fixture.engine.handlerViews[0].lastEnded == early.ended)
    }

    @Test func onAConcurrentQueueItFreesItsPlaceAndKeepsItsKey() {
        let fixture = fixture(.times(1, after: 10), .handler)
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.line("o", "3")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["other: line:3"])
        #expect(fixture.engine.operation(2)?.waitReason == .key)
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["other: line:3"], "its place is taken now")
        fixture.endFirst()
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func onASerialQueueItKeepsTheQueue() {
        let fixture = fixture(.times(1, after: 10), queue: .serial("q"))
        fixture.line("f", "1")
        fixture.line("o", "2")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["other: line:2"])
    }

    @Test func theProcessSlotGoesBackBetweenAttempts() {
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        #expect(fixture.engine.processesRunning == 0)
    }

    @Test func whatBacksOffTakesInNoMoreEvents() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h") { $0.retry = .times(1, after: 10) }], sources: [.custom("x", to: "h")]))
        fixture.emit("x", 1)
        fixture.endFirst(.exited(1))
        fixture.emit("x", 2)
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["h: data:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: data:2"])
    }

    @Test func whatBacksOffCanBeCancelled() {
        let fixture = fixture(.times(1, after: 10), queue: .serial("q")) { $0.completions.finished = ["told"] }
        fixture.line("f", "1")
        fixture.line("o", "2")
        fixture.endFirst(.exited(1))
        fixture.cancel(1)
        #expect(fixture.results == ["h cancelled"] && fixture.signals.isEmpty)
        #expect(fixture.running.sorted() == ["other: line:2", "told: finished(1)"])
        fixture.advance(seconds: 100)
        #expect(fixture.starts.count == 3)
    }

    @Test func someExitStatusesAreNotRetried() {
        var policy = RetryPolicy.times(5, after: 1)
        policy.preventExitStatus = ExitStatusSet(codes: [2, 75], signals: [11])
        for exit in [Exit.exited(2), .signaled(11), .exited(75)] {
            let fixture = fixture(policy)
            fixture.line("f", "1")
            fixture.endFirst(exit)
            #expect(fixture.results == ["h failed"])
        }
    }

    @Test func whatNeverCameToBeAndWhatRanTooLongAreRetriedToo() {
        let fixture = fixture(.times(2, after: 1)) { $0.timeout = .seconds(5) }
        fixture.line("f", "1")
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        #expect(fixture.retried.map(\.reason) == ["no such file"])
        fixture.advance(seconds: 2)
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.endFirst(.signaled(15))
        #expect(fixture.retried.count == 2 && fixture.ended.isEmpty)
        fixture.advance(seconds: 3)
        fixture.endFirst()
        #expect(fixture.results == ["h done"])
    }

    @Test func aCancelledRunIsNotRetried() {
        let fixture = fixture(.times(5, after: 1))
        fixture.line("f", "1")
        fixture.cancel(1)
        fixture.endFirst(.signaled(15))
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func withoutABoundItIsTriedAgainAndAgain() {
        let fixture = fixture(RetryPolicy(limit: nil, delay: .seconds(1), maxDelay: .seconds(1)))
        fixture.line("f", "1")
        for _ in 0..<200 {
            fixture.endFirst(.exited(1))
            fixture.advance(seconds: 2)
        }
        #expect(fixture.starts.count == 201 && fixture.ended.isEmpty)
    }

    // MARK: Exit status 75

    @Test func exitStatus75AsksForAnAttemptThatIsNotCounted() {
        let fixture = fixture(.times(1, after: 1))
        fixture.line("f", "1")
        for code: Int32 in [75, 75, 1, 75] {
            fixture.endFirst(.exited(code))
            #expect(fixture.ended.isEmpty)
            fixture.advance(seconds: 60)
        }
        fixture.endFirst(.exited(1))
        #expect(fixture.results == ["h failed"] && fixture.starts.count == 5)
    }

    @Test func exitStatus75IsAFailureAfterAHundred() {
        let fixture = fixture(RetryPolicy(limit: 0, delay: .seconds(1), maxDelay: .seconds(1)))
        fixture.line("f", "1")
        for _ in 0..<150 where !fixture.runs.isEmpty {
            fixture.endFirst(.exited(75))
            fixture.advance(seconds: 2)
        }
        #expect(fixture.starts.count == 101 && fixture.results == ["h failed"])
    }

    @Test func exitStatus75MayBeASuccess() {
        let fixture = fixture(.times(1)) { $0.successExitStatus = ExitStatusSet(codes: [75]) }
        fixture.line("f", "1")
        fixture.endFirst(.exited(75))
        #expect(fixture.results == ["h done"])
    }

    // MARK: Suspension, reload

    @Test func onASuspendedQueueTheNextAttemptWaits() {
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.suspend("q")
        fixture.advance(seconds: 60)
        #expect(fixture.running == [])
        fixture.resume("q")
        #expect(fixture.running == ["h: line:1"])
    }

    @Test func theNextAttemptTakesTheNewHandler() {
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 1)],
                handlers: [
                    .exec("h") {
                        $0.killSignal = 2
                        $0.retry = .times(1, after: 10)
                    }
                ], sources: [.fifo("f", to: "h", on: "q")]))
        fixture.advance(seconds: 12)
        #expect(fixture.starts.last?.definition.value.killSignal == 2 && fixture.starts.last?.run.attempt == 2)
    }

    @Test func aReloadDoesNotStartThePauseAnew() {
        let fixture = fixture(.times(1, after: 10))
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 8)
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 1)], handlers: [.exec("h") { $0.retry = .times(1, after: 10) }],
                sources: [.fifo("f", to: "h", on: "q")]))
        fixture.advance(seconds: 3.1)
        #expect(fixture.running == ["h: line:1"])
    }
}
