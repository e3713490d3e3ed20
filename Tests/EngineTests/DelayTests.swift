import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("DelaySec=")
struct DelayTests {
    private func fixture(_ source: SourceDefinition, queue: QueueDefinition = .concurrent("q", width: 2))
        -> EngineFixture
    {
        EngineFixture(
            .of(
                queues: [queue],
                handlers: [.exec("h") { $0.constraints.delay = .seconds(10) }, .exec("now")],
                sources: [source, .fifo("now", to: "now", on: "q")]))
    }

    @Test func nothingStartsSoonerThanItsDelayAndThenAtOnce() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"))
        fixture.line("f", "1")
        fixture.advance(seconds: 5)
        fixture.line("f", "2")
        fixture.advance(seconds: 4.999_999)
        #expect(fixture.running == [])
        #expect(fixture.engine.operation(1)?.waitReason == .delay)
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.running == ["h: line:1"])
        fixture.advance(seconds: 5)
        #expect(fixture.running == ["h: line:1", "h: line:2"])
    }

    @Test func whatIsDelayedHoldsNobodyUpNotEvenOnASerialQueue() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"), queue: .serial("q"))
        fixture.line("f", "1")
        fixture.line("now", "2")
        #expect(fixture.running == ["now: line:2"])
        fixture.advance(seconds: 10)
        fixture.line("now", "3")
        fixture.endAll()
        #expect(fixture.story == ["now: line:2", "h: line:1", "now: line:3"])
    }

    @Test func itCountsFromTheFirstMergedEvent() {
        let fixture = fixture(.custom("x", to: "h", on: "q"))
        fixture.emit("x")
        fixture.advance(seconds: 6)
        fixture.emit("x")
        fixture.advance(seconds: 3)
        fixture.emit("x")
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: data:3x3"])
    }

    // MARK: A reload

    @Test func aShorterDelayOrASmallerBatchCountsForWhatWaits() {
        func configuration(_ delay: UInt64, batch: Int? = nil) -> Configuration {
            .of(
                queues: [.serial("q")],
                handlers: [
                    .exec("h") {
                        $0.constraints.delay = .seconds(delay)
                        $0.constraints.batchSize = batch
                    }
                ], sources: [.fifo("f", to: "h", on: "q", key: .handler, coalesces: true)])
        }
        func waiting(_ first: Configuration) -> EngineFixture {
            let fixture = EngineFixture(first)
            for number in 1...3 { fixture.line("f", "\(number)") }
            fixture.advance(seconds: 6)
            return fixture
        }
        let shorter = waiting(configuration(3600))
        shorter.reload(configuration(10))
        shorter.advance(seconds: 3.999_999)
        #expect(shorter.starts.isEmpty)
        shorter.advance(seconds: 0.000_001)
        #expect(shorter.starts.count == 1)
        for over in [configuration(5), configuration(0), configuration(3600, batch: 3)] {
            let fixture = waiting(configuration(3600, batch: 10))
            fixture.reload(over)
            fixture.advance(seconds: 0.001)
            #expect(fixture.starts.count == 1)
        }
        // A longer delay leaves the operation at its promised time.
        let longer = waiting(configuration(10))
        longer.reload(configuration(3600))
        longer.advance(seconds: 4)
        #expect(longer.starts.count == 1)
    }

    // MARK: BatchSize=

    private func batches(
        _ size: Int, queue: QueueDefinition = .serial("q"), change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [queue],
                handlers: [
                    .exec("h") {
                        ($0.constraints.delay, $0.constraints.batchSize) = (.seconds(10), size)
                        change(&$0)
                    }
                ], sources: [.custom("x", to: "h", on: "q")]))
    }

    @Test func itEndsWhenThereAreSoManyEntriesOrWhenItIsOver() {
        let fixture = batches(3)
        for _ in 0..<2 { fixture.emit("x", nil, payload: "{}") }
        fixture.advance(seconds: 9)
        #expect(fixture.running == [])
        let waits = fixture.engine.operation(1)?.waitingFor ?? ""
        #expect(waits.hasPrefix("DelaySec=, ") && waits.hasSuffix(" more, or 1 more entry"), "\(waits)")
        fixture.emit("x", nil, payload: "{}")
        #expect(fixture.starts.map(\.events.count) == [3])
        for _ in 0..<2 { fixture.emit("x", nil, payload: "{}") }
        fixture.endFirst()
        fixture.advance(seconds: 9.999_999)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.starts.map(\.events.count) == [3, 2])
    }

    @Test func oneThatIsFullAtOnceWaitsForNothing() {
        let fixture = batches(1)
        fixture.emit("x")
        #expect(fixture.starts.count == 1)
    }

    @Test func moreJoinWhileItStandsInLineAndDataFoldIntoOneEntry() {
        let fixture = batches(2)
        fixture.suspend("q")
        for _ in 0..<5 { fixture.emit("x", nil, payload: "{}") }
        fixture.resume("q")
        #expect(fixture.starts.map(\.events.count) == [5])
        fixture.endFirst()
        for _ in 0..<5 { fixture.emit("x") }
        #expect(fixture.running == [], "one entry")
    }

    @Test func theTimeToStartCountsFromWhenItIsFull() {
        let fixture = batches(2) { $0.constraints.startTimeout = .seconds(2) }
        fixture.suspend("q")
        for _ in 0..<2 { fixture.emit("x", nil, payload: "{}") }
        fixture.advance(seconds: 1.9)
        #expect(fixture.results == [])
        fixture.advance(seconds: 0.1)
        #expect(fixture.results == ["h failed"])
    }

    @Test func aFullOneOfADurableQueueIsSubmittedAfterACrash() {
        let fixture = batches(2, queue: QueueDefinition(name: "q", isDurable: true))
        fixture.suspend("q")
        for _ in 0..<2 { fixture.emit("x", nil, payload: "{}") }
        let again = EngineFixture(
            .of(
                queues: [QueueDefinition(name: "q", isDurable: true)],
                handlers: [.exec("h") { ($0.constraints.delay, $0.constraints.batchSize) = (.seconds(10), 2) }],
                sources: [.custom("x", to: "h", on: "q")]),
            restoring: DurableTests.state(fixture.writes, ended: fixture.ended))
        again.resume("q")
        #expect(again.starts.map(\.events.count) == [2])
    }

    @Test func aDelayedOneCanBeCancelled() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"))
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.cancel(1)
        #expect(fixture.results == ["h cancelled"])
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func theWallClockDoesNotMoveIt() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"))
        fixture.line("f", "1")
        fixture.stepWallClock(seconds: 3600)
        #expect(fixture.running == [])
        fixture.stepWallClock(seconds: -7200)
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: line:1"])
    }

    @Test func itIsTimeOfTheMachineAwake() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"))
        fixture.line("f", "1")
        fixture.machineSleeps(seconds: 60)
        #expect(fixture.running == [])
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: line:1"])
    }

    @Test func whatIsDelayedOnASuspendedQueueStartsAtItsResume() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"))
        fixture.suspend("q")
        fixture.line("f", "1")
        fixture.advance(seconds: 20)
        #expect(fixture.running == [])
        fixture.resume("q")
        #expect(fixture.running == ["h: line:1"])
    }

    @Test func itsKeyIsFreeForOthersUntilItIsSubmitted() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 4)],
                handlers: [.exec("h") { $0.constraints.delay = .seconds(10) }],
                sources: [
                    .fifo("f", to: "h", on: "q", key: .handler), .fifo("g", to: "h", on: "q", key: .handler),
                ]))
        fixture.line("f", "1")
        fixture.advance(seconds: 5)
        fixture.line("g", "2")
        fixture.advance(seconds: 5)
        fixture.advance(seconds: 5)
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func aRetryIsNotDelayedAgain() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("h") {
                        $0.constraints.delay = .seconds(100)
                        $0.retry = .times(1, after: 1)
                    }
                ], sources: [.fifo("f", to: "h")]))
        fixture.line("f", "1")
        fixture.advance(seconds: 100)
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 2)
        #expect(fixture.running == ["h: line:1"])
    }
}
