import Schedule
import Testing
import WatchFile

@testable import Engine

/// Operations that are lines for workers.
@Suite("Streams") struct StreamTests {
    /// Lines of a FIFO for workers on a queue.
    private func fixture(
        queue: QueueDefinition = .concurrent("q", width: 10), others: [HandlerDefinition] = [],
        settings: DaemonSettings = DaemonSettings(), _ handler: HandlerDefinition
    ) -> EngineFixture {
        EngineFixture(
            .of(
                settings: settings, queues: [queue], handlers: [handler] + others,
                sources: [.fifo("f", to: "h", on: "q"), .custom("c", to: others.first?.name ?? "h", on: "q")]))
    }

    private func spawnAll(_ fixture: EngineFixture) { for worker in fixture.workers { fixture.spawn(worker) } }

    private func held(_ fixture: EngineFixture) -> [UInt64] { fixture.lines.map(\.line.run.operation) }

    // MARK: Lines and answers

    @Test func workersRunBeforeThereIsAnEventAndTakeNoProcessSlot() {
        let fixture = fixture(settings: DaemonSettings(maxProcesses: 1), .stream("h", workers: 3))
        #expect(fixture.workers.count == 3)
        spawnAll(fixture)
        fixture.line("f", "a")
        #expect(fixture.lines.count == 1 && fixture.engine.processesRunning == 0)
        #expect(fixture.lines[0].line.events.count == 1 && fixture.lines[0].line.run.attempt == 1)
    }

    @Test func anAnswerEndsTheOperation() {
        let fixture = fixture(.stream("h"))
        spawnAll(fixture)
        fixture.line("f", "a")
        #expect(fixture.ended.isEmpty)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.ended.map(\.result) == [.done])
        fixture.line("f", "b")
        fixture.answer([fixture.lines[0].line.run], .fail)
        #expect(fixture.ended.last?.result == .failed)
        #expect(fixture.ended.last?.reason == "its worker answered fail")
    }

    @Test func withoutAckItEndsWhenItsLineIsInThePipe() {
        let fixture = fixture(.stream("h", isAcknowledged: false))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.answer([fixture.lines[0].line.run], .written)
        #expect(fixture.ended.map(\.result) == [.done])
    }

