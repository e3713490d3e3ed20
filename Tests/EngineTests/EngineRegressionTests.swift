import Schedule
import Testing
import WatchFile

@testable import Engine

/// Each of these once went wrong.
@Suite("The engine, once broken")
struct EngineRegressionTests {
    @Test func aStopDoesNotCallAHalfRunOperationDone() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 2)], handlers: [.exec("h", queue: "q") { $0.stride = 1 }],
                sources: [.path("p", to: "h", on: "q")]))
        fixture.suspend("q")
        for name in ["a", "b", "c", "d"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.resume("q")
        #expect(fixture.running.count == 2)
        fixture.send(.drain)
        fixture.endAll()
        #expect(fixture.results == ["h stopped"] && fixture.counters(handler: "h")?[.done] == 0)
    }

    @Test func whatRequiresAHandlerThatRunsOnceGoesOnWhenItHasRun() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")],
                handlers: [
                    .exec("a") { $0.constraints.once = .boot },
                    .exec("b", queue: "q") { $0.constraints.requires = ["a"] },
                ], sources: [.fifo("f", to: "b", on: "q")]))
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.end("a")
        fixture.end("b")
        fixture.end("b")
        #expect(fixture.results.sorted() == ["a done", "a skipped", "b done", "b done"])
    }

    @Test func aGroupThatWasRemovedGoesWithItsLastClient() throws {
        let group = SourceDefinition(
            id: SourceID(.group, "g"), routes: [Route(handler: "told", queue: "default")],
            trigger: .group(GroupTrigger(members: ["h"])))
        let handlers: [HandlerDefinition] = [.exec("h"), .exec("told")]
        let fixture = EngineFixture(.of(handlers: handlers, sources: [group]))
        guard case .ticket(let ticket)? = fixture.reply(fixture.command(.enterGroup(name: "g"))) else {
            Issue.record("no ticket")
            return
        }
        let waiter = fixture.wait(.named("g"))
        fixture.reload(.of(handlers: handlers))
        fixture.command(.leaveGroup(name: "g", ticket: ticket))
        #expect(fixture.engine.sourceViews.isEmpty)
        guard case .waited? = fixture.reply(waiter) else {
            Issue.record("who waits is not told")
            return
        }
    }

    @Test func aCancelCountsMoreThanATimeOutUnderWay() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("h") {
                        $0.timeout = .seconds(1)
                        $0.retry = .times(5)
                    }
                ], sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 1.5)
        fixture.cancel(1)
        fixture.endFirst(.signaled(15))
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aRateIsNoErrorForWhoEmits() {
        var source = SourceDefinition.custom("x", to: "h", key: .none, coalesces: false)
        source.rateLimit = RateLimit(count: 1, span: .seconds(3600))
        let fixture = EngineFixture(.of(handlers: [.exec("h")], sources: [source]))
        for _ in 0..<100 {
            guard case .events? = fixture.reply(fixture.emit("x")) else {
                Issue.record("a caller waits or is refused")
                return
            }
        }
        #expect(fixture.counters(source: "custom/x")?[.held] == 99)
    }

    @Test func aBarrierIsAloneAfterAReloadToo() {
        func configuration(_ isBarrier: Bool) -> Configuration {
            .of(
                queues: [.concurrent("q", width: 9)],
                handlers: [
                    .exec("first", queue: "q"), .exec("h", queue: "q") { $0.constraints.isBarrier = isBarrier },
                    .exec("other", queue: "q"),
                ],
                sources: [
                    .custom("f", to: "first", on: "q"), .custom("x", to: "h", on: "q"),
                    .custom("o", to: "other", on: "q"),
                ])
        }
        let fixture = EngineFixture(configuration(false))
        for name in ["f", "x", "x", "o"] { fixture.emit(name) }
        #expect(fixture.running.count == 3)
        fixture.reload(configuration(true))
        fixture.end("h")
        // The second of them, older than `other`, is a barrier now.
        #expect(fixture.running == ["first: data:1", "other: data:1"])
        fixture.end("first")
        #expect(fixture.running == ["other: data:1"])
        fixture.end("other")
        #expect(fixture.running == ["h: data:1"])
    }

    @Test func whoIsNextInLineRestartsAlthoughItCameThird() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("a"), .serial("b")], handlers: [.exec("h", overlap: .restart)],
                sources: [.custom("x", to: "h", on: "a"), .custom("y", to: "h", on: "b")]))
        fixture.emit("x")
        fixture.suspend("b")
        fixture.emit("y")
        fixture.emit("x")
        #expect(fixture.signals.isEmpty)
        fixture.cancel(2)
        #expect(fixture.signals.count == 1)
    }

    @Test func aReloadThatEmptiesAQueueTellsWhoWaits() {
        let handlers: [HandlerDefinition] = [.exec("h", queue: "child")]
        let sources: [SourceDefinition] = [.custom("x", to: "h", on: "child")]
        let parent = QueueDefinition.serial("parent")
        let fixture = EngineFixture(
            .of(queues: [parent, .serial("child").targeting("parent")], handlers: handlers, sources: sources))
        fixture.emit("x")
        let waiter = fixture.wait(.named("queue/parent"))
        #expect(fixture.reply(waiter) == nil)
        fixture.reload(.of(queues: [parent, .serial("child")], handlers: handlers, sources: sources))
        #expect(fixture.reply(waiter) != nil)
    }

    @Test func aTargetThatWasRemovedGoesWithTheRunThatCountedThere() {
        let handlers: [HandlerDefinition] = [.exec("h", queue: "child"), .exec("bye")]
        let sources: [SourceDefinition] = [.custom("x", to: "h", on: "child")]
        let parent = QueueDefinition.serial("parent").with { $0.finalizer = "bye" }
        let fixture = EngineFixture(
            .of(queues: [parent, .serial("child").targeting("parent")], handlers: handlers, sources: sources))
        fixture.emit("x")
        fixture.reload(.of(queues: [.serial("child")], handlers: handlers, sources: sources))
        fixture.end("h")
        fixture.endAll()
        #expect(fixture.queue("parent") == nil && fixture.results.contains("bye done"))
    }

    @Test func aSourceOfTheSameNameDoesNotHideADeadlock() {
        let fixture = EngineFixture(
            .of(queues: [.serial("x")], handlers: [.exec("h", queue: "x")], sources: [.custom("x", to: "h", on: "x")]))
        fixture.emit("x")
        let token = fixture.wait(.named("x"), caller: 1)
        guard case .wouldDeadlock? = fixture.error(token) else {
            Issue.record("it waits for itself")
            return
        }
    }

    @Test func whoHasTheLastProcessSlotDoesNotWaitForOneWhoNeedsIt() {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1), handlers: [.exec("h"), .exec("other")],
                sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        let token = fixture.run("other", waits: true, caller: 1)
        guard case .wouldDeadlock? = fixture.error(token) else {
            Issue.record("it waits for a slot that it has itself")
            return
        }
        #expect(fixture.operations("other").isEmpty)
    }

    @Test func aManualRunIsNoBarrierOnAGlobalQueue() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("h") { $0.constraints.isBarrier = true }, .exec("long"), .exec("short")]))
        for name in ["long", "h", "short"] { fixture.run("handler/" + name) }
        #expect(fixture.running.count == 3)
    }

    @Test func aRunByHandPullsInWhatItRequires() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("a"), .exec("b") { $0.constraints.requires = ["a"] }]))
        fixture.run("handler/b")
        #expect(fixture.running == ["a: data:1"])
        fixture.end("a")
        #expect(fixture.running == ["b: data:1"])
    }

    @Test func manyDependentsOfOneAreCancelledInTime() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 1000, backlog: 1_000_000)],
                handlers: [
                    .exec("prepare", queue: "main") { $0.constraints.once = .boot },
                    .exec("h", queue: "q") { $0.constraints.requires = ["prepare"] },
                ], sources: [.fifo("f", to: "h", on: "q")]), isChecked: false)
        for number in 0..<20_000 { fixture.line("f", "\(number)") }
        fixture.command(.cancelQueue(name: "q"))
        // In parts.
        fixture.advance(seconds: 0.001)
        #expect(fixture.operations("h").isEmpty)
    }

    /// The candidate of a queue stands before the process slots with a semaphore that it could take. Another queue takes
    /// that: whoever is behind it, and needs neither, goes. (Found by seed 194 of the long part.)
    @Test func whoNeedsNothingGoesWhenTheSemaphoreOfItsCandidateIsTaken() {
        var taker = HandlerDefinition.log("taker", [.literal(Array("taken".utf8))])
        taker.constraints.consume("t", 1)
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1),
                queues: [.concurrent("a", width: 4), .concurrent("b", width: 4)], semaphores: [.of("t", 0)],
                handlers: [
                    .exec("x") { $0.constraints.consume("t", 1) }, .exec("busy"), taker,
                    .log("note", [.literal(Array("noted".utf8))]),
                ],
                sources: [
                    .fifo("x", to: "x", on: "a"), .fifo("note", to: "note", on: "a"),
                    .fifo("busy", to: "busy", on: "b"), .fifo("taker", to: "taker", on: "b"),
                ]))
        fixture.line("x", "1")
        fixture.line("busy", "1")
        fixture.command(.signal(semaphore: "t", count: 1))
        fixture.line("note", "1")
        fixture.line("taker", "1")
        #expect(fixture.logs.sorted() == ["noted", "taken"])
        #expect(fixture.running == ["busy: line:1"])
    }
}
