import Schedule
import Testing
import WatchFile

@testable import Engine

/// Durable queues: what the store is told, what waits for it, and what takes its place again at the next start.
@Suite("Durable queues") struct DurableTests {
    /// A custom source `c` on a durable queue, one `n` on another.
    static func configuration(_ edit: (inout HandlerDefinition) -> Void = { _ in }) -> Configuration {
        .of(
            queues: [QueueDefinition(name: "kept", isDurable: true), .serial("plain")],
            handlers: [.exec("c", edit), .exec("n", edit)],
            sources: [.custom("c", to: "c", on: "kept"), .custom("n", to: "n", on: "plain")])
    }

    /// What stands in the store after these writes, as the daemon reads it at its start.
    static func state(_ writes: [StoreWrite], ended: [OperationView], runsGoOn: Bool = false) -> StoredState {
        var state = StoredState()
        var operations: [UInt64: StoredOperation] = [:]
        for write in writes {
            switch write {
            case .insert(let operation): operations[operation.id] = operation
            case .update(let operation):
                let (events, appended) = (operations[operation.id]?.events, operations[operation.id]?.appended)
                operations[operation.id] = operation
                operations[operation.id]?.events = events ?? []
                operations[operation.id]?.appended = (appended ?? []) + operation.appended
            case .reserved(let event, let operation): (state.lastEventID, state.lastOperationID) = (event, operation)
            case .once(let handler, nil): state.once.remove(handler)
            case .once(let handler, _): state.once.insert(handler)
            case .suspensions(let name, let suspensions): state.suspensions[name] = suspensions
            case .timer(let id, let stamp): state.timers[id] = stamp
            case .booted(let id): state.booted.insert(id)
            case .position(let id, let position, _): state.positions[id] = position
            case .held(let id, let events, let replacing):
                let before = replacing ? [] : state.held.first { $0.source == id }?.events ?? []
                state.held.removeAll { $0.source == id }
                if !(before + events).isEmpty { state.held.append(StoredHold(source: id, events: before + events)) }
            case .members(let id, let count): state.groups[id] = count
            case .tally(let id, let tally): state.tallies[id] = tally == GroupFact() ? nil : tally
            case .tickets(let id, let tickets): state.tickets[id] = tickets
            case .ended, .retrying, .retried, .untried, .forgotten, .process, .cancelledByStop, .snapshot, .waiting,
                .lost:
                break
            }
        }
        for view in ended { operations[view.id] = nil }
        state.operations = operations.values.map { operation in
            var operation = operation
            // Nobody has seen their processes since.
            if !runsGoOn { operation.runs = [] }
            return operation
        }
        return state
    }

    private func state(_ fixture: EngineFixture) -> StoredState {
        Self.state(fixture.writes, ended: fixture.ended)
    }

    private func isCommitted(_ action: Action, _ isWanted: (Action) -> Bool) -> Bool {
        if case .committed(let inner) = action { isWanted(inner) } else { false }
    }

