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
}
