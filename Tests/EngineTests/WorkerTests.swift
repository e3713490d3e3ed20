import Schedule
import Testing
import WatchFile

@testable import Engine

/// The life of workers: death, restart, idleness, reload, stop.
@Suite("Workers") struct WorkerTests {
    private func configuration(_ handlers: HandlerDefinition..., queue: QueueDefinition = .concurrent("q", width: 10))
        -> Configuration
    {
        .of(queues: [queue], handlers: handlers, sources: [.fifo("f", to: handlers[0].name, on: "q")])
    }

    private func spawnAll(_ fixture: EngineFixture) { for worker in fixture.workers { fixture.spawn(worker) } }

    // MARK: Death

    @Test func theDeathOfAWorkerGivesItsLinesBackInTheirOrder() {
        for queue in [QueueDefinition.serial("q"), .concurrent("q", width: 4)] {
            let fixture = EngineFixture(configuration(.stream("h", prefetch: 3), queue: queue))
            spawnAll(fixture)
            for number in 1...5 { fixture.line("f", "\(number)") }
            let first = fixture.handed.map(\.run)
            fixture.endWorker(fixture.workers[0], .exited(3))
            #expect(fixture.ended.isEmpty && fixture.retried.isEmpty)
            #expect(fixture.engine.totals[.pending] == 5)
            fixture.advance(seconds: 0.1)
            spawnAll(fixture)
            #expect(fixture.lines.map(\.line.run) == first, "the same attempt")
            #expect(fixture.lines.map(\.line.isRedelivered) == [true, true, true])
            #expect(fixture.news.compactMap(\.end) == ["exit 3 after 0ms"])
            #expect(fixture.news.map(\.givenBack).max() == 3)
        }
    }

    @Test func withoutAckALineThatComesBackWasNeverRead() {
        let fixture = EngineFixture(configuration(.stream("h", prefetch: 2, isAcknowledged: false)))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        fixture.answer([fixture.lines[0].line.run], .written)
        fixture.endWorker(fixture.workers[0])
        fixture.advance(seconds: 0.1)
        spawnAll(fixture)
        #expect(fixture.lines.map(\.line.isRedelivered) == [false])
    }

    @Test func theLineThatCostsEveryWorkerItsLifeFailsAndTheOthersDoNot() {
        let fixture = EngineFixture(configuration(.stream("h", prefetch: 2)))
        spawnAll(fixture)
        fixture.line("f", "poison")
        fixture.line("f", "good")
        let poison = fixture.lines[0].line.run.operation
        var deaths = 0
        while fixture.ended.isEmpty, deaths < 500 {
            deaths += 1
            fixture.endWorker(fixture.workers[0], .signaled(11))
            fixture.advance(seconds: 31)
            spawnAll(fixture)
        }
        #expect(fixture.ended.map(\.id) == [poison] && deaths == Engine.workersLostLimit)
        #expect(fixture.ended[0].reason?.hasPrefix("its worker ended 5 times while it had it: SIGSEGV") == true)
        #expect(fixture.lines.map(\.line.run.attempt) == [1])
    }

