import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Conditions of a run")
struct ConditionTests {
    private static let exists = RunConditions(paths: [PathCondition(path: Array("/x".utf8))])

    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.concurrent("q", width: 4)],
                handlers: [
                    .exec("h") {
                        $0.conditions = Self.exists
                        change(&$0)
                    },
                    .exec("after") { $0.constraints.after = ["h"] },
                    .exec("requires") { $0.constraints.requires = ["h"] }, .exec("told"),
                ],
                sources: [
                    .custom("x", to: "h"), .custom("two", to: "h", "after", "requires"),
                    .fifo("f", to: "h", on: "q", key: .handler, coalesces: true),
                ]))
    }

    private func skip(_ fixture: EngineFixture, part: Int = 0) {
        guard let run = fixture.runs.first(where: { $0.part == part }) else { return }
        fixture.skip(run, reason: "ConditionPathExists=/x does not hold")
    }

    @Test func oneThatDoesNotHoldEndsTheDeliverySkippedWithTheReason() {
        let fixture = fixture {
            $0.retry.limit = 3
            $0.completions.success = ["told"]
            $0.completions.failure = ["told"]
            $0.completions.change = ["told"]
            $0.completions.retry = ["told"]
        }
        fixture.emit("x")
        skip(fixture)
        #expect(fixture.results == ["h skipped"])
        #expect(fixture.ended.first?.reason == "ConditionPathExists=/x does not hold")
        #expect(fixture.counters(handler: "h")?[.skipped] == 1 && fixture.engine.processesRunning == 0)
        #expect(fixture.running.isEmpty, "it is neither success nor failure")
        let steps = fixture.engine.explain(handler: "h") ?? []
        #expect(steps.contains { $0.code == .skipped && $0.sentence.contains("does not hold") }, "\(steps)")
    }

    @Test func onFinishedIsToldOnceThatItWasSkipped() {
        let fixture = fixture { $0.completions.finished = ["told"] }
        fixture.emit("x")
        skip(fixture)
        #expect(fixture.running == ["told: finished(1)"])
        let results = fixture.starts.flatMap(\.events).compactMap { event in
            if case .completion(let fact) = event.fact { fact.result } else { nil }
        }
        #expect(results == [.skipped])
    }

    @Test func onFinishedIsToldOfASplitOperationOnce() {
        let fixture = fixture {
            $0.stride = 1
            $0.completions.finished = ["told"]
        }
        fixture.suspend("q")
        for line in ["a", "b"] { fixture.line("f", line) }
        fixture.resume("q")
        skip(fixture, part: 0)
        #expect(fixture.runs.map(\.part) == [1])
        skip(fixture, part: 1)
        #expect(fixture.running == ["told: finished(1)"])
    }

    @Test func onFinishedIsNotToldOfWhatIsSkippedBeforeItsTurn() {
        let once = fixture {
            $0.constraints.once = .ever
            $0.completions.finished = ["told"]
        }
        once.emit("x")
        once.emit("x")
        once.endFirst()
        #expect(once.results == ["h done", "h skipped"])
        once.emit("x")
        #expect(once.running == ["told: finished(1)"])
        let overlap = fixture {
            $0.overlap = .skip
            $0.completions.finished = ["told"]
        }
        overlap.emit("x")
        overlap.emit("x")
        #expect(overlap.counters(handler: "h")?[.skipped] == 1 && overlap.running == ["h: data:1"])
    }

    @Test func itIsLookedAtBeforeEachAttempt() {
        let fixture = fixture { $0.retry = RetryPolicy(limit: 2, delay: .seconds(1)) }
        fixture.emit("x")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 3)
        #expect(fixture.runs.map(\.attempt) == [2])
        skip(fixture)
        #expect(fixture.results == ["h skipped"])
    }

    @Test func whoFollowsGoesOnAndWhoRequiresIsCancelled() {
        let fixture = fixture()
        fixture.emit("two")
        skip(fixture)
        #expect(fixture.running == ["after: data:1"])
        #expect(Set(fixture.results) == ["h skipped", "requires cancelled"])
    }

    @Test func onceIsNotFulfilledByIt() {
        let fixture = fixture { $0.constraints.once = .ever }
        fixture.emit("x")
        skip(fixture)
        fixture.emit("x")
        #expect(fixture.running == ["h: data:1"])
    }

    @Test func eachPartOfASplitOperationHasItsOwn() {
        let fixture = fixture {
            $0.stride = 1
            $0.retry = RetryPolicy(limit: 1, delay: .seconds(1))
        }
        fixture.suspend("q")
        for line in ["a", "b", "c"] { fixture.line("f", line) }
        fixture.resume("q")
        skip(fixture, part: 1)
        #expect(fixture.runs.map(\.part) == [0, 2], "the others go on")
        fixture.end(fixture.runs[0], .exited(1))
        fixture.endFirst()
        fixture.advance(seconds: 2)
        #expect(fixture.runs.map(\.part) == [0], "what failed is tried again, what was skipped is not")
        fixture.endFirst()
        #expect(fixture.results == ["h skipped"], "not all of it was done")
    }

    @Test func aFailureOfAPartCountsMoreThanASkippedOne() {
        let fixture = fixture { $0.stride = 1 }
        fixture.suspend("q")
        for line in ["a", "b"] { fixture.line("f", line) }
        fixture.resume("q")
        fixture.end(fixture.runs[0], .exited(1))
        skip(fixture, part: 1)
        #expect(fixture.results == ["h failed"])
    }

    @Test func whatIsCancelledMeanwhileIsCancelled() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.cancel(1)
        skip(fixture)
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aTimeOutIsAFailureWhateverTheConditionSays() {
        let fixture = fixture { $0.timeout = .seconds(1) }
        fixture.emit("x")
        fixture.advance(seconds: 2)
        skip(fixture)
        #expect(fixture.results == ["h failed"] && fixture.ended[0].reason?.hasPrefix("timed out after ") == true)
    }

    @Test func logAndEmitAreDoneWhenTheConditionsHold() {
        let conditions: (inout HandlerDefinition) -> Void = { $0.conditions = Self.exists }
        var log = HandlerDefinition.log("l", [.literal(Array("seen".utf8))])
        var emit = HandlerDefinition.emit("e", into: "y")
        conditions(&log)
        conditions(&emit)
        let fixture = EngineFixture(
            .of(
                handlers: [log, emit, .exec("h")],
                sources: [.custom("x", to: "l"), .custom("z", to: "e"), .custom("y", to: "h")]))
        fixture.emit("x")
        #expect(fixture.logs.isEmpty && fixture.engine.processesRunning == 1, "the rim looks first")
        fixture.endFirst()
        #expect(fixture.logs == ["seen"] && fixture.results == ["l done"])
        fixture.emit("z")
        fixture.endFirst()
        #expect(fixture.results == ["l done", "e done"] && fixture.running == ["h: data:1"])
        fixture.endAll()
        fixture.emit("x")
        skip(fixture)
        #expect(fixture.logs == ["seen"] && fixture.results.last == "l skipped")
        #expect(fixture.engine.processesRunning == 0)
    }
}
