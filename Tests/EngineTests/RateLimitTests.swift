import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("RateLimit=")
struct RateLimitTests {
    private static func limit(_ count: Int, _ seconds: UInt64 = 1) -> RateLimit {
        RateLimit(count: count, span: .seconds(seconds))
    }

    private func fixture(
        _ count: Int, _ seconds: UInt64 = 1, kind: QueueDefinition = .concurrent("q", width: 100),
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [kind.with { $0.rateLimit = Self.limit(count, seconds) }],
                handlers: [.exec("h", change), .log("note", [.specifier(.line)])],
                sources: [
                    .fifo("f", to: "h", on: "q"), .fifo("n", to: "note", on: "q"),
                    .fifo("m", to: "h", on: "q", key: .handler, coalesces: true),
                ]))
    }

    // MARK: Of a queue

    @Test func noMoreStartThanItSaysAndTheRestWait() {
        let fixture = fixture(3)
        for number in 1...7 { fixture.line("f", "\(number)") }
        #expect(fixture.running == ["h: line:1", "h: line:2", "h: line:3"])
        #expect(fixture.engine.operation(4)?.waitReason == .rateLimit)
        fixture.advance(seconds: 0.999_999)
        #expect(fixture.starts.count == 3)
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.starts.count == 6)
        fixture.advance(seconds: 1)
        #expect(fixture.starts.count == 7)
    }

    @Test func itHoldsInEveryWindowNotOnlyFromSecondToSecond() {
        let fixture = fixture(2)
        fixture.line("f", "1")
        fixture.advance(seconds: 0.9)
        for number in 2...4 { fixture.line("f", "\(number)") }
        #expect(fixture.starts.count == 2)
        fixture.advance(seconds: 0.1)
        #expect(fixture.starts.count == 3)
        fixture.advance(seconds: 0.8)
        #expect(fixture.starts.count == 3)
        fixture.advance(seconds: 0.1)
        #expect(fixture.starts.count == 4)
    }

    @Test func whatIsNotUsedIsNotSaved() {
        let fixture = fixture(2)
        fixture.advance(seconds: 100)
        for number in 1...5 { fixture.line("f", "\(number)") }
        #expect(fixture.starts.count == 2)
    }

    @Test func everyAttemptCounts() {
        let fixture = fixture(2, 100) { $0.retry = .times(5, after: 1) }
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 2)
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 90)
        #expect(fixture.starts.count == 2)
        fixture.advance(seconds: 8)
        #expect(fixture.starts.count == 3)
    }

    @Test func everyPartCounts() {
        let fixture = fixture(2, 10) { $0.stride = 1 }
        fixture.suspend("q")
        for number in 1...3 { fixture.line("m", "\(number)") }
        fixture.resume("q")
        #expect(fixture.starts.map(\.run.part) == [0, 1])
        fixture.advance(seconds: 10)
        #expect(fixture.starts.map(\.run.part) == [0, 1, 2])
    }

    @Test func whatWaitsGoesOnMerging() {
        let fixture = fixture(1, 10)
        for number in 1...4 { fixture.line("m", "\(number)") }
        fixture.endFirst()
        #expect(fixture.running == [])
        fixture.advance(seconds: 5)
        fixture.line("m", "5")
        fixture.advance(seconds: 5)
        #expect(fixture.running == ["h: line:2 line:3 line:4 line:5"])
    }

    @Test func onASerialQueueOrderIsKept() {
        let fixture = fixture(1, 1, kind: .serial("q"))
        for number in 1...3 { fixture.line("f", "\(number)") }
        for number in 1...3 {
            #expect(fixture.running == ["h: line:\(number)"])
            fixture.endFirst()
            #expect(fixture.running == [])
            fixture.advance(seconds: 1)
        }
    }

    @Test func aQueueThatWaitsForItsRateHoldsNoOtherUp() {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1),
                queues: [
                    QueueDefinition.concurrent("q", width: 9).with { $0.rateLimit = Self.limit(1, 100) },
                    .concurrent("p", width: 9),
                ], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q"), .fifo("g", to: "h", on: "p")]))
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.line("g", "4")
        fixture.endFirst()
        #expect(fixture.running == ["h: line:4"])
    }

    @Test func theWallClockDoesNotMoveIt() {
        let fixture = fixture(1, 10)
        for number in 1...2 { fixture.line("f", "\(number)") }
        fixture.stepWallClock(seconds: 3600)
        #expect(fixture.starts.count == 1)
        fixture.stepWallClock(seconds: -7200)
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 2)
    }

    @Test func aReloadMayLiftIt() {
        let fixture = fixture(1, 100)
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.reload(
            .of(
                queues: [.concurrent("q", width: 100)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "q")]))
        #expect(fixture.running.count == 3)
    }

    // MARK: Of a source

    private func source(_ source: SourceDefinition, _ count: Int, _ seconds: UInt64 = 1) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.concurrent("q", width: 100)], handlers: [.exec("h")],
                sources: [source.with { $0.rateLimit = Self.limit(count, seconds) }]))
    }

    @Test func eventsAboveItAreHeldAndReleasedAsTheWindowAllows() {
        let fixture = source(.fifo("f", to: "h", on: "q"), 2)
        for number in 1...5 { fixture.line("f", "\(number)") }
        #expect(fixture.running == ["h: line:1", "h: line:2"])
        #expect(fixture.counters(source: "descriptor/f")?[.held] == 3)
        #expect(fixture.counters(source: "descriptor/f")?.accepted == 5)
        fixture.advance(seconds: 0.999_999)
        #expect(fixture.starts.count == 2)
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.starts.count == 4)
        fixture.advance(seconds: 1)
        #expect(fixture.story.last == "h: line:5" && fixture.counters(source: "descriptor/f")?[.held] == 0)
    }

    @Test func aReloadOfItsRoutesLetsNothingGo() {
        let limited = SourceDefinition.fifo("f", to: "h", on: "q").with { $0.rateLimit = Self.limit(1, 100) }
        let fixture = source(limited, 1, 100)
        for number in 1...4 { fixture.line("f", "\(number)") }
        let both = limited.with { $0.routes.append(Route(handler: "i", queue: "q")) }
        fixture.reload(
            .of(queues: [.concurrent("q", width: 100)], handlers: [.exec("h"), .exec("i")], sources: [both]))
        #expect(fixture.story == ["h: line:1"])
        #expect(fixture.counters(source: "descriptor/f")?[.held] == 6)
        #expect(fixture.counters(source: "descriptor/f")?[.annulled] == 0)
        fixture.advance(seconds: 100)
        #expect(fixture.story == ["h: line:1", "h: line:2", "i: line:2"])
    }

    @Test func whatIsHeldMerges() {
        let fixture = source(.path("p", to: "h", on: "q", key: .perPath), 1)
        fixture.path("p", .written, "/w/a")
        for _ in 0..<4 { fixture.path("p", .written, "/w/b") }
        #expect(fixture.counters(source: "path/p")?[.held] == 4)
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:a", "h: written:bx4"])
    }

    @Test func dataMergeWhileTheyAreHeld() {
        let fixture = source(.custom("x", to: "h", on: "q"), 1)
        var tokens: [Token] = []
        for number in 1...4 { tokens.append(fixture.emit("x", Int64(number))) }
        fixture.endFirst()
        fixture.advance(seconds: 1)
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:9x3"] && fixture.counters(handler: "h")?[.done] == 4)
        for token in tokens {
            guard case .events = fixture.reply(token) else {
                Issue.record("a caller has no answer, or an error")
                continue
            }
        }
    }

    @Test func whatOneOperationCanCarryIsOneOperation() {
        let fixture = source(.custom("x", to: "h", on: "q"), 2, 10)
        for number in 1...6 { fixture.emit("x", payload: "\(number)") }
        #expect(fixture.running == ["h: data:1/1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: data:1/2 data:1/3 data:1/4 data:1/5 data:1/6"])
        fixture.endFirst()
        for number in 7...9 { fixture.emit("x", payload: "\(number)") }
        #expect(fixture.running == [])
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: data:1/7 data:1/8 data:1/9"])
    }

    @Test func eachKeyHasAnOperationAndTheRateIsOfAllOfThem() {
        let fixture = source(.path("p", to: "h", on: "q", key: .perPath), 1)
        for name in ["a", "b", "c", "b", "c"] { fixture.path("p", .written, "/w/\(name)") }
        #expect(fixture.running == ["h: written:a"])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:a", "h: written:bx2"])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:a", "h: written:bx2", "h: written:cx2"])
    }

    @Test func whatJoinsAnOperationThatWaitsPasses() {
        let fixture = source(.path("p", to: "h", on: "q", key: .handler), 2, 100)
        for name in ["a", "b", "c", "d"] { fixture.path("p", .written, "/w/\(name)") }
        #expect(fixture.counters(source: "path/p")?[.held] == 0, "b made one that waits for its key")
        fixture.endFirst()
        #expect(fixture.running == ["h: written:b written:c written:d"])
        fixture.path("p", .written, "/w/e")
        #expect(fixture.counters(source: "path/p")?[.held] == 1)
    }

    @Test func theOperationsOfAllItsHandlersAreOne() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 100)], handlers: [.exec("h"), .exec("i")],
                sources: [SourceDefinition.custom("x", to: "h", "i", on: "q").with { $0.rateLimit = Self.limit(1) }]))
        for number in 1...3 { fixture.emit("x", Int64(number)) }
        #expect(fixture.running == ["h: data:1", "i: data:1"])
        fixture.endAll()
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: data:5x2", "i: data:5x2"])
    }

    @Test func itSaysWhatWaitsAndForHowLong() {
        let fixture = source(.fifo("f", to: "h", on: "q"), 1, 20)
        for number in 1...4 { fixture.line("f", "\(number)") }
        fixture.advance(seconds: 8)
        fixture.send(.clock)
        let wait = fixture.engine.sourceViews.first?.rateWait
        #expect(wait?.events == 3 && wait?.sentence == "RateLimit=1/20s, 12s more")
        let explanation = fixture.engine.explain(handler: "h")?.last
        #expect(explanation?.sentence == "3 events of descriptor/f wait for RateLimit=1/20s, 12s more")
        #expect(explanation?.code == .rateLimit)
        for _ in 0..<3 { fixture.advance(seconds: 20) }
        #expect(fixture.engine.sourceViews.first?.rateWait == nil)
    }

    @Test func aReloadMayShortenTheWait() {
        let fixture = source(.fifo("f", to: "h", on: "q"), 1, 100)
        for number in 1...3 { fixture.line("f", "\(number)") }
        func reload(_ limit: RateLimit?) {
            fixture.reload(
                .of(
                    queues: [.concurrent("q", width: 100)], handlers: [.exec("h")],
                    sources: [SourceDefinition.fifo("f", to: "h", on: "q").with { $0.rateLimit = limit }]))
        }
        reload(Self.limit(1, 10))
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 2)
        reload(nil)
        #expect(fixture.starts.count == 3)
    }

    @Test func itIsNeverAnError() {
        let fixture = source(.signal("s", to: "h", on: "q"), 1, 10)
        for number in 1...100 { fixture.signal("s", 10, from: Int32(number)) }
        #expect(fixture.refused.isEmpty && fixture.counters(source: "signal/s")?.accepted == 100)
        #expect(fixture.counters(source: "signal/s")?[.dropped] == 0)
    }

    @Test func itHoldsForASourceInEveryWindow() {
        let fixture = source(.fifo("f", to: "h", on: "q"), 2)
        fixture.line("f", "1")
        fixture.advance(seconds: 0.9)
        for number in 2...4 { fixture.line("f", "\(number)") }
        #expect(fixture.starts.count == 2)
        fixture.advance(seconds: 0.1)
        #expect(fixture.starts.count == 3)
        fixture.advance(seconds: 0.8)
        #expect(fixture.starts.count == 3)
    }

    @Test func aStopCancelsWhatIsHeld() {
        let fixture = source(.fifo("f", to: "h", on: "q"), 1, 100)
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.send(.drain)
        fixture.endAll()
        #expect(fixture.drained == [] && fixture.counters(source: "descriptor/f")?[.cancelled] == 2)
    }
}