    @Test func whatIsMoreThanPrefetchWaitsOnTheQueue() {
        let fixture = fixture(.stream("h", workers: 2, prefetch: 2))
        for number in 1...6 { fixture.line("f", "\(number)") }
        #expect(fixture.handed.isEmpty)
        spawnAll(fixture)
        #expect(held(fixture) == [1, 2, 3, 4].map { $0 + fixture.workers[1].operation })
        let sentence = fixture.engine.operation(fixture.workers[1].operation + 5)?.waitingFor
        #expect(sentence == "a worker of h: each has the 2 lines of Prefetch=")
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.count == 4 && fixture.handed.count == 5)
    }

    @Test func anAnswerForALineOfAnotherWorkerIsNone() {
        let fixture = fixture(.stream("h", workers: 2))
        spawnAll(fixture)
        fixture.line("f", "a")
        let other = fixture.workers.first { $0 != fixture.lines[0].worker } ?? fixture.workers[0]
        fixture.send(.answered(worker: other, [LineAnswer(fixture.lines[0].line.run, .ok)]))
        fixture.send(.answered(worker: other, [LineAnswer(RunID(operation: 999, attempt: 1), .ok)]))
        #expect(fixture.ended.isEmpty && fixture.lines.count == 1)
    }

    // MARK: Width, order, barriers, keys

    @Test(arguments: [QueueDefinition.serial("q"), .concurrent("q", width: 1)])
    func aBusyWorkerTakesOnePlaceOfTheWidth(queue: QueueDefinition) {
        let fixture = fixture(queue: queue, .stream("h", workers: 2, prefetch: 3))
        spawnAll(fixture)
        for number in 1...5 { fixture.line("f", "\(number)") }
        #expect(fixture.lines.count == 3)
        #expect(Set(fixture.lines.map(\.worker)).count == 1, "the others would need a place more")
        fixture.answer([fixture.lines[1].line.run])
        fixture.answer([fixture.lines[0].line.run])
        #expect(held(fixture) == fixture.handed.map(\.run.operation).suffix(3))
    }

    @Test func aQueueThatRunsThroughAFullTargetMayUseTheWorkerThatIsBusyThere() {
        let fixture = EngineFixture(
            .of(
                queues: [
                    .concurrent("t", width: 1), QueueDefinition.concurrent("a", width: 5).targeting("t"),
                    QueueDefinition.concurrent("b", width: 5).targeting("t"),
                ], handlers: [.stream("h", workers: 2, prefetch: 2)],
                sources: [.fifo("f", to: "h", on: "a"), .fifo("g", to: "h", on: "b")]))
        spawnAll(fixture)
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.line("g", "3")
        #expect(fixture.lines.count == 2)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.count == 2, "the room that came is for the other queue too")
        #expect(Set(fixture.lines.map(\.worker)).count == 1)
    }

    @Test func otherHandlersPassALineWithoutAWorkerButNotOnASerialQueue() {
        for (queue, passes) in [(QueueDefinition.concurrent("q", width: 3), true), (.serial("q"), false)] {
            let fixture = fixture(queue: queue, others: [.exec("x")], .stream("h"))
            fixture.line("f", "a")
            fixture.emit("c")
            #expect(fixture.runs.count == (passes ? 1 : 0))
            spawnAll(fixture)
            #expect(fixture.lines.count == 1)
        }
    }

    @Test func aBarrierWaitsForAllAnswers() {
        let fixture = fixture(
            others: [.exec("x") { $0.constraints.isBarrier = true }], .stream("h", workers: 2, prefetch: 2))
        spawnAll(fixture)
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.emit("c")
        fixture.line("f", "behind")
        #expect(fixture.lines.count == 3 && fixture.runs.isEmpty)
        for _ in 1...3 {
            #expect(fixture.runs.isEmpty)
            fixture.answer([fixture.lines[0].line.run])
        }
        #expect(fixture.runs.count == 1 && fixture.lines.isEmpty)
        fixture.endAll()
        #expect(fixture.lines.count == 1)
    }

    @Test func linesOfOneKeyNeverStandInAWorkerTogether() {
        let fixture = EngineFixture(
            .of(
                handlers: [.stream("h", workers: 2, prefetch: 5)],
                sources: [.fifo("f", to: "h", key: .perLine)]))
        spawnAll(fixture)
        for text in ["a", "b", "a"] { fixture.line("f", text) }
        #expect(fixture.lines.count == 2)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.count == 2)
    }

    @Test func aLineTakesItsSemaphoresToo() {
        let fixture = EngineFixture(
            .of(
                semaphores: [.of("s", 1)], handlers: [.stream("h", prefetch: 5) { $0.constraints.acquire("s") }],
                sources: [.fifo("f", to: "h")]))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        #expect(fixture.lines.count == 1)
        #expect(fixture.engine.semaphoreViews.map(\.definition.name) == ["s"], "the workers' room is none of the file")
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.count == 1 && fixture.handed.count == 2)
    }

    // MARK: Attempts

    @Test func retryIsAnAttemptThatRetryDoesNotCountAndFailIsOne() {
        let fixture = fixture(.stream("h") { $0.retry = .times(1, after: 10) })
        spawnAll(fixture)
        fixture.line("f", "a")
        for attempt in 1...3 {
            #expect(fixture.lines[0].line.run.attempt == attempt)
            fixture.answer([fixture.lines[0].line.run], .retry)
            #expect(fixture.lines.isEmpty && fixture.ended.isEmpty)
            fixture.advance(seconds: 400)
        }
        fixture.answer([fixture.lines[0].line.run], .fail)
        fixture.advance(seconds: 400)
        #expect(fixture.lines[0].line.run.attempt == 5)
        fixture.answer([fixture.lines[0].line.run], .fail)
        #expect(fixture.ended.map(\.result) == [.failed])
    }

    @Test func aWorkerMayAskForARetryOnlySoOften() {
        let fixture = fixture(.stream("h"))
        spawnAll(fixture)
        fixture.line("f", "a")
        var count = 0
        while fixture.ended.isEmpty, count < 200 {
            fixture.answer([fixture.lines[0].line.run], .retry)
            fixture.advance(seconds: 400)
            count += 1
        }
        #expect(count == Engine.temporaryFailureLimit + 1)
        #expect(fixture.ended[0].reason == "its worker answered retry")
    }

    // MARK: Ended before its time

    @Test func aTimeoutEndsTheWorkerAndOnlyTheLateOneIsChargedAnAttempt() {
        let fixture = fixture(
            .stream("h", prefetch: 3) {
                $0.timeout = .seconds(5)
                $0.retry = .times(1, after: 1)
            })
        spawnAll(fixture)
        let worker = fixture.workers[0]
        fixture.line("f", "late")
        fixture.advance(seconds: 2)
        fixture.line("f", "second")
        fixture.line("f", "third")
        fixture.advance(seconds: 3)
        #expect(fixture.signals == ["\(worker.operation) SIGTERM tree"])
        fixture.line("f", "fourth")
        #expect(fixture.lines.count == 3, "it gets no further line")
        fixture.endWorker(worker, .signaled(15))
        #expect(fixture.retried.map(\.reason) == ["timed out after 5s"])
        #expect(fixture.workers.isEmpty, "there is a pause first")
        fixture.advance(seconds: 0.2)
        spawnAll(fixture)
        let again = fixture.lines.map(\.line)
        #expect(again.map(\.run.attempt) == [1, 1, 1])
        #expect(again.map(\.isRedelivered) == [true, true, false], "second, third, fourth")
        fixture.advance(seconds: 1.2)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.last?.line.run.attempt == 2, "the late one")
    }

    @Test func aWorkerThatIsDeafToSIGTERMIsKilled() {
        let fixture = fixture(
            .stream("h") {
                $0.timeout = .seconds(5)
                $0.timeoutStop = .seconds(3)
            })
        spawnAll(fixture)
        fixture.line("f", "late")
        fixture.advance(seconds: 8)
        let id = fixture.workers[0].operation
        #expect(fixture.signals == ["\(id) SIGTERM tree", "\(id) SIGKILL tree"])
        fixture.endWorker(fixture.workers[0], .signaled(9))
        #expect(fixture.ended.map(\.result) == [.failed])
    }

    @Test(arguments: [LineAnswer.Outcome.withdrawn, .ok, .fail])
    func aCancelTakesTheLineBack(outcome: LineAnswer.Outcome) {
        let fixture = fixture(.stream("h", prefetch: 2))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        let run = fixture.lines[1].line.run
        fixture.command(.cancel(operation: run.operation))
        #expect(fixture.takenBack == [run] && fixture.ended.isEmpty)
        fixture.answer([run], outcome)
        #expect(fixture.ended.map(\.result) == [.cancelled])
        fixture.advance(seconds: 60)
        #expect(fixture.signals.isEmpty && fixture.lines.count == 1)
    }

    @Test func aWorkerThatDoesNotAnswerACancelIsEnded() {
        let fixture = fixture(.stream("h", prefetch: 2) { $0.timeoutStop = .seconds(4) })
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        let worker = fixture.workers[0]
        fixture.command(.cancel(operation: fixture.lines[0].line.run.operation))
        fixture.advance(seconds: 4)
        #expect(fixture.signals == ["\(worker.operation) SIGTERM tree"])
        fixture.endWorker(worker, .signaled(15))
        #expect(fixture.ended.map(\.result) == [.cancelled])
        fixture.advance(seconds: 1)
        spawnAll(fixture)
        #expect(fixture.lines.map(\.line.isRedelivered) == [true])
    }

    @Test func whatWaitsForAWorkerCanBeCancelledAndTimesOut() {
        let fixture = fixture(.stream("h") { $0.constraints.startTimeout = .seconds(9) })
        fixture.line("f", "a")
        fixture.line("f", "b")
        fixture.command(.cancel(operation: fixture.workers[0].operation + 1))
        #expect(fixture.ended.map(\.result) == [.cancelled])
        fixture.advance(seconds: 9)
        #expect(fixture.ended.map(\.result) == [.cancelled, .failed])
        #expect(fixture.ended[1].reason?.contains("a worker of h: being started") == true)
    }
}
