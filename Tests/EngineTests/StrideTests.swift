import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Stride=")
struct StrideTests {
    /// A handler with `Stride=2` whose first operation waits on a suspended queue until it has all entries.
    private func fixture(
        _ lines: Int, queue: QueueDefinition = .concurrent("q", width: 8), settings: DaemonSettings = DaemonSettings(),
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        let fixture = EngineFixture(
            .of(
                settings: settings, queues: [queue], semaphores: [.of("s", 2)],
                handlers: [
                    .exec("h") {
                        $0.stride = 2
                        change(&$0)
                    }, .exec("other"), .exec("told"),
                ],
                sources: [
                    .fifo("f", to: "h", on: "q", key: .handler, coalesces: true), .fifo("o", to: "other", on: "q"),
                ]))
        fixture.suspend("q")
        for number in 0..<lines { fixture.line("f", "\(number + 1)") }
        return fixture
    }

    private func parts(_ fixture: EngineFixture) -> [Int] { fixture.runs.map(\.part) }

    @Test func aLargerOperationIsSplitIntoRunsBesideEachOther() {
        let fixture = fixture(5)
        fixture.resume("q")
        #expect(fixture.running == ["h: line:1 line:2", "h: line:3 line:4", "h: line:5"])
        #expect(fixture.runs == (0..<3).map { RunID(operation: 1, attempt: 1, part: $0) })
        #expect(fixture.engine.operation(1)?.parts == 3 && fixture.engine.operation(1)?.partsEnded == 0)
        #expect(fixture.counters(handler: "h")?[.running] == 5 && fixture.queue("q")?.running == 1)
    }

    @Test func itHasStartedWithItsFirstPart() throws {
        let fixture = fixture(4, queue: .serial("q"))
        fixture.resume("q")
        let started = fixture.now.realtime
        for _ in 1...2 {
            fixture.spawn(fixture.runs[0])
            #expect(fixture.engine.operation(1)?.started == started)
            fixture.advance(seconds: 5)
            fixture.endFirst()
        }
        #expect(fixture.ended.first?.started == started)
    }

    @Test func itIsDoneWhenAllAreWithOneResult() {
        let fixture = fixture(5) { $0.completions.success = ["told"] }
        fixture.resume("q")
        fixture.end(fixture.runs[1])
        fixture.endFirst()
        #expect(fixture.ended.isEmpty && fixture.engine.operation(1)?.partsEnded == 2)
        fixture.endFirst()
        #expect(fixture.results == ["h done"] && fixture.running == ["told: success(1)"])
        #expect(fixture.counters(handler: "h")?[.done] == 5)
    }

    @Test func whatItsPartsHaveUsedIsAddedUp() {
        let fixture = fixture(5)
        fixture.resume("q")
        for (index, run) in fixture.runs.enumerated() {
            var usage = ResourceUsage()
            (usage.processorTime, usage.peakMemory) = (UInt64(10 + index), UInt64(100 - index))
            usage.isOfProcess = index == 1
            fixture.use(run, usage)
        }
        while !fixture.runs.isEmpty { fixture.endFirst() }
        let usage = fixture.ended.first?.usage
        #expect(usage?.processorTime == 33 && usage?.peakMemory == 100 && usage?.isOfProcess == true)
    }

    @Test func whatFitsIsNotSplit() {
        let fixture = fixture(2)
        fixture.resume("q")
        #expect(fixture.running == ["h: line:1 line:2"] && fixture.engine.operation(1)?.parts == 1)
    }

    @Test func onASerialQueueThePartsRunOneAfterAnother() {
        let fixture = fixture(5, queue: .serial("q"))
        fixture.line("o", "x")
        fixture.resume("q")
        var story: [String] = []
        while !fixture.runs.isEmpty {
            #expect(fixture.running.count == 1)
            story += fixture.running
            fixture.endFirst()
        }
        #expect(story == ["h: line:1 line:2", "h: line:3 line:4", "h: line:5", "other: line:x"])
    }

