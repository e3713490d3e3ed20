import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Waiting from inside a handler")
struct DeadlockTests {
    /// `a` on serial queue `q`, `b` on serial queue `p`; `u` and `v` run through the serial queue `t`.
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [
                    .serial("q"), .serial("p"), .serial("t"), .concurrent("u", width: 4).targeting("t"),
                    .concurrent("v", width: 4).targeting("t"), .concurrent("wide", width: 4),
                ], semaphores: [.of("s", 1), .of("two", 2)],
                handlers: [
                    .exec("a", queue: "q", change), .exec("a2", queue: "q"), .exec("b", queue: "p"),
                    .exec("u", queue: "u"), .exec("v", queue: "v"), .exec("m", queue: "main"),
                    .exec("s", queue: "wide") { $0.constraints.acquire("s") },
                    .exec("s2", queue: "p") { $0.constraints.acquire("s") },
                    .exec("two", queue: "wide") { $0.constraints.acquire("two") },
                    .exec("two2", queue: "p") { $0.constraints.acquire("two") },
                    .exec("write", queue: "wide") { $0.constraints.isBarrier = true },
                    .exec("after", queue: "wide") { $0.constraints.after = ["a"] }, .exec("told"),
                ],
                sources: ["a", "a2", "b", "u", "v", "m", "s", "two"].map {
                    .fifo(
                        $0, to: $0, on: ["a": "q", "a2": "q", "b": "p", "u": "u", "v": "v", "m": "main"][$0] ?? "wide")
                } + [
                    .group("g", of: "a", to: "told"),
                    .fifo("x", to: "a", "after", on: "q").with { $0.routes[1].queue = "wide" },
                ]))
    }

    /// Starts the handler by its FIFO and returns its operation.
    private func start(_ fixture: EngineFixture, _ name: String) -> UInt64 {
        fixture.line(name, "1")
        return fixture.starts.last?.run.operation ?? 0
    }

    private func chain(_ fixture: EngineFixture, _ token: Token) -> [String]? {
        if case .wouldDeadlock(let chain) = fixture.error(token) { chain } else { nil }
    }

    private func expectRefused(_ fixture: EngineFixture, _ token: Token) {
        guard let chain = chain(fixture, token) else {
            Issue.record("not refused: \(String(describing: fixture.reply(token)))")
            return
        }
        #expect(!chain.isEmpty && chain.allSatisfy { !$0.isEmpty })
    }

    @Test func aRunOnTheOwnSerialQueueIsRefused() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        let count = fixture.engine.operationViews.count
        let token = fixture.run("a2", waits: true, caller: caller)
        expectRefused(fixture, token)
        #expect(chain(fixture, token)?.contains { $0.contains("q") } == true)
        #expect(fixture.engine.operationViews.count == count, "it has left nothing behind")
    }

    @Test func aRunThatIsNotWaitedForIsNotRefused() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        #expect(fixture.error(fixture.run("a2", caller: caller)) == nil)
        fixture.endAll()
        #expect(fixture.story.contains("a2: data:1"))
    }

    @Test func aRunOnAnotherQueueIsNotRefused() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        let token = fixture.run("b", waits: true, caller: caller)
        #expect(fixture.reply(token) == nil && fixture.running.last == "b: data:1")
        fixture.end("b")
        guard case .ran = fixture.reply(token) else {
            Issue.record("not answered")
            return
        }
    }

    @Test func aRunOfTheOwnHandlerIsRefusedForItsKey() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)], handlers: [.exec("h", queue: "q")],
                sources: [.custom("x", to: "h", on: "q")]))
        fixture.emit("x")
        expectRefused(fixture, fixture.run("h", waits: true, caller: 1))
    }

    @Test func aRunThroughTheOwnSerialTargetIsRefused() {
        let fixture = fixture()
        let caller = start(fixture, "u")
        expectRefused(fixture, fixture.run("v", waits: true, caller: caller))
    }

    @Test func aRunThatNeedsTheOwnSemaphoreIsRefusedAndOneThatFindsAnotherUnitIsNot() {
        let fixture = fixture()
        let one = start(fixture, "s")
        expectRefused(fixture, fixture.run("s2", waits: true, caller: one))
        let two = start(fixture, "two")
        #expect(fixture.error(fixture.run("two2", waits: true, caller: two)) == nil)
        #expect(fixture.running.last == "two2: data:1")
    }

    @Test func aBarrierOnTheOwnQueueIsRefused() {
        let fixture = fixture()
        let caller = start(fixture, "two")
        expectRefused(fixture, fixture.run("write", waits: true, caller: caller))
    }

    @Test func theOwnOperationQueueAndGroupAreNotWaitedFor() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        for awaited in [Awaited.operation(caller), .named("q"), .named("g")] {
            expectRefused(fixture, fixture.wait(awaited, caller: caller))
        }
        let child = start(fixture, "u")
        expectRefused(fixture, fixture.wait(.named("t"), caller: child))
    }

    @Test func othersMayBeWaitedFor() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        let other = start(fixture, "b")
        for awaited in [Awaited.operation(other), .named("p")] {
            let token = fixture.wait(awaited, caller: caller)
            #expect(fixture.reply(token) == nil)
        }
    }

    @Test func aGroupMayBeWaitedForByWhoIsNoMember() {
        let fixture = fixture()
        _ = start(fixture, "a")
        let other = start(fixture, "b")
        #expect(fixture.reply(fixture.wait(.named("g"), caller: other)) == nil)
    }

    @Test func anOperationThatDependsOnTheCallerIsNotWaitedFor() {
        let fixture = fixture()
        fixture.line("x", "1")
        let caller = fixture.starts[0].run.operation
        let dependent = fixture.operations("after")[0].id
        expectRefused(fixture, fixture.wait(.operation(dependent), caller: caller))
    }

    @Test func anOperationBehindTheCallerIsNotWaitedFor() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        fixture.line("a2", "2")
        let behind = fixture.operations("a2")[0].id
        expectRefused(fixture, fixture.wait(.operation(behind), caller: caller))
    }

    @Test func aCycleOfWaitsIsRefusedWhereItCloses() {
        let fixture = fixture()
        let first = start(fixture, "a")
        let second = start(fixture, "b")
        // The first waits for a run that stands behind the second.
        let open = fixture.run("s2", waits: true, caller: first)
        #expect(fixture.reply(open) == nil)
        let token = fixture.run("a2", waits: true, caller: second)
        expectRefused(fixture, token)
        #expect((chain(fixture, token)?.count ?? 0) >= 2, "one sentence for each link")
        fixture.end("b")
        fixture.end("s2")
        guard case .ran = fixture.reply(open) else {
            Issue.record("not answered")
            return
        }
    }

    @Test func aCycleIsGoneWhenItsWaiterIs() {
        let fixture = fixture()
        let first = start(fixture, "a")
        let second = start(fixture, "b")
        fixture.send(.abandon(fixture.wait(.operation(second), caller: first)))
        #expect(fixture.error(fixture.wait(.operation(first), caller: second)) == nil)
    }

    @Test func twoThatWaitForEachOtherAreRefused() {
        let fixture = fixture()
        let first = start(fixture, "a")
        let second = start(fixture, "b")
        fixture.wait(.operation(second), caller: first)
        expectRefused(fixture, fixture.wait(.operation(first), caller: second))
    }

    @Test func theStopOfWatchdIsNotWaitedForFromInside() {
        let fixture = fixture()
        let caller = start(fixture, "b")
        expectRefused(fixture, fixture.wait(.drain, caller: caller))
        #expect(fixture.engine.deadlock(of: caller, waitingFor: .drain) != nil)
    }

    @Test func aReloadIsNotWaitedForFromMainAndMayBeFromElsewhere() {
        let fixture = fixture()
        let inside = start(fixture, "m")
        let outside = start(fixture, "b")
        #expect(fixture.engine.deadlock(of: inside, waitingFor: .reload) != nil)
        #expect(fixture.engine.deadlock(of: outside, waitingFor: .reload) == nil)
    }

    @Test func aCallerThatHasEndedOrNeverWasIsNobody() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        fixture.endFirst()
        fixture.line("a", "2")
        for nobody in [caller, 9999] {
            #expect(fixture.error(fixture.wait(.named("q"), caller: nobody)) == nil)
            #expect(fixture.error(fixture.run("a2", waits: true, caller: nobody)) == nil)
        }
    }

    @Test func aSuspensionIsNoDeadlock() {
        let fixture = fixture()
        let caller = start(fixture, "a")
        fixture.suspend("p")
        #expect(fixture.error(fixture.run("b", waits: true, caller: caller)) == nil)
    }

    @Test func aFullConcurrentQueueIsOneOnlyIfTheCallerHoldsAllOfIt() {
        func fixture(_ width: Int) -> EngineFixture {
            EngineFixture(
                .of(
                    queues: [.concurrent("q", width: width)],
                    handlers: [.exec("h", queue: "q"), .exec("i", queue: "q")],
                    sources: [.fifo("f", to: "h", on: "q")]))
        }
        let narrow = fixture(1)
        narrow.line("f", "1")
        expectRefused(narrow, narrow.run("i", waits: true, caller: 1))
        let full = fixture(2)
        for text in ["1", "2"] { full.line("f", text) }
        #expect(full.error(full.run("i", waits: true, caller: 1)) == nil)
    }
}
