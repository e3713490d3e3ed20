import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Once=")
struct OnceTests {
    private func fixture(
        coalesces: Bool = false, _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)],
                handlers: [
                    .exec("h") {
                        $0.constraints.once = .boot
                        change(&$0)
                    }, .exec("after"),
                ],
                sources: [
                    .fifo("f", to: "h", on: "q", key: coalesces ? .handler : .none, coalesces: coalesces),
                    .fifo("g", to: "h", on: "q", key: .perLine, coalesces: coalesces),
                ]))
    }

    @Test func onlyTheFirstEventRunsTheHandler() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.endFirst()
        for text in ["2", "3"] { fixture.line("g", text) }
        #expect(fixture.story == ["h: line:1"] && fixture.refusals == ["h skipped", "h skipped"])
        #expect(fixture.counters(handler: "h")?[.done] == 1 && fixture.counters(handler: "h")?[.skipped] == 2)
    }

    @Test func whileTheFirstRunsOthersFollowItAndAreSkippedWhenItSucceeds() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.line("g", "3")
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst()
        #expect(fixture.running == [] && fixture.counters(handler: "h")?[.skipped] == 2)
        #expect(fixture.engine.operationViews.isEmpty)
    }

    @Test func afterAFailureTheNextTriesAgain() {
        let fixture = fixture()
        for text in ["1", "2", "3"] { fixture.line("f", text) }
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["h: line:2"])
        fixture.cancel(2)
        fixture.endFirst(.signaled(15))
        #expect(fixture.running == ["h: line:3"])
        fixture.endFirst()
        fixture.line("f", "4")
        #expect(fixture.story.count == 3 && fixture.results == ["h failed", "h cancelled", "h done"])
    }

    @Test func anAttemptThatIsRetriedIsNotTheEnd() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        fixture.line("f", "1")
        fixture.line("g", "2")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        fixture.endFirst()
        #expect(fixture.story == ["h: line:1", "h: line:1"] && fixture.counters(handler: "h")?[.skipped] == 1)
    }

    @Test func aFailureIsNotTriedAgainWhereAnotherEventHasSucceeded() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.line("f", "2")
        fixture.endFirst()
        let view = fixture.ended[0]
        var failed = StoredOperation(
            id: view.id, handler: view.handler, queue: view.queue, origin: view.origin, submitted: view.submitted)
        failed.events = view.events
        guard case .refused(let reason)? = fixture.error(fixture.command(.retry([failed]))) else {
            Issue.record("it is not refused")
            return
        }
        #expect(reason.hasPrefix("handler h has run, and Once= ") && reason.contains("“watchctl forget 1”"))
        #expect(fixture.engine.retryObstacle(handler: "h", queue: "q") == "Once=: h has run")
        #expect(fixture.story.count == 2)
    }

    @Test func aRunByHandIgnoresTheMark() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.endFirst()
        fixture.run("h")
        #expect(fixture.running == ["h: data:1"])
        fixture.endFirst()
        fixture.line("f", "2")
        #expect(fixture.story.count == 2)
    }

    @Test func whoWaitsForTheRunIsToldWhenItsMarkIsSafe() {
        let fixture = fixture()
        fixture.run("h", waits: true)
        let before = fixture.actions.count
        fixture.endFirst()
        func isReply(_ action: Action) -> Bool { if case .reply = action { true } else { false } }
        let answers = fixture.actions.dropFirst(before).filter {
            if case .stored(let action) = $0 { isReply(action) } else { isReply($0) }
        }
        #expect(answers.count == 1 && !answers.contains(where: isReply))
    }

    @Test func whatWasSkippedIsSaidToHaveBeenDoneOnce() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.endFirst()
        fixture.line("f", "2")
        #expect(fixture.refused.first?.reason.contains("Once=") == true)
    }

    @Test func theMarkStaysAcrossAReload() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.endFirst()
        fixture.reload(
            .of(
                handlers: [.exec("h") { $0.constraints.once = .boot }],
                sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        #expect(fixture.running == [])
    }

    @Test func theMarkStaysWhileTheKeyOrTheHandlerIsGone() {
        func configuration(_ handlers: [HandlerDefinition]) -> Configuration {
            .of(
                queues: [.serial("q")], handlers: handlers + [.exec("other")],
                sources: handlers.isEmpty ? [] : [.fifo("f", to: "h", on: "q")])
        }
        let once = HandlerDefinition.exec("h") { $0.constraints.once = .ever }
        for between in [[], [HandlerDefinition.exec("h")]] {
            let fixture = EngineFixture(configuration([once]))
            fixture.line("f", "1")
            fixture.endFirst()
            for handlers in [between, [once]] { fixture.reload(configuration(handlers)) }
            fixture.line("f", "2")
            #expect(fixture.story == ["h: line:1"] && fixture.refusals == ["h skipped"])
            let stored = fixture.writes.compactMap { if case .once(_, let once) = $0 { once } else { nil } }
            #expect(stored.allSatisfy { $0 == .ever } && !stored.isEmpty)
        }
    }

    @Test func whatAStopLeftIsSkippedWhereTheRunOfTheStopFulfilledIt() {
        func configuration(_ handler: HandlerDefinition) -> Configuration {
            .of(
                queues: [QueueDefinition(name: "d", isDurable: true)], handlers: [handler],
                sources: [.fifo("f", to: "h", on: "d")])
        }
        let once = HandlerDefinition.exec("h") { $0.constraints.once = .ever }
        let fixture = EngineFixture(configuration(once))
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.send(.drain)
        fixture.endFirst()
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        #expect(state.once == ["h"] && state.operations.count == 2)
        let next = EngineFixture(configuration(once), restoring: state)
        #expect(next.running == [] && next.results == ["h skipped", "h skipped"], "\(next.results)")
        // What came while it had no such key is skipped when that is back.
        let between = EngineFixture(configuration(once))
        between.line("f", "1")
        between.endFirst()
        between.reload(configuration(.exec("h")))
        between.suspend("d")
        between.line("f", "2")
        between.reload(configuration(once))
        between.resume("d")
        #expect(between.results == ["h done", "h skipped"] && between.running == [])
    }

    @Test func whatJoinedSharesTheEnd() {
        let fixture = fixture(coalesces: true) { $0.constraints.delay = .seconds(5) }
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.advance(seconds: 5)
        #expect(fixture.running.count == 1)
        fixture.endAll()
        #expect(fixture.counters(handler: "h")?[.done] == 2)
        #expect(fixture.story.count == 1 && fixture.counters(handler: "h")?.outstanding == 0)
    }
}
