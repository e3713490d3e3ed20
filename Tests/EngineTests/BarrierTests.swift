import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Barrier=")
struct BarrierTests {
    /// Readers and writers on one queue, each event an operation of its own.
    private func fixture(width: Int = 8, _ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [
                    .concurrent("q", width: width), .concurrent("a", width: 8).targeting("q"),
                    .concurrent("b", width: 8).targeting("q"),
                ],
                handlers: [
                    .exec("read", change),
                    .exec("write") {
                        change(&$0)
                        $0.constraints.isBarrier = true
                    }, .exec("late") { $0.constraints.delay = .seconds(10) },
                ],
                sources: [
                    .fifo("r", to: "read", on: "q"), .fifo("w", to: "write", on: "q"),
                    .fifo("ra", to: "read", on: "a"), .fifo("wa", to: "write", on: "a"),
                    .fifo("rb", to: "read", on: "b"), .fifo("l", to: "late", on: "q"),
                ]))
    }

    @Test func aBarrierWaitsForEverythingBeforeItAndRunsAlone() {
        let fixture = fixture()
        for (source, text) in [("r", "1"), ("r", "2"), ("w", "3"), ("r", "4"), ("r", "5"), ("w", "6")] {
            fixture.line(source, text)
        }
        #expect(fixture.running == ["read: line:1", "read: line:2"])
        fixture.endFirst()
        #expect(fixture.running == ["read: line:2"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:3"])
        fixture.endFirst()
        #expect(fixture.running == ["read: line:4", "read: line:5"])
        fixture.endFirst()
        #expect(fixture.running == ["read: line:5"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:6"])
        fixture.endFirst()
        #expect(fixture.running == [] && fixture.ended.count == 6)
    }

    @Test func aBarrierOnAnEmptyQueueStartsAtOnceAndHoldsWhatComesAfterIt() {
        let fixture = fixture()
        fixture.line("w", "1")
        fixture.line("r", "2")
        #expect(fixture.running == ["write: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["read: line:2"])
    }

    @Test func barriersRunOneAfterTheOther() {
        let fixture = fixture()
        for text in ["1", "2", "3"] { fixture.line("w", text) }
        for text in ["1", "2", "3"] {
            #expect(fixture.running == ["write: line:\(text)"])
            fixture.endFirst()
        }
    }

    @Test func aBarrierDoesNotWaitForWhatIsNotYetSubmitted() {
        let fixture = fixture()
        fixture.line("l", "1")
        fixture.line("w", "2")
        #expect(fixture.running == ["write: line:2"])
        // Its delay is over now: it takes its place behind the barrier.
        fixture.advance(seconds: 11)
        #expect(fixture.running == ["write: line:2"])
        fixture.line("w", "3")
        fixture.endFirst()
        #expect(fixture.running == ["late: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:3"])
    }

    @Test func aBarrierWaitsForWhatBacksOffAndSoDoesWhatIsBehindIt() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        fixture.line("r", "1")
        fixture.line("w", "2")
        fixture.line("r", "3")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["read: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:2"])
    }

    @Test func aBarrierThatBacksOffKeepsTheQueue() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        fixture.line("w", "1")
        fixture.line("r", "2")
        fixture.line("ra", "3")
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["write: line:1"])
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["read: line:2", "read: line:3"])
    }

    @Test func aBarrierWaitsForWhatWaitsForItsKey() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8), .concurrent("other", width: 8)],
                handlers: [.exec("h"), .exec("write") { $0.constraints.isBarrier = true }],
                sources: [
                    .fifo("o", to: "h", on: "other", key: .perLine), .fifo("f", to: "h", on: "q", key: .perLine),
                    .fifo("w", to: "write", on: "q"),
                ]))
        fixture.line("o", "a")
        fixture.line("f", "a")
        fixture.line("w", "1")
        fixture.line("f", "b")
        #expect(fixture.running == ["h: line:a"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:a"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:b"])
    }

    @Test func aBarrierExcludesWhatRunsThroughItsQueueAndNotItsSiblings() {
        let fixture = fixture()
        fixture.line("wa", "1")
        fixture.line("rb", "2")
        fixture.line("r", "3")
        #expect(fixture.running == ["write: line:1", "read: line:2", "read: line:3"])
        fixture.line("ra", "4")
        #expect(fixture.running.count == 3)
        fixture.line("w", "5")
        fixture.line("rb", "6")
        fixture.end("write")
        #expect(fixture.running == ["read: line:2", "read: line:3", "read: line:4"])
        fixture.end("read")
        fixture.end("read")
        #expect(fixture.running == ["read: line:4"])
        fixture.end("read")
        #expect(fixture.running == ["write: line:5"])
        fixture.line("ra", "7")
        fixture.line("wa", "8")
        #expect(fixture.running == ["write: line:5"])
        fixture.end("write")
        #expect(fixture.running == ["read: line:6", "read: line:7"])
        fixture.end(fixture.runs[1])
        #expect(fixture.running == ["read: line:6", "write: line:8"])
    }

    @Test func aBarrierWaitsForWhatSitsInASuspendedChild() {
        let fixture = fixture()
        fixture.suspend("a")
        fixture.line("ra", "1")
        fixture.line("w", "2")
        fixture.line("rb", "3")
        #expect(fixture.running == [])
        fixture.resume("a")
        #expect(fixture.running == ["read: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["write: line:2"])
        fixture.endFirst()
        #expect(fixture.running == ["read: line:3"])
    }

    @Test func aBarrierOfASuspendedChildHoldsOnlyThatChild() {
        let fixture = fixture()
        fixture.suspend("a")
        fixture.line("wa", "1")
        fixture.line("ra", "2")
        fixture.line("rb", "3")
        fixture.line("r", "4")
        #expect(fixture.running == ["read: line:3", "read: line:4"])
    }

    @Test func whatIsMergedKeepsItsPlaceBeforeTheBarrier() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 1)],
                handlers: [.exec("busy"), .exec("h"), .exec("write") { $0.constraints.isBarrier = true }],
                sources: [
                    .fifo("b", to: "busy", on: "q"), .custom("x", to: "h", on: "q"), .fifo("w", to: "write", on: "q"),
                ]))
        fixture.line("b", "0")
        fixture.emit("x")
        fixture.line("w", "1")
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.story == ["busy: line:0", "h: data:2x2", "write: line:1"])
    }

    @Test func aBarrierThatIsCancelledLetsTheRestGoOn() {
        let fixture = fixture()
        fixture.line("r", "1")
        fixture.line("w", "2")
        fixture.line("r", "3")
        fixture.cancel(2)
        #expect(fixture.running == ["read: line:1", "read: line:3"])
    }

    @Test func theLastBeforeABarrierMayAlsoBeCancelled() {
        let fixture = fixture(width: 1)
        fixture.line("r", "1")
        fixture.line("r", "2")
        fixture.line("w", "3")
        fixture.end("read")
        fixture.cancel(2)
        #expect(fixture.running == ["read: line:2"])
        fixture.end("read", .signaled(15))
        #expect(fixture.running == ["write: line:3"])
    }

    @Test func onASerialQueueABarrierIsAnOperationLikeOthers() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q"), .concurrent("t", width: 4), .serial("c").targeting("t")],
                handlers: [.exec("h"), .exec("write") { $0.constraints.isBarrier = true }],
                sources: [
                    .fifo("f", to: "h", on: "q"), .fifo("w", to: "write", on: "q"), .fifo("wc", to: "write", on: "c"),
                    .fifo("t", to: "h", on: "t"),
                ]))
        for (source, text) in [("w", "1"), ("f", "2"), ("wc", "3"), ("t", "4")] { fixture.line(source, text) }
        #expect(fixture.running == ["write: line:1", "write: line:3", "h: line:4"])
    }

    @Test func thePartsOfABarrierRunBesideEachOtherAndBesideNothingElse() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 3)],
                handlers: [
                    .exec("read"),
                    .exec("write") {
                        $0.constraints.isBarrier = true
                        $0.stride = 1
                    },
                ],
                sources: [
                    .fifo("r", to: "read", on: "q"),
                    .fifo("w", to: "write", on: "q", key: .handler, coalesces: true),
                ]))
        fixture.line("r", "0")
        for text in ["1", "2", "3", "4"] { fixture.line("w", text) }
        fixture.line("r", "5")
        fixture.end("read")
        #expect(fixture.running == ["write: line:1", "write: line:2", "write: line:3"])
        fixture.end("write")
        #expect(fixture.running == ["write: line:2", "write: line:3", "write: line:4"])
        for _ in 0..<2 { fixture.end("write") }
        #expect(fixture.running == ["write: line:4"])
        fixture.end("write")
        #expect(fixture.running == ["read: line:5"])
    }

    @Test func aReloadMayMakeAWaitingOperationABarrierOrNone() {
        func configuration(_ isBarrier: Bool) -> Configuration {
            .of(
                queues: [.concurrent("q", width: 2)],
                handlers: [.exec("busy"), .exec("h") { $0.constraints.isBarrier = isBarrier }],
                sources: [.fifo("b", to: "busy", on: "q"), .fifo("f", to: "h", on: "q")])
        }
        let fixture = EngineFixture(configuration(true))
        fixture.line("b", "1")
        fixture.line("f", "2")
        #expect(fixture.running == ["busy: line:1"])
        fixture.reload(configuration(false))
        #expect(fixture.running == ["busy: line:1", "h: line:2"])
        fixture.line("b", "3")
        fixture.line("f", "4")
        fixture.reload(configuration(true))
        fixture.end("busy")
        fixture.end("h")
        #expect(fixture.running == ["busy: line:3"])
        fixture.end("busy")
        #expect(fixture.running == ["h: line:4"])
    }

    @Test func whoWaitsForABarrierSaysForWhich() {
        let fixture = fixture()
        for (source, text) in [("r", "1"), ("w", "2"), ("r", "3")] { fixture.line(source, text) }
        #expect(fixture.engine.operation(2)?.waitReason == .barrier)
        #expect(fixture.engine.operation(3)?.waitReason == .barrier)
        #expect(fixture.engine.explain(operation: 3)?.contains { $0.code == .barrier && $0.other == 2 } == true)
    }
}