    @Test func aDurableOperationIsStoredAndItsReplyAndStartWaitForThat() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        let inserted = fixture.writes.compactMap { if case .insert(let stored) = $0 { stored } else { nil } }
        #expect(inserted.map(\.id) == [1])
        #expect(inserted.first?.isExecuting == true)
        #expect(inserted.first?.events.count == 1)
        #expect(fixture.actions.contains { isCommitted($0) { if case .reply = $0 { true } else { false } } })
        #expect(fixture.actions.contains { isCommitted($0) { if case .start = $0 { true } else { false } } })
    }

    @Test func whatIsNotDurableIsNotStoredAndWaitsForNothing() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("n")
        #expect(!fixture.writes.contains { if case .insert = $0 { true } else { false } })
        #expect(!fixture.actions.contains { if case .committed = $0 { true } else { false } })
    }

    @Test func eventsThatJoinAreAppendedAndComeBackAsTheyWere() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/kept")
        for data in [1, 2, 3] as [Int64] { fixture.emit("c", data) }
        let again = EngineFixture(Self.configuration(), restoring: state(fixture))
        let view = try #require(again.engine.operation(1))
        #expect(view.events == fixture.engine.operation(1)?.events)
        #expect(view.deliveries == 3)
        #expect(again.starts.isEmpty, "a suspension by hand outlives the daemon")
        again.resume("queue/kept")
        #expect(again.starts.map(\.run.operation) == [1])
        #expect(again.starts.first?.isRedelivered == false)
    }

    @Test func orderAttemptAndIdsAreKept() {
        let fixture = EngineFixture(Self.configuration { $0.retry = RetryPolicy(limit: 5, delay: .seconds(10)) })
        for data in [1, 2, 3] as [Int64] { fixture.emit("c", payload: "\(data)") }
        fixture.endFirst(.exited(1))
        let again = EngineFixture(
            Self.configuration { $0.retry = RetryPolicy(limit: 5, delay: .seconds(10)) }, restoring: state(fixture))
        #expect(again.starts.isEmpty, "the pause goes on")
        again.advance(seconds: 20)
        #expect(again.starts.map { "\($0.run.operation) \($0.run.attempt)" } == ["1 2"])
        again.endFirst()
        again.endFirst()
        #expect(again.starts.map(\.run.operation) == [1, 2])
        #expect(again.starts.last?.events.count == 2)
        again.emit("c")
        #expect((again.starts.last?.run.operation ?? 0) > 2)
    }

    @Test func whatMayHaveRunIsRedelivered() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        let again = EngineFixture(Self.configuration(), restoring: state(fixture))
        #expect(again.starts.map(\.isRedelivered) == [true])
        #expect(again.starts.first?.run == fixture.starts.first?.run)
        again.endFirst()
        #expect(state(again).operations.isEmpty)
    }

    /// A descriptor brought it again, as another event.
    @Test func whatMayBeARepeatIsRedeliveredWheneverItStarts() {
        let fixture = EngineFixture(Self.configuration())
        var line = LineFact([104])
        line.isRepeated = true
        fixture.send(.lines(SourceID(.custom, "c"), [line], position: [7]))
        #expect(fixture.starts.map(\.isRedelivered) == [true])
        var stored = state(fixture)
        stored.operations[0].isExecuting = false
        let again = EngineFixture(Self.configuration(), restoring: stored)
        #expect(again.starts.map { "\($0.run.operation) \($0.isRedelivered)" } == ["1 true"])
        again.endFirst()
        #expect(again.ended.map(\.isRedelivered) == [true])
        line.isRepeated = false
        again.send(.lines(SourceID(.custom, "c"), [line]))
        #expect(again.starts.map(\.isRedelivered) == [true, false])
    }

    @Test func aProcessThatStillRunsIsNotStartedAgainAndKeepsItsPlaces() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        fixture.emit("c")
        var state = state(fixture)
        let index = state.operations.firstIndex { $0.id == 1 } ?? 0
        state.operations[index].runs = [StoredRun(part: 0, pid: 77, started: fixture.now.realtime)]
        let again = EngineFixture(Self.configuration(), restoring: state)
        #expect(again.starts.isEmpty)
        #expect(again.adopted.map(\.pid) == [77])
        #expect(again.engine.processesRunning == 1)
        again.end(RunID(operation: 1, attempt: 1))
        #expect(again.ended.map { "\($0.id) \($0.result?.rawValue ?? "")" } == ["1 done"])
        #expect(again.starts.map(\.run.operation) == [2])
    }

    @Test func anEndNobodySawIsRedelivered() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        var state = state(fixture)
        state.operations[0].runs = [StoredRun(part: 0, pid: 77, started: fixture.now.realtime)]
        let again = EngineFixture(Self.configuration(), restoring: state)
        again.end(RunID(operation: 1, attempt: 1), nil, reason: "not known")
        again.advance(seconds: 0.001)
        #expect(again.ended.isEmpty)
        #expect(again.starts.map { "\($0.run.operation) \($0.run.attempt) \($0.isRedelivered)" } == ["1 1 true"])
        #expect(again.retried.map { "\($0.attempt) \($0.reason ?? "")" } == ["1 not known"])
    }

    @Test func aLongRunOfAnotherQueueIsKeptInMindAndFailsWhenNobodySawItsEnd() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("n")
        fixture.spawn(fixture.starts[0].run)
        fixture.send(.runIsLong(fixture.starts[0].run))
        var state = state(fixture)
        #expect(state.operations.map(\.isDurable) == [false])
        state.operations[0].runs = [StoredRun(part: 0, pid: 78, started: fixture.now.realtime)]
        let again = EngineFixture(Self.configuration(), restoring: state)
        #expect(again.adopted.map(\.pid) == [78])
        again.end(RunID(operation: 1, attempt: 1), nil, reason: "not known")
        #expect(again.ended.map { $0.result } == [.failed])
        #expect(again.starts.isEmpty)
    }

    @Test func ofAShortRunOfAnotherQueueTheNextStartKnowsAllThatItsProcessNeeds() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("n", payload: "1")
        #expect(fixture.begun.map(\.events.count) == [1] && fixture.begun.map(\.isDurable) == [false])
        var state = state(fixture)
        #expect(state.operations.isEmpty)
        state.operations = fixture.begun
        state.operations[0].isYoung = true
        state.operations[0].runs = [StoredRun(part: 0, pid: 78, started: fixture.now.realtime)]
        let again = EngineFixture(Self.configuration(), restoring: state)
        #expect(again.adopted.map(\.pid) == [78])
        let inserted = again.writes.compactMap { if case .insert(let operation) = $0 { operation.events } else { nil } }
        #expect(inserted == [fixture.begun[0].events], "from now on the store has it")
        again.end(RunID(operation: 1, attempt: 1), .exited(1))
        #expect(again.ended.map { $0.result } == [.failed])
    }

    @Test func aLargeOneComesIntoTheStoreAtOnce() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("n", payload: "\"\(String(repeating: "x", count: 70_000))\"")
        fixture.spawn(fixture.starts[0].run)
        #expect(fixture.begun.isEmpty && state(fixture).operations.count == 1)
    }

    @Test func aStopLeavesWhatIsDurableToTheNextStart() {
        let fixture = EngineFixture(Self.configuration())
        for _ in 0..<2 { fixture.emit("c", payload: "1") }
        for _ in 0..<2 { fixture.emit("n", payload: "1") }
        fixture.send(.drain)
        #expect(fixture.drained == nil, "what runs is waited for")
        fixture.endAll()
        #expect(fixture.drained == [])
        #expect(fixture.engine.setAsideCount == 1)
        #expect(fixture.ended.filter { $0.handler == "c" }.map(\.result) == [.done])
        #expect(Set(fixture.results) == ["c done", "n done", "n cancelled"])
        let again = EngineFixture(Self.configuration(), restoring: state(fixture))
        #expect(again.starts.count == 1)
        #expect(again.starts.first?.isRedelivered == false)
    }

    private func cancelled(_ fixture: EngineFixture, _ command: Engine.Command) -> Int? {
        if case .cancelled(let count) = fixture.reply(fixture.command(command)) { count } else { nil }
    }

    @Test func whatAStopLeavesIsShownAndCancelled() throws {
        var configuration = Self.configuration()
        configuration.sources[0].coalesces = false
        let fixture = EngineFixture(configuration)
        for data in 1...4 { fixture.emit("c", Int64(data)) }
        fixture.send(.drain)
        let kept = fixture.engine.unplacedViews
        #expect(kept.count == 3 && kept.allSatisfy { $0.state == .pending && $0.waitReason == .start })
        #expect(kept.allSatisfy { $0.waitingFor == "the next start of watchd" && $0.events.count == 1 })
        let queue = try #require(fixture.engine.queueViews.first { $0.definition.name == "kept" })
        #expect(queue.waiting == 3 && queue.running == 1)
        let first = kept[0].id
        #expect(fixture.engine.operation(first)?.id == first)
        #expect(fixture.engine.explain(operation: first)?.last?.code == .start)
        let wait = fixture.command(.wait(.operation(first), after: nil, caller: nil, raisesQoS: false))
        #expect(fixture.error(wait) == .draining)
        #expect(cancelled(fixture, .cancel(operation: first)) == 1)
        #expect(fixture.engine.operation(first) == nil && fixture.engine.setAsideCount == 2)
        #expect(cancelled(fixture, .cancelQueue(name: "kept")) == 3, "with the one that runs")
        #expect(fixture.engine.setAsideCount == 0)
        #expect(fixture.engine.totals[.pending] == 0 && fixture.engine.totals[.cancelled] == 3)
        fixture.endAll()
        #expect(fixture.drained == [])
        let again = EngineFixture(configuration, restoring: state(fixture))
        #expect(again.starts.isEmpty)
    }

    @Test func whatAStopHadToEndComesAgain() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        fixture.spawn(fixture.starts[0].run)
        fixture.send(.drain)
        fixture.send(.hurry)
        #expect(fixture.signals.count == 1)
        fixture.end(fixture.starts[0].run, .signaled(15))
        #expect(fixture.drained == [])
        #expect(fixture.ended.isEmpty)
        let again = EngineFixture(Self.configuration(), restoring: state(fixture))
        #expect(again.starts.map(\.isRedelivered) == [true])
    }

    @Test func whileTheStoreFailsDurableWorkWaitsAndTheRestGoesOn() {
        let fixture = EngineFixture(Self.configuration())
        fixture.send(.store(.failing("no space left")))
        let token = fixture.emit("c")
        fixture.emit("n")
        #expect(fixture.starts.map(\.definition.value.name) == ["n"])
        #expect(fixture.replies[token] == nil, "the caller waits")
        fixture.send(.store(.working))
        #expect(fixture.replies[token]?.count == 1)
        #expect(fixture.starts.map(\.definition.value.name) == ["n", "c"])
    }

    @Test func theWaitForTheStoreIsNoPartOfTheTimeThatARunTakes() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        fixture.send(.store(.failing("no space left")))
        fixture.advance(seconds: 7)
        fixture.send(.store(.working))
        let run = try #require(fixture.starts.first?.run)
        fixture.spawn(run)
        #expect(fixture.engine.operation(1)?.started == fixture.now.realtime)
        fixture.advance(seconds: 2)
        fixture.end(run)
        let view = try #require(fixture.ended.first)
        #expect(try (view.ended ?? 0) - #require(view.started) == 2_000_000)
    }

    @Test func whatIsCancelledBeforeTheStoreHasItHasNotStarted() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        fixture.send(.store(.failing("no space left")))
        let run = try #require(fixture.starts.first?.run)
        fixture.cancel(1)
        #expect(fixture.engine.isUnwanted(run) && fixture.engine.isStarting(run))
        fixture.send(.store(.working))
        fixture.send(.runEnded(run, nil))
        let view = try #require(fixture.ended.first)
        #expect(view.started == nil && view.result == .cancelled && view.reason == "cancelled before it ran")
    }

    @Test func whatWaitsForAStoreThatFailsBeforeItStartsIsNotShownAsRunning() {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        fixture.emit("n")
        fixture.send(.runStarted(fixture.starts[1].run, pid: 70))
        fixture.send(.store(.failing("no space left")))
        #expect((fixture.engine.totals[.pending], fixture.engine.totals[.running]) == (1, 1))
        #expect(fixture.counters(handler: "c")?[.running] == 0 && fixture.counters(handler: "n")?[.running] == 1)
        let queue = fixture.engine.queueViews.first { $0.definition.name == "kept" }
        #expect((queue?.waiting, queue?.running, queue?.counters[.pending]) == (1, 0, 1))
        #expect(fixture.engine.oldestViews(9, running: true).map(\.handler) == ["n"])
        let waiting = fixture.engine.oldestViews(9, running: false)
        #expect(waiting.map(\.handler) == ["c"] && waiting.first?.state == .ready && waiting.first?.started == nil)
        #expect(waiting.first?.waitReason == .store && fixture.engine.operationsWaiting == 1)
        fixture.send(.store(.working))
        #expect(fixture.counters(handler: "c")?[.running] == 1)
    }

    @Test func aRunByHandIsRefusedWhileTheStoreFails() {
        let fixture = EngineFixture(Self.configuration())
        fixture.send(.store(.failing("no space left")))
        #expect(fixture.error(fixture.run("custom/c")) == .storeFailing("no space left"))
    }

    @Test func anOperationWithoutItsHandlerWaitsForIt() {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/kept")
        fixture.emit("c")
        var without = Self.configuration()
        without.handlers.removeAll { $0.name == "c" }
        without.sources.removeAll { $0.id.name == "c" }
        var state = state(fixture)
        state.suspensions = [:]
        let again = EngineFixture(without, restoring: state)
        #expect(again.starts.isEmpty)
        #expect(again.engine.operation(1)?.waitReason == .orphaned)
        again.reload(Self.configuration())
        #expect(again.starts.map(\.run.operation) == [1])
    }

    @Test func orphansAreCountedExplainedAndCancelledByTheNamesThatAreGone() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/kept")
        for data in [1, 2] as [Int64] { fixture.emit("c", data) }
        let again = EngineFixture(.of(sources: [.custom("n", to: "n")]), restoring: state(fixture))
        #expect(again.engine.totals[.pending] == 2 && again.engine.totals.accepted == 2)
        #expect((again.engine.operationsWaiting, again.engine.operationsRunning) == (1, 0))
        let steps = try #require(again.engine.explain(queue: "kept"))
        #expect(steps.map(\.code) == [.orphaned] && steps.map(\.operation) == [1])
        #expect(again.engine.explain(handler: "c")?.map(\.sentence) == steps.map(\.sentence))
        let waits = [Awaited.named("kept"), .operation(1)].map { again.command(.wait($0, after: nil, caller: nil)) }
        #expect(
            waits.map { again.error($0) } == [
                .refused("kept is in no watch file any more, and keeps 1 operation"),
                .refused("operation 1 waits for \(again.engine.unplacedViews.first?.waitingFor ?? "")"),
            ])
        let token = again.command(.cancelQueue(name: "queue/kept"))
        guard case .cancelled(1) = again.reply(token) else {
            Issue.record("\(String(describing: again.reply(token)))")
            return
        }
        #expect(again.ended.map(\.id) == [1] && again.engine.unplacedViews.isEmpty)
        #expect(again.engine.totals[.cancelled] == 2 && again.engine.totals.outstanding == 0)
        #expect(again.engine.explain(queue: "kept") == nil)
    }

    @Test func anOrphanCanBeCancelled() {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/kept")
        fixture.emit("c")
        var without = Self.configuration()
        without.handlers.removeAll { $0.name == "c" }
        without.sources.removeAll { $0.id.name == "c" }
        let again = EngineFixture(without, restoring: state(fixture))
        again.cancel(1)
        #expect(again.ended.map(\.result) == [.cancelled])
        #expect(again.engine.operation(1) == nil)
    }

    @Test func theProcessOfAnOrphanThatIsCancelledIsAskedToEnd() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("c")
        var without = Self.configuration()
        without.handlers.removeAll { $0.name == "c" }
        without.sources.removeAll { $0.id.name == "c" }
        var state = state(fixture)
        state.operations[0].runs = [StoredRun(part: 0, pid: 77, started: fixture.now.realtime)]
        let again = EngineFixture(without, restoring: state)
        #expect(
            again.engine.operation(1)?.waitingFor
                == "handler/c, which does not exist any more; process 77 may still run")
        #expect(again.engine.explain(operation: 1)?.last?.code == .orphaned)
        again.cancel(1)
        #expect(again.adopted.map(\.pid) == [77] && again.adopted.map(\.isUnwanted) == [true])
        #expect(again.signals == ["1 SIGTERM tree"])
        #expect(
            again.ended.map(\.reason) == ["cancelled while its handler or queue did not exist; SIGTERM to process 77"])
        // Nobody waits for it.
        again.end(RunID(operation: 1, attempt: 1), .signaled(15))
        #expect(again.ended.count == 1)
    }

    @Test func aFailedOneRunsAgainAsANewOne() throws {
        let fixture = EngineFixture(Self.configuration())
        fixture.emit("n", payload: "{}")
        fixture.endFirst(.exited(1))
        let view = try #require(fixture.ended.first)
        var failed = StoredOperation(
            id: view.id, handler: view.handler, queue: view.queue, origin: view.origin, submitted: view.submitted)
        failed.events = view.events
        fixture.command(.retry([failed]))
        #expect(fixture.starts.count == 2)
        #expect(fixture.starts[1].events == fixture.starts[0].events)
        #expect(fixture.starts[1].run.operation == 2)
        #expect(fixture.writes.contains { if case .retried(1, by: 2) = $0 { true } else { false } })
    }

    @Test func onceIsRememberedAcrossRestarts() {
        let configuration = Self.configuration { $0.constraints.once = .ever }
        let fixture = EngineFixture(configuration)
        fixture.emit("n")
        fixture.endFirst()
        let again = EngineFixture(configuration, restoring: state(fixture))
        again.emit("n")
        #expect(again.starts.isEmpty)
        #expect(again.refused.map(\.result) == [.skipped])
    }

    @Test func whatASuspendedSourceHoldsForADurableQueueIsKept() {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("custom/c")
        for data in [1, 2] as [Int64] { fixture.emit("c", data) }
        let again = EngineFixture(Self.configuration(), restoring: state(fixture))
        #expect(again.starts.isEmpty)
        again.resume("custom/c")
        #expect(again.starts.first?.events.first?.count == 2)
        #expect(state(again).held.isEmpty)
    }

    @Test func aQueueThatBecomesDurableStoresWhatWaitsBeforeTheReloadReplies() {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/plain")
        fixture.emit("n")
        var changed = Self.configuration()
        changed.queues = changed.queues.map { queue in
            var queue = queue
            if queue.name == "plain" { queue.isDurable = true }
            return queue
        }
        fixture.reload(changed)
        #expect(fixture.writes.contains { if case .insert(let stored) = $0 { stored.handler == "n" } else { false } })
        #expect(fixture.actions.contains { isCommitted($0) { if case .reloaded = $0 { true } else { false } } })
    }

    @Test func aPlanTellsWhatWouldChangeAndChangesNothing() {
        let fixture = EngineFixture(Self.configuration())
        fixture.suspend("queue/kept")
        fixture.emit("c")
        var changed = Self.configuration()
        changed.queues.removeAll { $0.name == "kept" }
        changed.sources.removeAll { $0.id.name == "c" }
        changed.handlers = [.exec("c"), .exec("n") { $0.retry = RetryPolicy(limit: 1) }]
        let plan = fixture.engine.plan(changed)
        #expect(plan.removed.sorted() == ["custom/c", "queue/kept"])
        #expect(plan.changed == ["handler/n"])
        #expect(plan.kept.contains("handler/c") && plan.kept.contains("queue/plain"))
        #expect(plan.warnings.count == 1 && plan.warnings[0].contains("queue/kept"))
        #expect(fixture.engine.queueViews.contains { $0.definition.name == "kept" && !$0.isRemoved })
    }
}
