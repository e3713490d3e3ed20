import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Overlap=")
struct OverlapTests {
    private func fixture(
        _ overlap: Overlap, key: KeyRule = .handler, coalesces: Bool = true,
        queues: [QueueDefinition] = [.concurrent("q", width: 8)], _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: queues,
                handlers: [
                    .exec("h", overlap: overlap, change), .exec("after"), .exec("busy"),
                ],
                sources: [
                    .fifo("f", to: "h", on: "q", key: key, coalesces: coalesces), .fifo("b", to: "busy", on: "q"),
                    .path("p", to: "h", on: "q", key: .perPath),
                ]))
    }

    // MARK: restart

    @Test func restartTerminatesAndTheNewOneStartsWhenTheOldTreeIsGone() {
        let fixture = fixture(.restart) { $0.timeoutStop = .seconds(5) }
        fixture.line("f", "1")
        fixture.spawn(fixture.runs[0])
        fixture.line("f", "2")
        #expect(fixture.signals == ["1 SIGTERM tree"] && fixture.running == ["h: line:1"])
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"] && fixture.running == ["h: line:1"])
        fixture.endFirst(.signaled(9))
        #expect(fixture.running == ["h: line:1 line:2"])
        #expect(fixture.ended.first?.result == .superseded && fixture.ended.first?.successor == 2)
    }

    @Test func whatIsSupersededIsNoFailureIsNotRetriedAndCompletesNothing() {
        let fixture = fixture(.restart) {
            $0.retry = .times(3)
            $0.completions.failure = ["after"]
            $0.completions.finished = ["after"]
            $0.completions.retry = ["after"]
            $0.completions.success = ["after"]
        }
        fixture.line("f", "1")
        fixture.line("f", "2")
        // Even if it ends well after it was told to go, its events are in the new one.
        fixture.endFirst()
        #expect(fixture.running == ["h: line:1 line:2"] && fixture.results == ["h superseded"])
        #expect(fixture.counters(handler: "h")?[.running] == 2 && fixture.counters(handler: "h")?[.failed] == 0)
        #expect(fixture.counters(handler: "h")?.coalesced == 1)
        fixture.advance(seconds: 100)
        #expect(fixture.starts.count == 2)
    }

    @Test func theOldOneIsLeftAloneWhileTheNewOneCouldNotStartAnyway() {
        let fixture = fixture(.restart)
        fixture.line("f", "1")
        fixture.suspend("q")
        fixture.line("f", "2")
        #expect(fixture.signals == [])
        fixture.resume("q")
        #expect(fixture.signals == ["1 SIGTERM tree"])
    }

    @Test func onASerialQueueTheOldOneIsLeftAloneWhileOthersAreBeforeTheNewOne() {
        let fixture = fixture(.restart, queues: [.serial("q")])
        fixture.line("f", "1")
        fixture.line("b", "2")
        fixture.line("f", "3")
        #expect(fixture.signals == [])
        fixture.endFirst()
        #expect(fixture.running == ["busy: line:2"] && fixture.results == ["h done"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:3"])
        fixture.line("f", "4")
        #expect(fixture.signals == ["3 SIGTERM tree"], "the new one lacks its place only, which the old one holds")
    }

    @Test func onePathIsCarriedOnceWithItsNewestFact() {
        let fixture = fixture(.restart)
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .deleted, "/w/a")
        fixture.endFirst(.signaled(15))
        #expect(fixture.running == ["h: deleted:ax2"])
    }

    /// The first run was ended before it had done anything.
    @Test(arguments: [PathEvents.changed, .renamed.union(.written)])
    func theOldPathOfARenameIsToldWithWhatCameBehindIt(events: PathEvents) {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h") { $0.overlap = .restart }],
                sources: [.path("p", to: "h", on: "q", events: events)]))
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        fixture.path("p", .written, "/w/b")
        fixture.end(fixture.runs[0], .signaled(15))
        let told = fixture.starts.last?.events.map(\.shown) ?? []
        #expect(told == (events.contains(.deleted) ? ["deleted:a", "written:b"] : ["written:bx2"]), "\(told)")
        #expect(fixture.starts.last?.events.reduce(0) { $0 + $1.count } == 2)
    }

    @Test func restartsAreByKey() {
        let fixture = fixture(.restart, key: .perLine)
        fixture.line("f", "a")
        fixture.line("f", "b")
        #expect(fixture.signals == [] && fixture.running.count == 2)
    }

    @Test func whatBacksOffIsSupersededAtOnce() {
        let fixture = fixture(.restart) { $0.retry = .times(1, after: 100) }
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.line("f", "2")
        #expect(fixture.results == ["h superseded"] && fixture.running == ["h: line:1 line:2"])
        #expect(fixture.signals == [])
    }

    @Test func whatWasCancelledWhileItIsRestartedStaysCancelled() {
        let fixture = fixture(.restart)
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.cancel(2)
        fixture.endFirst(.signaled(15))
        #expect(fixture.running == [] && fixture.engine.operationViews.isEmpty)
        #expect(fixture.counters(handler: "h")?.outstanding == 0)
        fixture.line("f", "3")
        #expect(fixture.running == ["h: line:3"])
    }

    @Test func aStormOfEventsRestartsOnceForEachRun() {
        let fixture = fixture(.restart)
        for number in 1...50 { fixture.line("f", "\(number)") }
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.endFirst(.signaled(15))
        #expect(fixture.operations("h").map(\.entries) == [50])
        fixture.endFirst()
        #expect(fixture.counters(handler: "h")?[.done] == 50)
    }

    // MARK: parallel, skip, wait

    @Test func parallelMergesWhatWaitsAndExcludesNothing() {
        let fixture = fixture(.parallel, queues: [.concurrent("q", width: 2)])
        for number in 1...4 { fixture.line("f", "\(number)") }
        #expect(fixture.running == ["h: line:1", "h: line:2"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2", "h: line:3 line:4"])
    }

    @Test func aTimerWithoutAKeyRunsInParallel() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h")], sources: [.timer("t", to: "h", every: .seconds(1), key: .none)]))
        fixture.advance(seconds: 3)
        #expect(fixture.running == ["h: timer", "h: timer", "h: timer"])
    }

    @Test func whatBacksOffStillCountsAsRunningForSkip() {
        let fixture = fixture(.skip) { $0.retry = .times(1, after: 10) }
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.line("f", "2")
        // It keeps its key between attempts: a second one could not run beside it.
        #expect(fixture.refusals == ["h skipped"] || fixture.operations("h").count == 2)
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["h: line:1"])
    }

    @Test func aReloadMayChangeThePolicy() {
        let fixture = fixture(.wait)
        fixture.line("f", "1")
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 8)], handlers: [.exec("h", overlap: .skip)],
                sources: [.fifo("f", to: "h", on: "q", key: .handler, coalesces: true)]))
        fixture.line("f", "2")
        #expect(fixture.refusals == ["h skipped"])
    }
}