    @Test func nothingTakesThePlaceOfAWorkerThatAKillHasLeftBeforeItHasEnded() {
        var state = StoredState()
        let left = RunID(operation: 7, attempt: 1, part: 0)
        state.workers = [StoredWorker(handler: "h", run: left, pid: 70, started: 1)]
        state.lastOperationID = 10
        let fixture = EngineFixture(configuration(.stream("h")), restoring: state)
        #expect(fixture.adopted.map(\.pid) == [70] && fixture.workers.isEmpty)
        fixture.line("f", "a")
        #expect(
            fixture.engine.operationViews.first?.waitingFor
                == "a worker of h: the one of the watchd before (process 70) has to end first")
        fixture.advance(seconds: 10)
        #expect(fixture.signals == ["7 SIGTERM tree"] && fixture.workers.isEmpty)
        fixture.advance(seconds: 10)
        #expect(fixture.signals.last == "7 SIGKILL tree" && fixture.workers.isEmpty)
        fixture.end(left, .signaled(9))
        #expect(fixture.workers.count == 1)
        spawnAll(fixture)
        #expect(fixture.lines.count == 1)
    }

    /// Its lines keep their units of a semaphore until then.
    @Test(arguments: [["a", "b"], []], [1, 2])
    func aWorkerThatAKillHasLeftHoldsUnits(members: [String], prefetch: Int) {
        var semaphore = SemaphoreDefinition.of("gpu", 2)
        semaphore.members = members
        let configuration = Configuration.of(
            queues: [.concurrent("q", width: 8)], semaphores: [semaphore],
            handlers: [
                .stream("h", prefetch: prefetch) { $0.constraints.acquire("gpu", 1) },
                .exec("x") { $0.constraints.acquire("gpu", 1) },
            ],
            sources: [.fifo("f", to: "h", on: "q"), .fifo("x", to: "x", on: "q")])
        var state = StoredState()
        let left = RunID(operation: 7, attempt: 1, part: 0)
        state.workers = [StoredWorker(handler: "h", run: left, pid: 70, started: 1)]
        state.lastOperationID = 10
        let fixture = EngineFixture(configuration, restoring: state)
        fixture.line("x", "1")
        let isHeld = !members.isEmpty || prefetch == 2
        #expect(fixture.starts.isEmpty == isHeld)
        #expect(fixture.semaphore("gpu")?.available == 0)
        fixture.end(left, .exited(0))
        #expect(
            fixture.starts.map(\.acquired) == [
                members.isEmpty ? [] : [AcquiredMembers(semaphore: "gpu", members: ["a"])]
            ])
        #expect(fixture.semaphore("gpu")?.available == 1)
    }

    @Test func theLineWhoseWorkersAnswerNonsenseFailsAsRetryCounts() {
        let fixture = EngineFixture(configuration(.stream("h") { $0.retry = .times(1, after: 1) }))
        spawnAll(fixture)
        fixture.line("f", "poison")
        fixture.line("f", "good")
        var deaths = 0
        while fixture.ended.isEmpty, deaths < 50 {
            deaths += 1
            fixture.send(.workerIsBroken(fixture.workers[0], "wrote “x” to $WATCHD_ACK_FD, which is no answer"))
            fixture.endWorker(fixture.workers[0], .signaled(15))
            fixture.advance(seconds: 31)
            spawnAll(fixture)
        }
        #expect(deaths == 2 * Engine.workersLostLimit)
        #expect(fixture.ended.map(\.attempt) == [2])
        #expect(fixture.lines.count == 1, "those behind it have their turn")
    }

    @Test func theOtherWorkersGoOn() {
        let fixture = EngineFixture(configuration(.stream("h", workers: 2)))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        let (dead, other) = (fixture.lines[0].worker, fixture.lines[1].worker)
        fixture.endWorker(dead)
        #expect(fixture.lines.count == 1)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.lines.map(\.worker) == [other] && fixture.lines[0].line.isRedelivered)
    }

    @Test func restartsBackOffAndBeginAnewAfterAGoodRun() {
        let fixture = EngineFixture(configuration(.stream("h")))
        for pause in [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30] {
            spawnAll(fixture)
            fixture.endWorker(fixture.workers[0], .exited(1))
            fixture.advance(seconds: pause - 0.001)
            #expect(fixture.workers.isEmpty)
            fixture.advance(seconds: 0.001)
            #expect(fixture.workers.count == 1)
        }
        spawnAll(fixture)
        fixture.advance(seconds: 31)
        fixture.endWorker(fixture.workers[0], .exited(1))
        fixture.advance(seconds: 0.1)
        #expect(fixture.workers.count == 1)
        #expect(fixture.engine.handlerViews.first { $0.definition.name == "h" }?.workers.first?.restarts == 12)
    }

    @Test func oneThatDoesALineAndExitsIsStartedAgainAtOnceEachTime() {
        let fixture = EngineFixture(configuration(.stream("h")))
        for number in 1...20 {
            spawnAll(fixture)
            fixture.line("f", "\(number)")
            fixture.answer([fixture.lines[0].line.run])
            fixture.endWorker(fixture.workers[0], .exited(0))
            fixture.advance(seconds: 0.1)
            #expect(fixture.workers.count == 1, "exit 0 after a line is no trouble")
        }
    }

    @Test func oneThatCannotBeStartedIsTriedAgainAndToldOf() {
        let fixture = EngineFixture(configuration(.stream("h")))
        fixture.line("f", "a")
        fixture.failWorker(toStart: fixture.workers[0], reason: "execve /bin/worker: no such file")
        let view = fixture.engine.handlerViews.first { $0.definition.name == "h" }?.workers.first
        #expect(view?.stage == .backingOff)
        #expect(view?.lastEnd == "could not be started: execve /bin/worker: no such file")
        let waits = fixture.engine.operationViews.first?.waitingFor
        #expect(waits == "a worker of h: restarts in 100ms (could not be started: execve /bin/worker: no such file)")
        fixture.advance(seconds: 0.1)
        spawnAll(fixture)
        #expect(fixture.lines.count == 1 && !fixture.lines[0].line.isRedelivered)
    }

    @Test func aBrokenWorkerIsEndedAndReplacedAfterAPause() {
        let fixture = EngineFixture(configuration(.stream("h")))
        spawnAll(fixture)
        fixture.line("f", "a")
        let worker = fixture.workers[0]
        fixture.send(.workerIsBroken(worker, "wrote nonsense"))
        fixture.send(.workerIsBroken(worker, "wrote nonsense"))
        #expect(fixture.signals == ["\(worker.operation) SIGTERM tree"])
        fixture.endWorker(worker, .signaled(15))
        #expect(fixture.news.last?.end == "ended because it wrote nonsense; SIGTERM after 0ms")
        #expect(fixture.workers.isEmpty)
        fixture.advance(seconds: 0.1)
        spawnAll(fixture)
        #expect(fixture.lines.map(\.line.isRedelivered) == [true])
    }

    // MARK: IdleSec=

    @Test func idleWorkersEndAndStartAgainWithTheNextLine() {
        let fixture = EngineFixture(configuration(.stream("h", workers: 3, idle: .seconds(30))))
        #expect(fixture.workers.isEmpty)
        fixture.line("f", "a")
        #expect(fixture.workers.count == 1)
        fixture.line("f", "b")
        #expect(fixture.workers.count == 2)
        spawnAll(fixture)
        #expect(fixture.lines.count == 2)
        fixture.answer([fixture.lines[0].line.run])
        fixture.advance(seconds: 29)
        #expect(fixture.closing.isEmpty)
        fixture.answer([fixture.lines[0].line.run])
        fixture.advance(seconds: 1)
        #expect(fixture.closing.count == 1)
        for worker in fixture.closing { fixture.endWorker(worker, .exited(0)) }
        fixture.advance(seconds: 29)
        #expect(fixture.closing.count == 2)
        for worker in fixture.workers { fixture.endWorker(worker, .exited(0)) }
        fixture.advance(seconds: 100)
        #expect(fixture.workers.isEmpty && fixture.signals.isEmpty)
        #expect(fixture.news.last?.end == "ended when idle; exit 0 after 59s")
        fixture.line("f", "c")
        #expect(fixture.workers.count == 1)
    }

    @Test func aLineThatComesWhileAnIdleWorkerEndsIsForTheNextOne() {
        let fixture = EngineFixture(configuration(.stream("h", idle: .seconds(30))))
        fixture.line("f", "a")
        spawnAll(fixture)
        fixture.answer([fixture.lines[0].line.run])
        fixture.advance(seconds: 30)
        let old = fixture.workers[0]
        fixture.line("f", "b")
        #expect(fixture.workers == [old] && fixture.lines.isEmpty, "a copy never runs twice")
        fixture.endWorker(old, .exited(0))
        #expect(fixture.workers.count == 1)
        spawnAll(fixture)
        #expect(fixture.lines.count == 1)
    }

    @Test func anIdleWorkerThatStaysGetsItsSignals() {
        let fixture = EngineFixture(
            configuration(.stream("h", idle: .seconds(30)) { $0.timeoutStop = .seconds(5) }))
        fixture.line("f", "a")
        spawnAll(fixture)
        let worker = fixture.workers[0]
        fixture.answer([fixture.lines[0].line.run])
        fixture.advance(seconds: 40)
        #expect(fixture.signals == ["\(worker.operation) SIGTERM tree", "\(worker.operation) SIGKILL tree"])
    }

    // MARK: Reload

    @Test func aReloadThatChangesTheCommandReplacesTheWorkerWithoutLosingALine() {
        let fixture = EngineFixture(configuration(.stream("h", prefetch: 2)))
        spawnAll(fixture)
        for number in 1...3 { fixture.line("f", "\(number)") }
        let old = fixture.workers[0]
        fixture.reload(configuration(.stream("h", prefetch: 2, program: "/bin/other")))
        #expect(fixture.closing == [old] && fixture.workers == [old])
        fixture.answer(fixture.lines.map(\.line.run))
        #expect(fixture.ended.count == 2 && fixture.lines.isEmpty)
        fixture.endWorker(old, .exited(0))
        #expect(fixture.workers.count == 1)
        spawnAll(fixture)
        #expect(fixture.lines.count == 1)
        fixture.advance(seconds: 100)
        #expect(fixture.signals.isEmpty)
    }

    @Test func aReloadThatLeavesTheCommandKeepsTheWorkers() {
        let fixture = EngineFixture(configuration(.stream("h", workers: 2)))
        spawnAll(fixture)
        for number in 1...4 { fixture.line("f", "\(number)") }
        #expect(fixture.lines.count == 2)
        fixture.reload(configuration(.stream("h", workers: 2, prefetch: 2) { $0.retry = .times(3) }))
        #expect(fixture.closing.isEmpty && fixture.workers.count == 2 && fixture.lines.count == 4)
        fixture.reload(configuration(.stream("h", workers: 1, prefetch: 1)))
        #expect(fixture.closing.count == 1)
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.handed.count == 4)
    }

    @Test func workersOfAHandlerThatIsGoneEndWhenItsLinesHave() {
        let fixture = EngineFixture(configuration(.stream("h"), .exec("x")))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        fixture.reload(.of(queues: [.concurrent("q", width: 10)], handlers: [.exec("x")]))
        #expect(fixture.closing.isEmpty)
        fixture.answer([fixture.lines[0].line.run])
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.closing.count == 1 && fixture.ended.count == 2)
        fixture.endWorker(fixture.workers[0], .exited(0))
        #expect(fixture.workers.isEmpty)
    }

    @Test func aHandlerMayBecomeAnExecAndBack() {
        let fixture = EngineFixture(configuration(.stream("h")))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        let old = fixture.workers[0]
        fixture.reload(configuration(.exec("h")))
        #expect(fixture.closing == [old] && fixture.runs.count == 1, "what waits takes the new action")
        fixture.reload(configuration(.stream("h")))
        #expect(fixture.workers.count == 2)
        fixture.answer([fixture.lines[0].line.run])
        fixture.endAll()
        fixture.endWorker(old, .exited(0))
        #expect(fixture.ended.map(\.result) == [.done, .done] && fixture.workers.count == 1)
    }

    // MARK: Stop

    @Test func aStopClosesTheirInputAndWaitsForTheLinesThatTheyHave() {
        let fixture = EngineFixture(configuration(.stream("h", workers: 2)))
        spawnAll(fixture)
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.send(.drain)
        #expect(fixture.closing.count == 2 && fixture.signals.isEmpty)
        #expect(fixture.ended.map(\.result) == [.cancelled], "the one that waited")
        fixture.answer([fixture.lines[0].line.run])
        for worker in fixture.workers where !fixture.lines.contains(where: { $0.worker == worker }) {
            fixture.endWorker(worker, .exited(0))
        }
        #expect(fixture.drained == nil)
        fixture.answer([fixture.lines[0].line.run])
        fixture.endWorker(fixture.workers[0], .exited(0))
        #expect(fixture.drained == [] && fixture.ended.map(\.result) == [.cancelled, .done, .done])
    }

    @Test func afterDrainSecWorkersGetTheirSignals() {
        var settings = DaemonSettings()
        settings.drain = .seconds(20)
        let fixture = EngineFixture(
            .of(
                settings: settings,
                handlers: [.stream("h")], sources: [.fifo("f", to: "h")]))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.send(.drain)
        fixture.advance(seconds: 20)
        let id = fixture.workers[0].operation
        #expect(fixture.signals == ["\(id) SIGTERM tree"])
        fixture.advance(seconds: 10)
        #expect(fixture.signals.last == "\(id) SIGKILL tree")
        fixture.endWorker(fixture.workers[0], .signaled(9))
        #expect(fixture.ended.map(\.result) == [.stopped] && fixture.drained == [])
    }

    @Test func aWorkerThatDiesDuringAStopIsNotStartedAgain() {
        let fixture = EngineFixture(configuration(.stream("h")))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.send(.drain)
        fixture.endWorker(fixture.workers[0], .exited(1))
        #expect(fixture.ended.map(\.result) == [.failed] && fixture.workers.isEmpty && fixture.drained == [])
        #expect(fixture.ended[0].reason?.hasPrefix("its worker ended while watchd stopped: ") == true)
    }

    // MARK: Durable

    private func durable(_ handler: HandlerDefinition) -> Configuration {
        configuration(handler, queue: QueueDefinition.concurrent("q", width: 10).with { $0.isDurable = true })
    }

    /// What the store has after all that was written.
    private func stored(_ fixture: EngineFixture) -> StoredState {
        var kept: [UInt64: StoredOperation] = [:]
        var state = StoredState()
        for write in fixture.writes {
            switch write {
            case .insert(let operation): kept[operation.id] = operation
            case .update(var operation):
                operation.events = kept[operation.id]?.events ?? []
                kept[operation.id] = operation
            case .reserved(let event, let operation): (state.lastEventID, state.lastOperationID) = (event, operation)
            default: break
            }
        }
        for view in fixture.ended { kept[view.id] = nil }
        state.operations = kept.values.sorted { $0.id < $1.id }
        return state
    }

    @Test func afterACrashDurableLinesRunAgainRedelivered() {
        let before = EngineFixture(durable(.stream("h", prefetch: 2)))
        spawnAll(before)
        for number in 1...3 { before.line("f", "\(number)") }
        #expect(before.lines.count == 2)
        before.answer([before.lines[0].line.run])
        let state = stored(before)
        #expect(state.operations.count == 2 && state.operations.allSatisfy(\.runs.isEmpty))
        let after = EngineFixture(durable(.stream("h", prefetch: 2)), at: before.now, restoring: state)
        spawnAll(after)
        #expect(after.lines.map(\.line.run.operation) == state.operations.map(\.id))
        #expect(after.lines.map(\.line.isRedelivered) == [true, true])
        after.answer(after.lines.map(\.line.run))
        #expect(after.ended.map(\.result) == [.done, .done])
    }

    @Test func aStopLeavesDurableLinesToTheNextStartWhenTheirWorkerDies() {
        let fixture = EngineFixture(durable(.stream("h")))
        spawnAll(fixture)
        fixture.line("f", "a")
        fixture.line("f", "b")
        fixture.send(.drain)
        fixture.endWorker(fixture.workers[0], .signaled(9))
        #expect(fixture.drained == [] && fixture.ended.isEmpty && fixture.engine.setAsideCount == 2)
    }

    @Test func aLineThatIsNotStoredYetIsHandedToNobodyElseMeanwhile() {
        let fixture = EngineFixture(durable(.stream("h", workers: 2)))
        spawnAll(fixture)
        fixture.send(.store(.failing("the disk is full")))
        fixture.line("f", "a")
        #expect(fixture.lines.isEmpty)
        fixture.send(.store(.working))
        #expect(fixture.lines.count == 1)
    }
}
