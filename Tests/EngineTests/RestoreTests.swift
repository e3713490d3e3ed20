import Schedule
import Testing
import WatchFile

@testable import Engine

/// Where what the store gives back meets another watch file, or comes late; and what a stop says of those it ends.
@Suite("Restore, at the edges") struct RestoreTests {
    private func stored(_ fixture: EngineFixture) -> StoredState {
        DurableTests.state(fixture.writes, ended: fixture.ended)
    }

    /// Four events in parts of two, both of which run when watchd is killed.
    private func splitAndKilled() -> StoredState {
        let fixture = EngineFixture(splitting(by: 2))
        fixture.suspend("queue/kept")
        for payload in 1...4 { fixture.emit("c", payload: "\(payload)") }
        fixture.resume("queue/kept")
        #expect(fixture.starts.map(\.run.part) == [0, 1])
        var state = stored(fixture)
        state.operations[0].runs = [0, 1].map { part in
            StoredRun(part: part, pid: Int32(70 + part), started: fixture.now.realtime)
        }
        return state
    }

    private func splitting(by stride: Int?) -> Configuration {
        var queue = QueueDefinition.concurrent("kept", width: 8)
        queue.isDurable = true
        return .of(
            queues: [queue], handlers: [.exec("c") { $0.stride = stride }], sources: [.custom("c", to: "c", on: "kept")]
        )
    }

    @Test(arguments: [2, 1, 3, nil]) func partsThatLiveAreThePartsTheyWereWhateverStrideIsNow(stride: Int?) {
        let again = EngineFixture(splitting(by: stride), restoring: splitAndKilled())
        #expect(again.adopted.map(\.pid) == [70, 71])
        #expect(again.starts.isEmpty, "no part runs beside a living one")
        for part in 0..<2 { again.end(RunID(operation: 1, attempt: 1, part: part)) }
        #expect(again.results == ["c done"] && again.starts.isEmpty)
    }

    @Test func aPartThatIsGoneRunsAgainWithItsOwnEvents() {
        var state = splitAndKilled()
        state.operations[0].runs.removeLast()
        let again = EngineFixture(splitting(by: 1), restoring: state)
        #expect(again.adopted.map(\.pid) == [70])
        #expect(again.starts.map(\.run.part) == [1] && again.starts.allSatisfy(\.isRedelivered))
        #expect(again.starts.flatMap(\.events).compactMap(\.payloadNumber) == [3, 4])
    }

    private func retrying() -> Configuration {
        var configuration = splitting(by: nil)
        for index in configuration.handlers.indices { configuration.handlers[index].retry = .times(2, after: 10) }
        return configuration
    }

    /// How the run before the next one ended is known.
    @Test func onlyTheRepeatedAttemptStartsAgain() {
        let fixture = EngineFixture(retrying())
        fixture.emit("c")
        let again = EngineFixture(retrying(), restoring: stored(fixture))
        again.endFirst(.exited(1))
        again.advance(seconds: 20)
        #expect(again.starts.map(\.run.attempt) == [1, 2] && again.starts.allSatisfy(\.isRedelivered))
        #expect(again.starts.map(\.startsAgain) == [true, false])
        let why = (again.engine.explain(operation: 1) ?? []).map(\.sentence).filter { $0.contains("started") }
        #expect(why.map { $0.contains("started again") } == [true, false], "\(why)")
    }

    /// A run that a watchd had found, and that has failed: only the store knows that another was to come.
    @Test func whatWaitedForItsNextAttemptDidNotRun() {
        let fixture = EngineFixture(retrying())
        fixture.emit("c")
        fixture.endFirst(.exited(1))
        var state = stored(fixture)
        #expect(state.operations.map(\.attempt) == [2] && !state.operations[0].isExecuting)
        state.operations[0].isDurable = false
        let again = EngineFixture(retrying(), restoring: state)
        #expect(again.results == ["c failed"] && again.starts.isEmpty)
        #expect(again.ended.first?.reason == "watchd ended before attempt 2 could start")
    }

    @Test func whatWasNotSplitIsNotSplitWhileItRuns() {
        let fixture = EngineFixture(splitting(by: nil))
        fixture.suspend("queue/kept")
        for payload in 1...4 { fixture.emit("c", payload: "\(payload)") }
        fixture.resume("queue/kept")
        var state = stored(fixture)
        state.operations[0].runs = [StoredRun(part: 0, pid: 70, started: fixture.now.realtime)]
        let again = EngineFixture(splitting(by: 1), restoring: state)
        #expect(again.adopted.map(\.pid) == [70] && again.starts.isEmpty)
        again.end(RunID(operation: 1, attempt: 1))
        #expect(again.results == ["c done"] && again.starts.isEmpty)
    }

    // MARK: Requires=

    private func requiring(_ names: [String]) -> Configuration {
        .of(
            queues: [QueueDefinition(name: "kept", isDurable: true)],
            handlers: [.exec("a"), .exec("b") { $0.constraints.requires = ["a"] }].filter { names.contains($0.name) },
            sources: [.custom("c", to: names[0], on: "kept")])
    }

