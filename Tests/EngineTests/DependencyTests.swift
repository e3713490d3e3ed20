import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("After= and Requires=")
struct DependencyTests {
    /// One source `x` that starts `b` and `a`; `y` starts `a` alone, `z` starts `b` alone.
    private func fixture(
        coalesces: Bool = false, key: KeyRule = .handler, a: (inout HandlerDefinition) -> Void = { _ in },
        b: (inout HandlerDefinition) -> Void
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8), .concurrent("p", width: 8)],
                handlers: [.exec("a", queue: "p", a), .exec("b", queue: "q", b), .exec("c", queue: "q")],
                sources: [
                    .fifo("x", to: "b", "a", on: "q", key: key, coalesces: coalesces).with {
                        $0.routes[1].queue = "p"
                    },
                    .fifo("y", to: "a", on: "p", key: key), .fifo("z", to: "b", on: "q", key: key),
                ]))
    }

    private func after(_ handler: inout HandlerDefinition) { handler.constraints.after = ["a"] }

    private func requires(_ handler: inout HandlerDefinition) { handler.constraints.requires = ["a"] }

    // MARK: After

    /// The heir of a superseded operation has dependents of its own, which came later.
    @Test func dependentsGoOnInTheirOrderWhenTheirOperationIsSuperseded() {
        let fixture = fixture(a: { $0.overlap = .restart }, b: after)
        fixture.line("x", "1")
        for line in ["2", "3", "4"] {
            fixture.line("x", line)
            fixture.endFirst(.signaled(15))
        }
        fixture.endFirst()
        for _ in 0..<4 { fixture.endFirst() }
        #expect(fixture.story.suffix(4) == ["b: line:1", "b: line:2", "b: line:3", "b: line:4"])
    }

    @Test func afterWaitsForTheEndOfTheOtherAcrossQueues() {
        let fixture = fixture(b: after)
        fixture.line("x", "1")
        #expect(fixture.running == ["a: line:1"])
        let waiting = fixture.operations("b").first
        #expect(waiting?.waitReason == .dependency && waiting?.dependencies == fixture.operations("a").map(\.id))
        fixture.endFirst()
        #expect(fixture.running == ["b: line:1"])
    }

    @Test func afterGoesOnHoweverTheOtherEnded() {
        let fixture = fixture(b: after)
        fixture.line("x", "1")
        fixture.end("a", .exited(1))
        #expect(fixture.running == ["b: line:1"])
        fixture.endFirst()
        fixture.line("x", "2")
        fixture.cancel(fixture.operations("a")[0].id)
        #expect(fixture.running == ["a: line:2"], "it has not ended before its process is gone")
        fixture.end("a", .signaled(15))
        #expect(fixture.running == ["b: line:2"])
    }

    @Test func afterGoesOnWhenTheOtherWasSkippedAtTheDoor() {
        let fixture = fixture(a: { $0.overlap = .skip }, b: after)
        fixture.line("y", "1")
        fixture.line("x", "2")
        #expect(fixture.refusals == ["a skipped"] && fixture.running == ["a: line:1", "b: line:2"])
    }

    @Test func afterDoesNotWaitForOperationsOfOtherEvents() {
        let fixture = fixture(key: .perLine, b: after)
        fixture.line("y", "1")
        fixture.line("z", "2")
        #expect(fixture.running == ["a: line:1", "b: line:2"])
        fixture.line("x", "3")
        fixture.end("a")
        #expect(fixture.running == ["b: line:2", "a: line:3"])
        fixture.end(fixture.runs[1])
        #expect(fixture.running == ["b: line:2", "b: line:3"])
    }

    @Test func aRunByHandOfTheHandlerWaitsForNobodyAndOneOfTheSourceDoes() {
        let fixture = fixture(b: after)
        fixture.line("y", "1")
        fixture.run("b")
        #expect(fixture.running == ["a: line:1", "b: data:1"])
        fixture.endAll()
        fixture.run("descriptor/x")
        #expect(fixture.running == ["a: data:1"])
        fixture.endFirst()
        #expect(fixture.running == ["b: data:1"])
    }

    @Test func aDependentWaitsForTheLastAttempt() {
        let fixture = fixture(a: { $0.retry = .times(1, after: 10) }, b: after)
        fixture.line("x", "1")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["b: line:1"])
    }

    @Test func aDependentOfASupersededOneWaitsForItsSuccessor() {
        let fixture = fixture(a: { $0.overlap = .restart }, b: requires)
        fixture.line("x", "1")
        fixture.line("y", "2")
        #expect(fixture.signals == ["1 SIGTERM tree"] || fixture.signals == ["2 SIGTERM tree"])
        fixture.end("a", .signaled(15))
        #expect(fixture.running.map { $0.prefix(2) } == ["a:"])
        // Another source started the new one: the event may keep an operation of its own, and that is waited for.
        let carriers = fixture.operations("a").filter { $0.events.map(\.shown).contains("line:1") }
        #expect(carriers.count == 1 && fixture.operations("b").first?.dependencies == carriers.map(\.id))
        while fixture.operations("a").contains(where: { carriers.map(\.id).contains($0.id) }) {
            #expect(fixture.runs(of: "b").isEmpty)
            fixture.end("a")
        }
        #expect(fixture.running == ["b: line:1"] && fixture.operations("a").isEmpty)
    }

    @Test func onceOneItDependsOnHasStartedAnOperationTakesInNoMoreEvents() {
        let fixture = fixture(coalesces: true, b: after)
        fixture.line("x", "1")
        fixture.line("x", "2")
        fixture.line("x", "3")
        #expect(fixture.operations("a").map { $0.events.map(\.shown) } == [["line:1"], ["line:2", "line:3"]])
        #expect(fixture.operations("b").map { $0.events.map(\.shown) } == [["line:1"], ["line:2", "line:3"]])
        fixture.endFirst()
        #expect(
            fixture.running == ["a: line:2 line:3", "b: line:1"]
                || fixture.running == ["b: line:1", "a: line:2 line:3"])
        fixture.line("x", "4")
        #expect(fixture.operations("b").map(\.entries) == [1, 2, 1])
        fixture.endAll()
        #expect(fixture.results.count == 6)
    }

    @Test func inAChainAllAreClosedTogether() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)],
                handlers: [
                    .exec("a"), .exec("b") { $0.constraints.after = ["a"] },
                    .exec("c") { $0.constraints.after = ["b"] },
                ],
                sources: [.fifo("x", to: "c", "b", "a", on: "q", key: .handler, coalesces: true)]))
        for text in ["1", "2", "3"] { fixture.line("x", text) }
        for handler in ["a", "b", "c"] {
            #expect(fixture.operations(handler).map { $0.events.map(\.shown) } == [["line:1"], ["line:2", "line:3"]])
        }
        fixture.endAll()
        #expect(fixture.story.filter { $0.hasPrefix("c") } == ["c: line:1", "c: line:2 line:3"])
    }

    @Test func aDependentTakesItsPlaceInLineWhenItIsSubmitted() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q"), .serial("p")],
                handlers: [.exec("a"), .exec("b", after), .exec("c")],
                sources: [
                    .fifo("x", to: "b", "a", on: "q").with { $0.routes[1].queue = "p" }, .fifo("c", to: "c", on: "q"),
                ]))
        fixture.line("x", "1")
        fixture.line("c", "2")
        fixture.line("c", "3")
        // b is before them in age, and yet behind them in line.
        #expect(fixture.running == ["a: line:1", "c: line:2"])
        fixture.end("a")
        fixture.line("c", "4")
        fixture.endAll()
        #expect(fixture.story == ["a: line:1", "c: line:2", "c: line:3", "b: line:1", "c: line:4"])
    }

    @Test func aBarrierDoesNotWaitForADependentThatIsNotSubmitted() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8), .serial("p")],
                handlers: [.exec("a"), .exec("b", after), .exec("write") { $0.constraints.isBarrier = true }],
                sources: [
                    .fifo("x", to: "b", "a", on: "q").with { $0.routes[1].queue = "p" },
                    .fifo("w", to: "write", on: "q"),
                ]))
        fixture.line("x", "1")
        fixture.line("w", "2")
        #expect(fixture.running == ["a: line:1", "write: line:2"])
        fixture.end("a")
        #expect(fixture.running == ["write: line:2"])
        fixture.end("write")
        #expect(fixture.running == ["b: line:1"])
    }

    @Test func completionsKeepTheOrderTheirHandlersAskFor() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("h") { $0.completions.success = ["b", "a"] }, .exec("a"), .exec("b", after)],
                sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        fixture.endFirst()
        #expect(fixture.running == ["a: success(1)"])
        fixture.endFirst()
        #expect(fixture.running == ["b: success(1)"])
    }

    @Test func whatTheEventDoesNotStartIsNotWaitedFor() {
        let fixture = fixture { $0.constraints.after = ["c"] }
        fixture.line("x", "1")
        #expect(fixture.running.sorted() == ["a: line:1", "b: line:1"])
    }

    // MARK: Requires

    @Test func aRequirementMustSucceed() {
        let fixture = fixture(b: requires)
        fixture.line("x", "1")
        #expect(fixture.running == ["a: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["b: line:1"])
        fixture.endAll()
        fixture.line("x", "2")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [] && fixture.results.suffix(2) == ["a failed", "b cancelled"])
        #expect(fixture.counters(handler: "b")?[.cancelled] == 1)
    }

    @Test func aRequirementThatIsCancelledCancels() {
        let fixture = fixture(b: requires)
        fixture.suspend("p")
        fixture.line("x", "1")
        fixture.cancel(fixture.operations("a")[0].id)
        #expect(fixture.results.sorted() == ["a cancelled", "b cancelled"])
    }

    @Test func cancellationGoesDownTheChain() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("1"), .serial("2"), .serial("3")],
                handlers: [
                    .exec("a"), .exec("b") { $0.constraints.requires = ["a"] },
                    .exec("c") { $0.constraints.requires = ["b"] }, .exec("d") { $0.constraints.after = ["c"] },
                ],
                sources: [
                    .fifo("x", to: "d", "c", "b", "a").with {
                        for (index, queue) in ["3", "3", "2", "1"].enumerated() { $0.routes[index].queue = queue }
                    }
                ]))
        fixture.line("x", "1")
        fixture.line("x", "2")
        #expect(fixture.running == ["a: line:1"])
        fixture.endFirst(.exited(1))
        #expect(fixture.results == ["a failed", "b cancelled", "c cancelled"])
        #expect(fixture.running.sorted() == ["a: line:2", "d: line:1"])
        fixture.endAll()
        #expect(fixture.results.count == 8 && fixture.results.filter { $0.hasSuffix("done") }.count == 5)
        #expect(fixture.story.filter { $0.hasPrefix("c") } == ["c: line:2"])
    }

    @Test func aRequirementThatWasSkippedAtTheDoorSkipsTheDependent() {
        let fixture = fixture(a: { $0.overlap = .skip }, b: requires)
        fixture.line("y", "1")
        fixture.line("x", "2")
        #expect(fixture.refusals.sorted() == ["a skipped", "b skipped"] && fixture.running == ["a: line:1"])
        #expect(fixture.counters(handler: "b")?[.skipped] == 1)
    }

    @Test func aRequirementThatWasDroppedAtTheDoorSkipsTheDependent() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("p", backlog: 1, overflow: .dropNewest), .concurrent("q", width: 4)],
                handlers: [.exec("a"), .exec("b", requires)],
                sources: [
                    .fifo("x", to: "b", "a", on: "q").with { $0.routes[1].queue = "p" }, .fifo("y", to: "a", on: "p"),
                ]))
        fixture.line("y", "1")
        fixture.line("y", "2")
        fixture.line("x", "3")
        #expect(fixture.refusals.sorted() == ["a dropped", "b skipped"])
        fixture.endAll()
        #expect(fixture.story == ["a: line:1", "a: line:2"])
    }

    @Test func aRequirementIsPulledInOnTheQueueOfItsHandler() {
        let fixture = fixture(b: requires)
        fixture.line("z", "1")
        #expect(fixture.running == ["a: line:1"] && fixture.starts.first?.queue == "p")
        fixture.endFirst()
        #expect(fixture.running == ["b: line:1"])
        fixture.line("z", "2")
        fixture.endFirst()
        fixture.end("a", .exited(1))
        #expect(fixture.results.suffix(1) == ["b cancelled"])
    }

    @Test func whatIsPulledInPullsInItsOwnRequirementsOnce() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("a"), .exec("b", requires),
                    .exec("c") { $0.constraints.requires = ["a", "b"] },
                ], sources: [.fifo("x", to: "c")]))
        fixture.line("x", "1")
        fixture.endAll()
        #expect(fixture.story == ["a: line:1", "b: line:1", "c: line:1"])
        #expect(["a", "b", "c"].allSatisfy { fixture.counters(handler: $0)?.accepted == 1 })
    }

    @Test func aRequirementThatHasRunOnceIsMet() {
        let fixture = fixture(a: { $0.constraints.once = .boot }, b: requires)
        fixture.line("x", "1")
        fixture.endAll()
        fixture.line("x", "2")
        #expect(fixture.running == ["b: line:2"] && fixture.refusals == ["a skipped"])
    }

    @Test func aReloadThatTakesTheDependencyAwayLetsTheDependentGo() {
        let fixture = fixture(b: requires)
        fixture.line("x", "1")
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 8)], handlers: [.exec("b", queue: "q")],
                sources: [.fifo("x", to: "b", on: "q")]))
        // What it waits for still runs; it has lost nothing but its handler's name.
        fixture.end("a", .exited(1))
        fixture.endAll()
        #expect(fixture.engine.operationViews.isEmpty && fixture.engine.totals.outstanding == 0)
    }
}
