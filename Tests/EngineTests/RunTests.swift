import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Runs and their ends")
struct RunTests {
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q", change), .exec("after"), .exec("last")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
    }

    // MARK: Results

    @Test func anExitStatusDecides() {
        let fixture = fixture { $0.successExitStatus = ExitStatusSet(codes: [3], signals: [15]) }
        for exit in [Exit.exited(0), .exited(3), .signaled(15), .exited(1), .signaled(9)] {
            fixture.emit("x")
            fixture.endFirst(exit)
        }
        #expect(fixture.results == ["h done", "h done", "h done", "h failed", "h failed"])
        #expect(fixture.ended.map(\.exit) == [.exited(0), .exited(3), .signaled(15), .exited(1), .signaled(9)])
        #expect(fixture.engine.handlerViews.first { $0.definition.name == "h" }?.lastResult == .failed)
    }

    @Test func aRunThatCannotStartHasFailedWithAReason() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        fixture.fail(toStart: fixture.runs[0], reason: "/bin/true: no such file")
        #expect(fixture.ended.first?.reason == "/bin/true: no such file" && fixture.results == ["h failed"])
        #expect(fixture.running.count == 1)
    }

    @Test func anUnknownEndIsAFailure() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.endFirst(nil)
        #expect(fixture.ended.first?.reason == "its end is unknown")
    }

    @Test func aViewTellsWhereAnOperationStands() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        #expect(fixture.engine.operation(1)?.pid == nil)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.engine.operation(1)?.pid == 1001)
        #expect(fixture.engine.handlerViews.first?.runningPIDs == [1001])
        #expect(fixture.engine.operation(2)?.state == .pending)
        #expect(fixture.engine.operation(2)?.waitingFor == "1 (same key)")
        fixture.advance(seconds: 2)
        fixture.endFirst(output: "hello")
        #expect(fixture.ended[0].output == Array("hello".utf8))
        #expect(fixture.ended[0].ended.map { $0 - fixture.ended[0].submitted } == 2_000_000)
        #expect(fixture.engine.operation(1) == nil)
    }

    @Test func whatTheRimSaysOfUnknownRunsIsIgnored() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        fixture.send(.runEnded(RunID(operation: 2, attempt: 1), .exited(0)))
        fixture.send(.runStarted(RunID(operation: 99, attempt: 1), pid: 5))
        fixture.send(.event(SourceID(.path, "nobody"), .path(PathFact(.written, path: [47]))))
        #expect(fixture.running.count == 1 && fixture.ended.isEmpty)
    }

    // MARK: Time-out

    @Test func aTimeOutAsksFirstAndThenKills() {
        let fixture = fixture {
            $0.timeout = .seconds(10)
            $0.timeoutStop = .seconds(5)
            $0.killSignal = 2
        }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 9.9)
        #expect(fixture.signals == [])
        fixture.advance(seconds: 0.1)
        #expect(fixture.signals == ["1 SIGINT tree"])
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGINT tree", "1 SIGKILL tree"])
        fixture.advance(seconds: 100)
        #expect(fixture.signals.count == 2)
        fixture.endFirst(.signaled(9))
        #expect(fixture.results == ["h failed"])
        #expect(fixture.ended.first?.reason == "ran longer than TimeoutSec=10s, killed")
    }

    @Test func aRunStillOnItsWayIsSignalledWhenItComes() {
        let fixture = fixture {
            $0.timeout = .seconds(1)
            $0.timeoutStop = .seconds(5)
            $0.killMode = .process
        }
        fixture.emit("x")
        fixture.advance(seconds: 2)
        #expect(fixture.signals == [])
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM process"])
        fixture.endFirst()
        fixture.emit("x")
        fixture.advance(seconds: 60)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM process", "2 SIGKILL process"])
        #expect(fixture.results == ["h failed"])
    }

    @Test func killModeNoneSignalsNobody() {
        let fixture = fixture {
            $0.timeout = .seconds(1)
            $0.killMode = .none
        }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 60)
        #expect(fixture.signals == [] && fixture.running.count == 1)
        fixture.endFirst()
        #expect(fixture.results == ["h failed"])
    }

    @Test func whatIsInTimeIsNeverSignalled() {
        let fixture = fixture { $0.timeout = .seconds(10) }
        for _ in 0..<3 {
            fixture.emit("x")
            fixture.advance(seconds: 9)
            fixture.endFirst()
        }
        fixture.advance(seconds: 100)
        #expect(fixture.signals == [] && fixture.results == ["h done", "h done", "h done"])
    }

    @Test func deadlinesOfWhatHasEndedAreForgottenAndOthersKept() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 2)], handlers: [.exec("h") { $0.timeout = .seconds(86_400) }],
                sources: [.custom("x", to: "h", on: "q", key: .none)]))
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        for _ in 0..<1000 {
            fixture.emit("x")
            fixture.end(fixture.runs[1])
        }
        #expect(fixture.engine.deadlines.count(.monotonic) <= 257)
        fixture.advance(seconds: 86_400)
        #expect(fixture.signals == ["1 SIGTERM tree"])
    }

    // MARK: Cancel

    @Test func whatWaitsNeverStarts() {
        let fixture = fixture()
        for data in 1...3 { fixture.emit("x", Int64(data)) }
        guard case .cancelled(1) = fixture.reply(fixture.command(.cancel(operation: 2))) else {
            Issue.record("not cancelled")
            return
        }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:3"])
        #expect(fixture.results == ["h cancelled", "h done", "h done"])
        #expect(fixture.ended.first?.state == .cancelled)
    }

    @Test func whatRunsIsTerminatedAndKilledIfItMust() {
        let fixture = fixture { $0.timeoutStop = .seconds(5) }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.command(.cancel(operation: 1))
        fixture.command(.cancel(operation: 1))
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"])
        fixture.endFirst(.signaled(9))
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aRunStillOnItsWayIsCancelledWhenItComes() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.command(.cancel(operation: 1))
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.endFirst()
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aWholeQueueCanBeCancelled() {
        let fixture = fixture { $0.onFinished = ["after"] }
        for data in 1...3 { fixture.emit("x", Int64(data)) }
        fixture.spawn(fixture.runs[0])
        guard case .cancelled(3) = fixture.reply(fixture.command(.cancelQueue(name: "q"))) else {
            Issue.record("not cancelled")
            return
        }
        fixture.endAll()
        #expect(fixture.results.filter { $0 == "h cancelled" }.count == 3)
        #expect(fixture.story.filter { $0.hasPrefix("h") } == ["h: data:1"])
    }

    @Test func whatIsNotThereCannotBeCancelled() {
        let fixture = fixture()
        for (command, error) in [
            (Engine.Command.cancel(operation: 7), CommandError.noSuchOperation(7)),
            (.cancelQueue(name: "x"), .noSuchName("x", nearest: "q")),
            (.cancelQueue(name: "mian"), .noSuchName("mian", nearest: "main")),
        ] {
            guard case .failure(let found) = fixture.reply(fixture.command(command)) else {
                Issue.record("\(command) was done")
                continue
            }
            if case .noSuchName(let name, let nearest) = found, name == "x" {
                #expect(nearest == nil)
            } else {
                #expect(found == error)
            }
        }
    }

    // MARK: Completions

    @Test func successFailureAndFinishedStartTheirHandlers() {
        let fixture = fixture {
            $0.onSuccess = ["after"]
            $0.onFailure = ["last"]
        }
        fixture.emit("x")
        fixture.endFirst()
        #expect(fixture.running == ["after: success(1)"])
        fixture.endFirst()
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["last: failure(3)"])
    }

    @Test func finishedIsToldHoweverItEnded() {
        let fixture = fixture { $0.onFinished = ["after"] }
        for _ in 0..<4 { fixture.emit("x") }
        fixture.command(.cancel(operation: 4))
        #expect(fixture.running == ["h: data:1", "after: finished(4)"])
        fixture.endFirst()
        fixture.end(RunID(operation: 2, attempt: 1), .exited(1))
        fixture.endAll()
        let told = fixture.starts.filter { $0.definition.value.name == "after" }.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact { "\(fact.operation) \(fact.result)" } else { nil }
        }
        #expect(told == ["4 cancelled", "1 done", "2 failed", "3 done"])
    }

    @Test func aCompletionTellsTheRunAndItsCause() {
        let fixture = fixture { $0.onFailure = ["after"] }
        fixture.emit("x", 42)
        fixture.endFirst(.exited(12), output: "oh no")
        guard let request = fixture.starts.last, case .completion(let fact) = request.events[0].fact else {
            Issue.record("no completion")
            return
        }
        #expect(fact.outcome == .failure && fact.operation == 1 && fact.exit == .exited(12))
        #expect(fact.output == Array("oh no".utf8) && fact.cause.shown == "data:42")
        #expect(request.origin == .completion(handler: "h"))
        let context = RunContext(request)
        let values = [Specifier.result, .exitStatus, .data, .source, .kind, .event].map {
            String(decoding: context.value($0), as: UTF8.self)
        }
        #expect(values == ["failed", "12", "42", "x", "completion", "failure"])
    }

    @Test func whatWasSkippedDroppedOrAnnulledCompletesNothing() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1, overflow: .dropOldest)],
                handlers: [.exec("h") { $0.onFinished = ["after"] }, .exec("after")],
                sources: [.path("p", to: "h", on: "q", key: .perPath)]))
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .written, "/w/b")
        fixture.path("p", .created, "/w/c")
        fixture.path("p", .deleted, "/w/c")
        #expect(fixture.results == ["h dropped", "h annulled"])
        #expect(fixture.running == ["h: written:a"])
    }

    @Test func aChainEndsAfterSixteenHandlers() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h") { $0.onSuccess = ["h"] }], sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.story.count == 17)
        #expect(fixture.counters(handler: "h")?[.dropped] == 1)
        #expect(fixture.engine.operationViews.isEmpty)
    }

    @Test func handlersThatWereRemovedAreNotStarted() {
        let fixture = fixture { $0.onSuccess = ["after"] }
        fixture.emit("x")
        fixture.reload(.of(queues: [.serial("q")], handlers: [.exec("h")]))
        fixture.endAll()
        #expect(fixture.story == ["h: data:1"])
    }

    // MARK: Emit=, Log=

    @Test func logWritesALineAndIsDone() {
        let template: [Template.Part] = [
            .literal(Array("got ".utf8)), .specifier(.data), .literal(Array(" on ".utf8)), .specifier(.queue),
        ]
        let fixture = EngineFixture(
            .of(handlers: [.log("l", template)], sources: [.custom("x", to: "l", on: "utility")]))
        fixture.emit("x", 5)
        #expect(fixture.logs == ["got 5 on utility"] && fixture.results == ["l done"])
    }

    @Test func emitFiresACustomSource() {
        let data = Template(parts: [.specifier(.data), .literal([48])])
        let fixture = EngineFixture(
            .of(
                handlers: [.emit("e", into: "y", data: data), .emit("one", into: "y"), .exec("h")],
                sources: [.custom("x", to: "e"), .custom("z", to: "one"), .custom("y", to: "h", coalesces: false)]))
        fixture.emit("x", 4)
        fixture.emit("z", 9)
        fixture.endAll()
        #expect(fixture.story == ["h: data:40", "h: data:1"])
    }

    @Test func emitOfWhatIsNoNumberOrNoSourceHasFailed() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .emit("word", into: "x", data: Template(literal: "many")), .emit("gone", into: "nobody"),
                    .emit("zero", into: "y", data: Template(literal: "0")), .exec("h"),
                ],
                sources: [.custom("x", to: "word", "gone", "zero"), .custom("y", to: "h")]))
        fixture.emit("x")
        #expect(fixture.results == ["word failed", "gone failed", "zero done"])
        #expect(fixture.ended[0].reason == "Emit=: “many” is not a whole number of 64 bits")
        #expect(fixture.ended[1].reason == "Emit=: custom/nobody does not exist any more")
        #expect(fixture.starts.isEmpty)
    }

    @Test func aLoopOfEmitsEnds() {
        let fixture = EngineFixture(.of(handlers: [.emit("e", into: "x")], sources: [.custom("x", to: "e")]))
        fixture.emit("x")
        #expect(fixture.results.count == 17 && fixture.counters(handler: "e")?[.dropped] == 1)
    }

    @Test func aLoopOfEmitsWithManyBranchesEndsToo() {
        let names = (0..<2).map { "e\($0)" }
        let source = SourceDefinition(
            id: SourceID(.custom, "x"), routes: names.map { Route(handler: $0, queue: "q") }, key: .none,
            coalesces: false,
            trigger: .custom(CustomTrigger()))
        let configuration = Configuration.of(
            settings: DaemonSettings(maxOperations: 10), queues: [.concurrent("q", width: 2)],
            handlers: names.map { .emit($0, into: "x") }, sources: [source])
        var engine = Engine(configuration, at: EngineFixture.boot)
        let emission = Engine.Command.Emission(name: "x", fact: CustomFact(data: 1))
        _ = engine.handle(.command(.emit([emission]), Token(1)), at: EngineFixture.boot)
        #expect(engine.totals.outstanding == 0 && engine.totals[.dropped] > 0)
    }
}
