import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("Engine, limits and bad input")
struct EngineLimitTests {
    private static let few = LongPart.count(500, long: 10_000)
    private static let many = LongPart.count(5_000, long: 100_000)

    private func fixture(width: Int, count: Int, _ change: (inout HandlerDefinition) -> Void = { _ in })
        -> EngineFixture
    {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1000, maxOperations: 1_000_000, maxMemory: 1 << 40),
                queues: [.concurrent("q", width: width, backlog: 1_000_000)], semaphores: [.of("s", 0)],
                handlers: [.exec("h", change)], sources: [.fifo("f", to: "h", on: "q", key: .perLine)]),
            isChecked: false)
        for number in 0..<count { fixture.line("f", "\(number)") }
        return fixture
    }

    /// How long it takes to cancel so many while what runs ends, in between and afterwards.
    private func cancelling(_ count: Int, _ change: (inout HandlerDefinition) -> Void = { _ in }) -> Double {
        let fixture = fixture(width: 100, count: count, change)
        let running = fixture.runs
        let took = processorSeconds {
            for run in running.prefix(50) { fixture.end(run) }
            let token = fixture.command(.cancelQueue(name: "q"))
            while cancelled(fixture, token) == nil { fixture.advance(seconds: 0.001) }
            for run in fixture.runs { fixture.end(run, .signaled(15)) }
        }
        #expect(fixture.engine.operationViews.isEmpty && fixture.engine.totals.outstanding == 0)
        #expect(fixture.engine.totals[.cancelled] + fixture.engine.totals[.done] == count)
        return took
    }

    @Test func manyAreCancelledWhileOthersEnd() {
        let (few, many) = (cancelling(Self.few), cancelling(Self.many))
        // Ten times as many may take twenty times as long, not a hundred times.
        #expect(many < max(few * 30, 1), "\(few) s for \(Self.few), \(many) s for \(Self.many)")
    }

    @Test func manyThatWaitForASemaphoreAreCancelled() {
        let (few, many) = (
            cancelling(Self.few) { $0.constraints.acquire("s") }, cancelling(Self.many) { $0.constraints.acquire("s") }
        )
        #expect(many < max(few * 30, 1), "\(few) s for \(Self.few), \(many) s for \(Self.many)")
    }

    @Test func manyAreCancelledOneByOneFromTheMiddle() {
        func one(_ count: Int) -> Double {
            let fixture = fixture(width: 100, count: count)
            let order = (1...UInt64(count)).map { ($0 * 7919) % UInt64(count) + 1 }
            let took = processorSeconds { for id in order { fixture.cancel(id) } }
            fixture.endAll()
            #expect(fixture.engine.operationViews.isEmpty)
            return took
        }
        let (few, many) = (one(Self.few), one(Self.many))
        #expect(many < max(few * 30, 1), "\(few) s for \(Self.few), \(many) s for \(Self.many)")
    }

    private func cancelled(_ fixture: EngineFixture, _ token: Token) -> Int? {
        if case .cancelled(let count) = fixture.reply(token) { count } else { nil }
    }

    /// Part by part, and nothing of the queue starts meanwhile; what comes after the call stays.
    @Test func manyAreCancelledInPartsAndNoneStartsMeanwhile() {
        let count = 2 * Engine.cancelledAtOnce + 10
        let fixture = fixture(width: 1, count: count)
        let token = fixture.command(.cancelQueue(name: "q"))
        #expect(fixture.ended.count == Engine.cancelledAtOnce && fixture.reply(token) == nil)
        fixture.line("f", "late")
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.starts.count == 1)
        fixture.advance(seconds: 0.001)
        #expect(cancelled(fixture, token) == count)
        #expect(fixture.ended.count == count && fixture.running == ["h: line:late"])
    }

    @Test func aStopInTheMiddleOfItCancelsTheRest() {
        let fixture = fixture(width: 1, count: 2 * Engine.cancelledAtOnce)
        let token = fixture.command(.cancelQueue(name: "q"))
        fixture.send(.drain)
        #expect(cancelled(fixture, token) == 2 * Engine.cancelledAtOnce)
    }

    @Test func everyOneOfManyRunsItsTurn() {
        let fixture = fixture(width: 3, count: Self.few)
        let took = processorSeconds { fixture.endAll() }
        #expect(fixture.ended.count == Self.few && took < 30)
    }

    // MARK: Counts and bounds

    @Test(arguments: ["q", "f"])
    func aSuspensionBelowZeroIsRefusedAndDoesNoHarm(name: String) {
        let fixture = fixture(width: 1, count: 0)
        for _ in 0..<3 {
            #expect(fixture.error(fixture.command(.resume(name: name))) == .notSuspended(name))
        }
        fixture.suspend(name)
        fixture.line("f", "1")
        #expect(fixture.running == [])
        fixture.resume(name)
        #expect(fixture.running == ["h: line:1"])
        #expect(fixture.error(fixture.command(.resume(name: name))) == .notSuspended(name))
    }

    @Test func aWidthMayBeAsLargeAsANumberCanBe() {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: .max),
                queues: [.concurrent("t", width: .max), .concurrent("q", width: .max).targeting("t")],
                handlers: [.exec("h") { $0.stride = .max }, .exec("w") { $0.constraints.isBarrier = true }],
                sources: [.fifo("f", to: "h", on: "q"), .fifo("w", to: "w", on: "q")]))
        for number in 1...50 { fixture.line("f", "\(number)") }
        #expect(fixture.running.count == 50)
        fixture.line("w", "x")
        fixture.endAll()
        #expect(fixture.ended.count == 51)
    }

    @Test func aBacklogOfOneStillLetsEverythingThrough() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("t", width: 1, backlog: 1), .serial("q", backlog: 1).targeting("t")],
                handlers: [.exec("h") { $0.constraints.delay = .seconds(1) }],
                sources: [.fifo("f", to: "h", on: "q"), .fifo("g", to: "h", on: "t")]))
        for number in 1...10 { fixture.line(number.isMultiple(of: 2) ? "f" : "g", "\(number)") }
        for _ in 0..<20 {
            fixture.advance(seconds: 1)
            fixture.endAll()
        }
        #expect(fixture.ended.count == 10 && fixture.held.isEmpty)
    }

    @Test func spansWithoutEndAreNoTrap() {
        let fixture = EngineFixture(
            .of(
                queues: [
                    QueueDefinition.serial("q").with { $0.rateLimit = RateLimit(count: .max, span: .infinity) }
                ],
                handlers: [
                    .exec("h") {
                        $0.retry = RetryPolicy(limit: nil, delay: .infinity, maxDelay: .infinity)
                        $0.constraints.startTimeout = .infinity
                    }, .exec("never") { $0.constraints.delay = .infinity },
                    .exec("nearly") { $0.constraints.delay = TimeSpan(microseconds: .max - 1) },
                ], sources: [.fifo("f", to: "h", on: "q"), .fifo("n", to: "never", "nearly", on: "q")]))
        fixture.line("n", "1")
        fixture.line("f", "2")
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 1_000_000)
        #expect(fixture.running == [] && fixture.engine.operationViews.count == 3)
        fixture.command(.cancelQueue(name: "q"))
        #expect(fixture.engine.operationViews.isEmpty)
    }

    @Test func manyAttemptsDoNotOverflowTheirPause() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("h") { $0.retry = RetryPolicy(limit: nil, delay: .seconds(1), maxDelay: .seconds(3)) }
                ],
                sources: [.fifo("f", to: "h")]))
        fixture.line("f", "1")
        for _ in 0..<100 {
            fixture.endFirst(.exited(1))
            fixture.advance(seconds: 3.4)
        }
        #expect(fixture.starts.count == 101)
    }

    @Test func semaphoresAtTheirLimits() {
        let fixture = EngineFixture(
            .of(
                semaphores: [.of("s", Engine.semaphoreLimit)],
                handlers: [
                    .exec("h") {
                        $0.constraints.acquire("s", Engine.semaphoreLimit)
                        $0.constraints.release("s", Engine.semaphoreLimit)
                    }
                ], sources: [.fifo("f", to: "h")]))
        for number in 1...3 { fixture.line("f", "\(number)") }
        #expect(fixture.running == ["h: line:1"])
        fixture.endAll()
        #expect(fixture.ended.count == 3)
    }
}