    private var both: Configuration {
        .of(
            queues: [QueueDefinition(name: "kept", isDurable: true)],
            handlers: [.exec("a"), .exec("b") { $0.constraints.requires = ["a"] }],
            sources: [.custom("c", to: "a", "b", on: "kept")])
    }

    @Test(arguments: [(Exit.exited(0), ["b"]), (.exited(1), [])])
    func whatARequiredOperationCameToInAStopIsKeptThoughNobodyRemembersIt(exit: Exit, starts: [String]) {
        let fixture = EngineFixture(both)
        fixture.emit("c")
        fixture.send(.drain)
        fixture.endFirst(exit)
        let again = EngineFixture(both, restoring: stored(fixture))
        #expect(again.starts.map(\.definition.value.name) == starts)
        #expect(again.results == (starts.isEmpty ? ["b cancelled"] : []))
    }

    @Test func anOrphanKnowsHowEndedWhatItRequires() {
        let fixture = EngineFixture(both)
        fixture.emit("c")
        var state = stored(fixture)
        // It ended in the last life; the history knows.
        state.operations.removeAll { $0.handler == "a" }
        state.results = [1: .done]
        let again = EngineFixture(requiring(["a"]), restoring: state)
        #expect(again.engine.unplacedViews.map(\.handler) == ["b"])
        again.reload(both)
        #expect(again.starts.map(\.definition.value.name) == ["b"])
    }