    @Test func thePartsTakeTheFreeWidthAndTheRestFollow() {
        let fixture = fixture(7, queue: .concurrent("q", width: 2))
        fixture.line("o", "x")
        fixture.resume("q")
        #expect(parts(fixture) == [0, 1])
        fixture.endFirst()
        #expect(parts(fixture) == [1, 2])
        fixture.endFirst()
        #expect(parts(fixture) == [2, 3])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:7", "other: line:x"])
    }

    @Test func eachPartTakesAProcessSlot() {
        let fixture = fixture(6, settings: DaemonSettings(maxProcesses: 1))
        fixture.resume("q")
        #expect(parts(fixture) == [0] && fixture.engine.processesRunning == 1)
        fixture.endFirst()
        #expect(parts(fixture) == [1])
        fixture.endAll()
        #expect(fixture.results == ["h done"] && fixture.starts.count == 3)
    }

    @Test func eachPartTakesItsOwnSemaphores() {
        let fixture = fixture(6) { $0.constraints.acquire("s") }
        fixture.resume("q")
        #expect(parts(fixture) == [0, 1] && fixture.semaphore("s")?.available == 0)
        fixture.endFirst()
        #expect(parts(fixture) == [1, 2])
        fixture.endAll()
        #expect(fixture.semaphore("s")?.available == 2)
    }

    @Test func thePartsShareTheKey() {
        let fixture = fixture(3)
        fixture.resume("q")
        fixture.line("f", "4")
        fixture.endFirst()
        #expect(fixture.running == ["h: line:3"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:4"])
    }

    @Test func onlyFailedPartsAreRetriedWhenTheRoundIsOver() {
        let fixture = fixture(6) { $0.retry = .times(2, after: 10) }
        fixture.resume("q")
        fixture.end(fixture.runs[1], .exited(1))
        fixture.advance(seconds: 20)
        #expect(parts(fixture) == [0, 2], "a round ends when all of its parts have")
        fixture.endFirst()
        fixture.endFirst(.exited(1))
        #expect(fixture.running == [])
        fixture.advance(seconds: 12)
        #expect(fixture.runs == [1, 2].map { RunID(operation: 1, attempt: 2, part: $0) })
        #expect(fixture.running == ["h: line:3 line:4", "h: line:5 line:6"])
        fixture.endFirst(.exited(1))
        fixture.endFirst()
        fixture.advance(seconds: 23)
        #expect(fixture.runs == [RunID(operation: 1, attempt: 3, part: 1)])
        fixture.endFirst(.exited(1))
        #expect(fixture.results == ["h failed"] && fixture.counters(handler: "h")?[.failed] == 6)
    }

    @Test func aCancelEndsThePartsThatRunAndStartsNoOther() {
        let fixture = fixture(8, queue: .concurrent("q", width: 2))
        fixture.resume("q")
        fixture.endFirst()
        fixture.cancel(1)
        #expect(fixture.signals.count == 2)
        fixture.endFirst(.signaled(15))
        #expect(fixture.ended.isEmpty)
        fixture.endFirst(.signaled(15))
        #expect(fixture.results == ["h cancelled"] && fixture.starts.count == 3)
    }

    @Test func aPartThatCannotStartFailsTheWhole() {
        let fixture = fixture(4)
        fixture.resume("q")
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        #expect(fixture.ended.isEmpty)
        fixture.endFirst()
        #expect(fixture.results == ["h failed"])
    }

    @Test func foldedEntriesCountOnce() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)],
                handlers: [.exec("h") { $0.stride = 1 }],
                sources: [.path("p", to: "h", on: "q")]))
        fixture.suspend("q")
        for name in ["a", "b", "a", "a"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.resume("q")
        #expect(Set(fixture.running) == ["h: written:ax3", "h: written:b"])
    }

    @Test func suspendingTheQueueBetweenTwoPartsKeepsTheRest() {
        let fixture = fixture(4, queue: .serial("q"))
        fixture.resume("q")
        fixture.suspend("q")
        fixture.endFirst()
        #expect(fixture.running == [] && fixture.ended.isEmpty)
        fixture.resume("q")
        #expect(fixture.running == ["h: line:3 line:4"])
        fixture.endFirst()
        #expect(fixture.results == ["h done"])
    }
}
