import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("OnSuccess=, OnFailure=, OnFinished=")
struct CompletionTests {
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q", change), .exec("after"), .exec("last")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
    }

    @Test func successFailureAndFinishedStartTheirHandlers() {
        let fixture = fixture {
            $0.completions.success = ["after"]
            $0.completions.failure = ["last"]
        }
        fixture.emit("x")
        fixture.endFirst()
        #expect(fixture.running == ["after: success(1)"])
        fixture.endFirst()
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["last: failure(3)"])
    }

    private static func command(_ specifier: Specifier) -> HandlerAction {
        let program = Template(parts: [.literal(Array("/bin/x".utf8))])
        return .exec([Command(words: [.template(program), .template(Template(parts: [.specifier(specifier)]))])])
    }

    /// The key of the source keeps its paths apart; nothing keeps apart what is told of them.
    @Test(arguments: [(Specifier.lastComponent, 3), (.result, 1)])
    func aHandlerThatIsAboutOnePathIsToldOfEachByItself(_ specifier: Specifier, operations: Int) throws {
        let configuration = Configuration.of(
            queues: [.serial("q"), QueueDefinition(name: "told", isDurable: true)],
            handlers: [
                .exec("h", queue: "q") { $0.completions.success = ["after"] },
                .exec("after", queue: "told") { $0.action = Self.command(specifier) },
            ], sources: [.path("p", to: "h", on: "q", key: .template(Template(parts: [.specifier(.path)])))])
        let fixture = EngineFixture(configuration)
        fixture.suspend("told")
        for path in ["/a/1", "/a/2", "/a/3"] { fixture.path("p", .written, path, root: "/a") }
        for _ in 0..<3 { fixture.endFirst() }
        #expect(fixture.engine.operationsWaiting == operations)
        let again = EngineFixture(
            configuration, at: fixture.now, restoring: DurableTests.state(fixture.writes, ended: fixture.ended))
        again.resume("told")
        for _ in 0..<operations { again.endFirst() }
        #expect(again.results == [String](repeating: "after done", count: operations))
    }

    /// Nor by the restart that `Overlap=restart` means.
    @Test func aRestartTakesNoPathAwayFromAHandlerThatIsAboutOne() {
        let key = KeyRule.template(Template(parts: [.specifier(.path)]))
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("h") { $0.completions.success = ["after"] },
                    .exec("after") { ($0.action, $0.overlap) = (Self.command(.path), .restart) },
                ], sources: [.path("p", to: "h", key: key)]))
        for path in ["/a/1", "/a/2"] { fixture.path("p", .written, path, root: "/a") }
        for _ in 0..<2 { fixture.end("h") }
        fixture.end("after", .signaled(15))
        for _ in 0..<2 { fixture.end("after") }
        #expect(fixture.results.filter { $0 == "after done" }.count == 2)
    }

    @Test func finishedIsToldHoweverItEnded() {
        let fixture = fixture { $0.completions.finished = ["after"] }
        for _ in 0..<4 { fixture.emit("x") }
        fixture.command(.cancel(operation: 4))
        #expect(fixture.running == ["h: data:1", "after: finished(4)"])
        fixture.endFirst()
        fixture.end(RunID(operation: 2, attempt: 1), .exited(1))
        fixture.endAll()
        let told = fixture.starts.filter { $0.definition.value.name == "after" }.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact {
                "\(fact.operation) \(fact.result?.rawValue ?? "-")"
            } else {
                nil
            }
        }
        #expect(told == ["4 cancelled", "1 done", "2 failed", "3 done"])
    }

    /// What `OnFinished=` is told of the reason, as handlers see it.
    private func reason(
        _ change: (inout HandlerDefinition) -> Void = { _ in }, _ end: (EngineFixture) -> Void
    ) -> String? {
        let fixture = fixture {
            $0.completions.finished = ["after"]
            change(&$0)
        }
        fixture.emit("x")
        end(fixture)
        return fixture.starts.last { $0.definition.value.name == "after" }.map { request in
            String(decoding: RunContext(request).value(.reason), as: UTF8.self)
        }
    }

    @Test func whyItDidNotSucceedIsTold() {
        #expect(reason { $0.endFirst() } == "")
        #expect(reason { $0.endFirst(.exited(12)) } == "exit 12")
        #expect(reason { $0.endFirst(.signaled(9)) } == "SIGKILL")
        #expect(reason { $0.fail(toStart: $0.runs[0], reason: "/x: no such file") } == "/x: no such file")
        #expect(reason { $0.endFirst(nil, reason: "its end is unknown") } == "its end is unknown")
        #expect(reason { $0.skip($0.runs[0], reason: "ExecCondition=: exit 1") } == "ExecCondition=: exit 1")
        let cancelled = reason { fixture in
            fixture.cancel(1)
            fixture.endFirst(.signaled(15))
        }
        #expect(cancelled == "cancelled while it ran")
        let late = reason({ $0.timeout = .seconds(3) }) { fixture in
            fixture.advance(seconds: 4)
            fixture.endFirst(.signaled(15))
        }
        #expect(late == "timed out after 3s")
        let waited = reason({ $0.constraints.startTimeout = .seconds(3) }) { fixture in
            fixture.emit("x")
            fixture.advance(seconds: 4)
        }
        #expect(waited?.hasPrefix("waited too long for its start: StartTimeoutSec=3s (") == true, "\(waited ?? "")")
    }

    @Test func anAttemptThatFailsTellsWhyToo() {
        let fixture = fixture {
            $0.completions.retry = ["after"]
            $0.retry = .times(1)
        }
        fixture.emit("x")
        fixture.endFirst(.exited(3))
        guard case .completion(let fact) = fixture.starts.last?.events.last?.fact else {
            Issue.record("no completion")
            return
        }
        #expect(fact.outcome == .retry && fact.reason == "exit 3")
    }

    @Test func aCompletionTellsTheRunAndItsCause() {
        let fixture = fixture { $0.completions.failure = ["after"] }
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
                handlers: [.exec("h") { $0.completions.finished = ["after"] }, .exec("after")],
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
            .of(handlers: [.exec("h") { $0.completions.success = ["h"] }], sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.story.count == 17)
        #expect(fixture.counters(handler: "h")?[.dropped] == 1)
        #expect(fixture.engine.operationViews.isEmpty)
    }

    @Test func aRunThatGoesOnStartsTheHandlersItStartedWith() {
        for isRemoved in [false, true] {
            let fixture = fixture { $0.completions.success = ["after"] }
            fixture.emit("x")
            fixture.reload(.of(queues: [.serial("q")], handlers: isRemoved ? [] : [.exec("h")]))
            #expect(fixture.engine.handlers.index(of: "after") != nil)
            fixture.endAll()
            #expect(fixture.story == ["h: data:1", "after: success(1)"])
            #expect(fixture.engine.handlers.index(of: "after") == nil)
        }
    }

    @Test func aRemovedHandlerStaysNoLongerThanAnOperationMayStartIt() {
        let fixture = fixture { $0.completions.failure = ["after"] }
        fixture.emit("x")
        fixture.reload(.of(queues: [.serial("q")], handlers: [.exec("h")]))
        #expect(fixture.engine.handlers.index(of: "after") != nil)
        fixture.endAll()
        #expect(fixture.story == ["h: data:1"])
        #expect(fixture.engine.handlers.index(of: "after") == nil)
    }

    // MARK: OnRetry, OnChange, OnFinished

    private func outcomes(_ fixture: EngineFixture, of handler: String = "after") -> [String] {
        fixture.starts.filter { $0.definition.value.name == handler }.flatMap(\.events).map(\.shown)
    }

    @Test func everyFailedAttemptWithOneToComeIsTold() {
        let fixture = fixture {
            $0.retry = .times(2, after: 1)
            $0.completions.retry = ["after"]
            $0.completions.failure = ["last"]
        }
        fixture.emit("x")
        fixture.end("h", .exited(4), output: "why")
        guard case .completion(let fact) = fixture.starts.last?.events.first?.fact else {
            Issue.record("no completion")
            return
        }
        #expect(fact.outcome == .retry && fact.result == .failed && fact.exit == .exited(4) && fact.operation == 1)
        #expect(fact.output == Array("why".utf8))
        fixture.end("after")
        for _ in 0..<2 {
            fixture.advance(seconds: 3)
            fixture.end("h", .exited(1))
        }
        fixture.endAll()
        #expect(outcomes(fixture) == ["retry(1)", "retry(1)"] && outcomes(fixture, of: "last") == ["failure(1)"])
    }

    @Test func aRetryIsToldToTheHandlersThatItsTryBeganWith() {
        let fixture = self.fixture {
            $0.retry = .times(1, after: 1)
            $0.completions.retry = ["after"]
        }
        fixture.emit("x")
        let changed = HandlerDefinition.exec("h", queue: "q") { $0.completions.retry = ["last"] }
        fixture.reload(
            .of(
                queues: [.serial("q")], handlers: [changed, .exec("last")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["after: retry(1)"])
        // One that nobody can start any more goes with the try.
        let gone = self.fixture {
            $0.retry = .times(1, after: 1)
            $0.completions.failure = ["after"]
        }
        gone.emit("x")
        gone.reload(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q") { $0.retry = .times(1, after: 1) }],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
        gone.endFirst(.exited(1))
        #expect(gone.engine.handlers.index(of: "after") == nil)
    }

    @Test func aSuccessAfterARetryIsASuccessAndNoFailure() {
        let fixture = fixture {
            $0.retry = .times(2, after: 1)
            $0.completions.success = ["after"]
            $0.completions.failure = ["last"]
        }
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 2)
        fixture.endFirst()
        fixture.endAll()
        #expect(outcomes(fixture) == ["success(1)"] && outcomes(fixture, of: "last") == [])
    }

    @Test func aChangeFromSuccessToFailureOrBackIsTold() {
        let fixture = fixture { $0.completions.change = ["after"] }
        // The first result differs from nothing.
        for code: Int32 in [0, 0, 1, 2, 0, 0] {
            fixture.emit("x")
            fixture.end("h", .exited(code))
            while !fixture.runs.isEmpty { fixture.endFirst() }
        }
        #expect(outcomes(fixture) == outcomes(fixture).filter { $0.hasPrefix("change") })
        let told = fixture.starts.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact { fact.result } else { nil }
        }
        #expect(told == [.failed, .done])
    }

    @Test func aCancelIsNoChange() {
        let fixture = fixture { $0.completions.change = ["after"] }
        for _ in 0..<3 { fixture.emit("x") }
        fixture.endFirst()
        fixture.cancel(fixture.operations("h")[0].id)
        fixture.endFirst(.signaled(15))
        fixture.endFirst()
        #expect(outcomes(fixture) == [] && fixture.results == ["h done", "h cancelled", "h done"])
    }

    @Test func attemptsThatAreRetriedAreNoChange() {
        let fixture = fixture {
            $0.completions.change = ["after"]
            $0.retry = .times(1, after: 1)
        }
        fixture.emit("x")
        fixture.endFirst()
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 2)
        fixture.endFirst()
        #expect(outcomes(fixture) == [])
    }

    @Test func finishedIsToldOnceHoweverManyAttempts() {
        let fixture = fixture {
            $0.completions.finished = ["after"]
            $0.retry = .times(1, after: 1)
        }
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        #expect(outcomes(fixture) == [])
        fixture.advance(seconds: 2)
        fixture.endFirst(.exited(1))
        #expect(outcomes(fixture) == ["finished(1)"])
    }

    @Test func finishedIsToldAlsoOfWhatWasCancelledWhileItWaitedRanOrBackedOff() {
        let fixture = fixture {
            $0.completions.finished = ["after"]
            $0.retry = .times(1, after: 100)
        }
        for _ in 0..<3 { fixture.emit("x") }
        fixture.cancel(2)
        fixture.cancel(1)
        fixture.end("h", .signaled(15))
        fixture.end("h", .exited(1))
        fixture.cancel(3)
        fixture.endAll()
        let told = fixture.starts.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact {
                "\(fact.operation) \(fact.result?.rawValue ?? "-")"
            } else {
                nil
            }
        }
        #expect(told == ["2 cancelled", "1 cancelled", "3 cancelled"])
    }

    @Test func aCompletionRunsOnTheQueueOfItsHandler() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q"), .serial("p")],
                handlers: [.exec("h", queue: "q") { $0.completions.success = ["after"] }, .exec("after", queue: "p")],
                sources: [.custom("x", to: "h", on: "q")]))
        fixture.emit("x")
        fixture.endFirst()
        #expect(fixture.starts.last?.queue == "p")
    }
}