    /// The queue of the first is gone, and the second requires it on one that is there.
    @Test(arguments: [true, false]) func anOperationThatWaitsForAnOrphanGoesOnWhenThatIsCancelled(byQueue: Bool) {
        let fixture = EngineFixture(both)
        fixture.emit("c")
        var state = stored(fixture)
        for index in state.operations.indices where state.operations[index].handler == "a" {
            state.operations[index].queue = "gone"
        }
        let again = EngineFixture(both, restoring: state)
        #expect(
            again.engine.unplacedViews.map(\.waitingFor) == [
                "queue/gone, which does not exist any more", "operation 1, which waits for queue/gone",
            ])
        #expect(again.engine.missingSections.map { "\($0.key) \($0.value.count)" } == ["queue/gone 1"])
        #expect(again.error(again.command(.wait(.named("kept"), after: nil, caller: nil))) == nil)
        if byQueue { again.command(.cancelQueue(name: "gone")) } else { again.cancel(1) }
        #expect(again.results == ["a cancelled", "b cancelled"])
        #expect(again.ended.last?.reason?.hasSuffix("operation 1 cancelled") == true)
        #expect(again.engine.unplacedViews.isEmpty && again.starts.isEmpty)
    }

    @Test(arguments: ["", "handler/"]) func orphansAreCancelledByTheNameOfAHandlerThatIsGone(kind: String) {
        let fixture = EngineFixture(both)
        fixture.emit("c")
        var state = stored(fixture)
        for index in state.operations.indices where state.operations[index].handler == "a" {
            state.operations[index].handler = "former"
        }
        let again = EngineFixture(both, restoring: state)
        #expect(again.engine.missingSections.map { "\($0.key) \($0.value.count)" } == ["handler/former 1"])
        // One that is there is no queue.
        #expect(again.error(again.command(.cancelQueue(name: kind + "a"))) != nil)
        again.command(.cancelQueue(name: kind + "former"))
        #expect(again.engine.unplacedViews.isEmpty)
    }

    /// The queue of a living run has another name by now.
    @Test func aRunWhoseQueueIsGoneHoldsItsPlaceOnThatOfItsHandler() {
        let fixture = EngineFixture(requiring(["a"]))
        fixture.emit("c")
        var state = stored(fixture)
        state.operations[0].queue = "former"
        state.operations[0].runs = [StoredRun(part: 0, pid: 77, started: fixture.now.realtime)]
        let again = EngineFixture(requiring(["a"]), restoring: state)
        #expect(again.adopted.map(\.pid) == [77] && again.engine.unplacedViews.isEmpty)
        #expect(again.engine.operation(1)?.queue == "kept")
        again.emit("c")
        #expect(again.starts.isEmpty, "the queue is serial")
        let saved = again.writes.compactMap { if case .update(let operation) = $0 { operation.queue } else { nil } }
        #expect(saved.first == "kept")
        again.end(RunID(operation: 1, attempt: 1))
        #expect(again.results == ["a done"])
        #expect(again.starts.count == 1)
    }

    // MARK: A store that opens late

    @Test func aMarkThatComesLateSkipsWhatWaits() {
        let configuration = Configuration.of(
            queues: [.serial("plain")], handlers: [.exec("h") { $0.constraints.once = .boot }],
            sources: [.custom("c", to: "h", on: "plain")])
        let fixture = EngineFixture(configuration)
        fixture.suspend("queue/plain")
        fixture.emit("c")
        #expect(!fixture.engine.isOnceDone("h"))
        var state = StoredState()
        state.once = ["h"]
        fixture.send(.restored(state))
        fixture.resume("queue/plain")
        #expect(fixture.starts.isEmpty && fixture.results == ["h skipped"])
        #expect(fixture.engine.isOnceDone("h"))
    }

    @Test(arguments: [true, false]) func whatWasHeldBeforeRunsBeforeWhatCameMeanwhile(isSuspended: Bool) throws {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", isDurable: true)], handlers: [.exec("h")],
            sources: [.fifo("f", to: "h", on: "kept")])
        let before = EngineFixture(configuration)
        before.suspend("descriptor/f")
        for number in 1...3 { before.line("f", "\(number)") }
        var state = stored(before)
        #expect(state.held.map(\.events.count) == [3])
        state.suspensions = [:]

        let fixture = EngineFixture(configuration)
        fixture.send(.store(.failing("no space left")))
        if isSuspended { fixture.suspend("descriptor/f") }
        for number in 4...5 { fixture.line("f", "\(number)") }
        fixture.send(.restored(state))
        fixture.send(.store(.working))
        if isSuspended { fixture.resume("descriptor/f") }
        var ran: [String] = []
        while let start = fixture.starts.last, ran.count < 5 {
            ran += start.events.compactMap { event in
                guard case .line(let fact) = event.fact else { return nil }
                return String(decoding: fact.bytes, as: UTF8.self)
            }
            fixture.end(start.run)
        }
        #expect(ran == ["1", "2", "3", "4", "5"])
    }

    @Test func whatASourceHeldThatIsNotThereAnyMoreWaitsForIt() throws {
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", isDurable: true)], handlers: [.exec("h")],
            sources: [.custom("x", to: "h", on: "kept")])
        let before = EngineFixture(configuration)
        before.suspend("custom/x")
        before.emit("x", 7)
        let state = stored(before)

        let fixture = EngineFixture(.of(), restoring: state)
        #expect(fixture.engine.orphanHolds.map(\.events.count) == [1])
        fixture.reload(configuration)
        #expect(fixture.engine.orphanHolds.isEmpty && fixture.running == [], "it is suspended as it was")
        fixture.resume("custom/x")
        #expect(fixture.running == ["h: data:7"])
    }

    @Test func idsThatTheStoreCannotHearOfAreNotGivenOutAgain() throws {
        let configuration = DurableTests.configuration()
        var state = StoredState()
        (state.lastEventID, state.lastOperationID, state.idsReserved) = (40, 30, 2)
        func ids(_ fixture: EngineFixture, _ count: Int) -> [UInt64] {
            (0..<count).compactMap { _ in
                fixture.emit("n")
                guard let run = fixture.starts.last?.run else { return nil }
                fixture.end(run)
                return run.operation
            }
        }
        let fixture = EngineFixture(configuration, restoring: state)
        fixture.send(.store(.failing("no space left")))
        let clock = UInt64(fixture.now.realtime)
        #expect(ids(fixture, 4) == [31, 32, clock, clock + 1])
        // Nothing of it was stored: the next one begins where this one did.
        let again = EngineFixture(configuration, restoring: state)
        again.send(.store(.failing("no space left")))
        again.advance(seconds: 1)
        #expect(ids(again, 3) == [31, 32, clock + 1_000_000])
    }

    @Test func aStartThatWaitsForTheStoreSaysSo() throws {
        let fixture = EngineFixture(DurableTests.configuration())
        fixture.emit("c")
        #expect(fixture.engine.operation(1)?.waitingFor == nil)
        fixture.send(.store(.failing("no space left")))
        let view = try #require(fixture.engine.operation(1))
        #expect(view.waitingFor == "the store: no space left" && view.waitReason == .store)
        fixture.send(.store(.working))
        fixture.spawn(RunID(operation: 1, attempt: 1))
        fixture.send(.store(.failing("no space left")))
        #expect(fixture.engine.operation(1)?.waitingFor == nil, "it runs")
    }

    // MARK: Why a run is ended

    @Test func aTimeOutDuringAStopIsNoStop() {
        let configuration = DurableTests.configuration { $0.timeout = .seconds(5) }
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.emit("n")
        let (kept, plain) = (RunID(operation: 1, attempt: 1), RunID(operation: 2, attempt: 1))
        for run in [kept, plain] { fixture.spawn(run) }
        #expect(fixture.engine.whyEnding(kept) == nil)
        fixture.send(.drain)
        fixture.advance(seconds: 6)
        #expect(fixture.engine.whyEnding(kept) == "TimeoutSec= is over")
        #expect(fixture.engine.whyEnding(plain) == "TimeoutSec= is over")
        fixture.send(.hurry)
        #expect(fixture.engine.whyEnding(kept) == "watchd stops; it runs again after the next start")
        #expect(fixture.engine.whyEnding(plain) == "watchd stops")
    }
}
