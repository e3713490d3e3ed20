import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Explain")
struct ExplainTests {
    private func fixture(
        _ queue: QueueDefinition = .concurrent("q", width: 4), settings: DaemonSettings = DaemonSettings(),
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                settings: settings, queues: [queue, .serial("t"), .concurrent("c", width: 4).targeting("t")],
                semaphores: [.of("s", 0)],
                handlers: [
                    .exec("h", change), .exec("busy"), .exec("write") { $0.constraints.isBarrier = true },
                    .exec("b") { $0.constraints.after = ["busy"] },
                ],
                sources: [
                    .fifo("f", to: "h", on: "q"), .fifo("k", to: "h", on: "q", key: .handler, coalesces: true),
                    .fifo("busy", to: "busy", on: "q"), .fifo("w", to: "write", on: "q"),
                    .fifo("x", to: "busy", "b", on: "q"), .fifo("c", to: "busy", on: "c"),
                ]))
    }

    /// What the last operation waits for now, which `explain` says last and the view says too.
    private func reason(_ fixture: EngineFixture, sourceLocation: Testing.SourceLocation = #_sourceLocation)
        -> Explanation?
    {
        guard let view = fixture.engine.operationViews.last, let steps = fixture.engine.explain(operation: view.id),
            let last = steps.last
        else {
            Issue.record("nothing is explained", sourceLocation: sourceLocation)
            return nil
        }
        #expect(last.time == nil, sourceLocation: sourceLocation)
        #expect(last.code == view.waitReason, sourceLocation: sourceLocation)
        #expect(view.waitingFor?.isEmpty == false, sourceLocation: sourceLocation)
        check(steps, sourceLocation)
        return last
    }

    /// Sentences, in the order of time, what holds now last.
    private func check(_ steps: [Explanation], _ location: Testing.SourceLocation) {
        #expect(steps.allSatisfy { !$0.sentence.isEmpty && !$0.sentence.hasSuffix(".") }, sourceLocation: location)
        let times = steps.compactMap(\.time)
        #expect(times == times.sorted(), sourceLocation: location)
        #expect(steps.drop { $0.time != nil }.allSatisfy { $0.time == nil }, sourceLocation: location)
    }

    // MARK: A run that is being ended

    private func ending(_ fixture: EngineFixture) -> String? {
        fixture.send(.clock)
        return fixture.engine.explain(operation: 1)?.last { $0.code == .running }?.sentence
    }

    @Test func aRunThatHasTimedOutSaysHowFarItsEndIs() {
        let fixture = fixture {
            ($0.timeout, $0.timeoutStop, $0.killSignal) = (.seconds(3), .seconds(3), 2)
        }
        fixture.line("f", "1")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 2)
        #expect(ending(fixture) == "operation 1 runs, process 1001")
        fixture.advance(seconds: 2)
        #expect(
            ending(fixture)
                == "operation 1 runs, process 1001: timed out after 3s, SIGINT sent 1s ago, SIGKILL in 2s")
        fixture.advance(seconds: 4)
        #expect(ending(fixture) == "operation 1 runs, process 1001: timed out after 3s, SIGKILL sent 2s ago")
    }

    @Test func aRunThatIsCancelledSaysSo() {
        let fixture = fixture { ($0.timeoutStop, $0.killMode) = (.infinity, .tree) }
        fixture.line("f", "1")
        fixture.spawn(fixture.runs[0])
        fixture.cancel(1)
        fixture.advance(seconds: 1)
        #expect(ending(fixture) == "operation 1 runs, process 1001: cancelled, SIGTERM sent 1s ago")
        let kept = self.fixture { $0.killMode = .none }
        kept.line("f", "1")
        kept.spawn(kept.runs[0])
        kept.cancel(1)
        #expect(
            ending(kept)
                == "operation 1 runs, process 1001: cancelled, no further command of it starts (KillMode=none)")
    }

    @Test func aDelay() {
        let fixture = fixture { $0.constraints.delay = .seconds(10) }
        fixture.line("f", "1")
        #expect(reason(fixture)?.code == .delay)
    }

    @Test func aDependency() {
        let fixture = fixture()
        fixture.line("x", "1")
        #expect(reason(fixture)?.code == .dependency && reason(fixture)?.other == 1)
    }

    @Test func aKey() {
        let fixture = fixture()
        for text in ["1", "2"] { fixture.line("k", text) }
        #expect(reason(fixture)?.code == .key && reason(fixture)?.other == 1)
    }

    @Test func thePlaceInASerialQueue() {
        let fixture = fixture(.serial("q"))
        for text in ["1", "2", "3"] { fixture.line("busy", text) }
        // The one in front of it is what it waits for, be it running or waiting.
        #expect([.order, .width, .turn, .key].contains(reason(fixture)?.code))
    }

    @Test func aBarrier() {
        let fixture = fixture()
        fixture.line("busy", "1")
        fixture.line("w", "2")
        #expect(reason(fixture)?.code == .barrier)
        fixture.line("f", "3")
        #expect(reason(fixture)?.code == .barrier && reason(fixture)?.other == 2)
    }

    @Test func theWidthOfTheQueueOrOfItsTarget() {
        let fixture = fixture(.concurrent("q", width: 1))
        for text in ["1", "2"] { fixture.line("busy", text) }
        #expect(reason(fixture)?.code == .width)
        for text in ["3", "4"] { fixture.line("c", text) }
        #expect(reason(fixture)?.code == .targetWidth && reason(fixture)?.sentence.contains("t") == true)
    }

    @Test func aSuspensionOfTheQueueOrItsTargetAndByWhom() {
        let fixture = fixture()
        fixture.suspend("q")
        fixture.line("f", "1")
        #expect(reason(fixture)?.code == .suspended && reason(fixture)?.sentence.contains("test") == true)
        fixture.suspend("t")
        fixture.line("c", "2")
        #expect(reason(fixture)?.code == .suspended && reason(fixture)?.section == "queue/t")
    }

    @Test func aSemaphore() {
        let fixture = fixture { $0.constraints.acquire("s") }
        fixture.line("f", "1")
        #expect(reason(fixture)?.code == .semaphore && reason(fixture)?.sentence.contains("s") == true)
    }

    @Test func theSemaphoreThatIsLackingAndNoOther() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)], semaphores: [.of("a", 1), .of("b", 1)],
                handlers: [
                    .exec("b") { $0.constraints.acquire("b") }, .exec("a") { $0.constraints.acquire("a") },
                    .exec("ab") {
                        $0.constraints.acquire("a")
                        $0.constraints.acquire("b")
                    },
                ], sources: ["a", "b", "ab"].map { .fifo($0, to: $0, on: "q") }))
        for name in ["b", "ab", "a"] { fixture.line(name, "1") }
        let both = fixture.engine.operation(2)
        #expect(both?.waitReason == .semaphore && both?.waitingFor == "semaphore b: 1 needed, 0 free, 1 in line")
        #expect(fixture.engine.explain(operation: 2)?.filter { $0.code == .semaphore }.count == 1)
        #expect(fixture.engine.operation(3)?.waitingFor == "semaphore a: operation 2 is before it in line")
        #expect(reason(fixture)?.other == 2)
    }

    @Test func whatElseIsLackingOnceTheSemaphoreIsThere() {
        let fixture = fixture(.concurrent("q", width: 1)) { $0.constraints.acquire("s") }
        fixture.line("f", "1")
        fixture.line("busy", "2")
        fixture.command(.signal(semaphore: "s", count: 1))
        #expect(fixture.engine.operation(1)?.waitReason == .width)
    }

    @Test func aProcessSlot() {
        let fixture = fixture(settings: DaemonSettings(maxProcesses: 1))
        for text in ["1", "2"] { fixture.line("f", text) }
        #expect(reason(fixture)?.code == .processSlot)
    }

    /// Of one that has started, the explanation says what it had waited for.
    @Test func theWaitBeforeAStart() {
        func started(
            _ queue: QueueDefinition, _ lines: [(source: String, text: String)],
            _ change: (inout HandlerDefinition) -> Void = { _ in }, _ then: (EngineFixture) -> Void
        ) -> String? {
            let fixture = fixture(queue, change)
            for line in lines { fixture.line(line.source, line.text) }
            fixture.advance(seconds: 2.5)
            then(fixture)
            return fixture.engine.explain(operation: UInt64(lines.count))?.last { $0.code == .started }?.sentence
        }
        let serial = started(.serial("q"), [("busy", "1"), ("f", "2")]) { $0.endFirst() }
        #expect(serial == "operation 2 of h started on queue q after 2.5s: it waited for its turn there")
        let semaphore = started(.concurrent("q", width: 2), [("f", "1")], { $0.constraints.acquire("s") }) {
            $0.command(.signal(semaphore: "s", count: 1))
        }
        #expect(semaphore == "operation 1 of h started on queue q after 2.5s: it waited for semaphore s")
        let delay = started(.serial("q"), [("f", "1")], { $0.constraints.delay = .seconds(2) }) { _ in }
        #expect(delay == "operation 1 of h started on queue q after 2s: it waited for DelaySec=")
        let atOnce = started(.serial("q"), [("f", "1")]) { _ in }
        #expect(atOnce == "operation 1 of h started on queue q")
    }

    @Test func aRateLimit() {
        let fixture = fixture(
            QueueDefinition.concurrent("q", width: 4).with { $0.rateLimit = RateLimit(count: 1, span: .seconds(10)) })
        for text in ["1", "2"] { fixture.line("f", text) }
        #expect(reason(fixture)?.code == .rateLimit)
    }

    @Test func aRetry() {
        let fixture = fixture { $0.retry = .times(3) }
        fixture.line("f", "1")
        fixture.endFirst(.exited(12))
        #expect(reason(fixture)?.code == .backingOff)
        let codes = fixture.engine.explain(operation: 1)?.map(\.code) ?? []
        #expect(codes.starts(with: [.submitted]) && codes.contains(.started) && codes.contains(.retried))
    }

    @Test func aReload() {
        let configuration = Configuration.of(
            handlers: [.exec("h", queue: "main")], sources: [.fifo("f", to: "h", on: "main")])
        let fixture = EngineFixture(configuration)
        for text in ["1", "2"] { fixture.line("f", text) }
        fixture.suspend("main")
        fixture.reload(configuration)
        fixture.resume("main")
        fixture.cancel(99)
        let codes = fixture.engine.explain(operation: 2)?.map(\.code) ?? []
        #expect(codes.contains(.reload) && codes.contains(.order))
    }

    // MARK: What happened

    @Test func theTrailTellsWhatHappenedInOrder() {
        let fixture = fixture()
        fixture.line("k", "1")
        fixture.advance(seconds: 1)
        for text in ["2", "3"] { fixture.line("k", text) }
        fixture.advance(seconds: 1)
        fixture.endFirst()
        let steps = fixture.engine.explain(operation: 2) ?? []
        #expect(steps.map(\.code).starts(with: [.submitted]) && steps.contains { $0.code == .joined })
        #expect(steps.contains { $0.code == .started && $0.time == fixture.now.realtime })
        check(steps, #_sourceLocation)
    }

    @Test func theTrailIsBounded() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h"), .exec("i", overlap: .skip)],
                sources: [
                    .fifo("k", to: "h", on: "q", key: .handler, coalesces: true),
                    .fifo("i", to: "i", on: "default", key: .handler),
                ]), isChecked: false)
        for number in 0..<2000 {
            fixture.line("k", "\(number)")
            fixture.line("i", "\(number)")
        }
        #expect((fixture.engine.explain(operation: 3)?.count ?? 0) <= 500)
        #expect((fixture.engine.explain(handler: "i")?.count ?? 0) <= 500)
        #expect((fixture.engine.explain(queue: "q")?.count ?? 0) <= 500)
        #expect(fixture.engine.explain(handler: "i")?.last { $0.code == .skipped }?.sentence.isEmpty == false)
    }

    @Test func whatIsNotNamedIsCounted() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h"), .exec("i")],
                sources: [.fifo("h", to: "h", on: "q"), .fifo("i", to: "i", on: "q")]), isChecked: false)
        for number in 1...15 {
            fixture.line("h", "\(number)")
            fixture.line("i", "\(number)")
        }
        #expect(fixture.engine.explain(queue: "q")?.last?.sentence == "10 more operations not named here")
        #expect(fixture.engine.explain(queue: "q")?.last?.code == .more)
        #expect(fixture.engine.explain(handler: "h")?.contains { $0.code == .more } == false)
        for number in 16...21 { fixture.line("h", "\(number)") }
        #expect(fixture.engine.explain(handler: "h")?.last?.sentence == "1 more operation not named here")
    }

    @Test func aHandlerTellsWhatBecameOfItsDeliveries() {
        let fixture = fixture { $0.overlap = .skip }
        fixture.line("k", "1")
        fixture.line("k", "2")
        let steps = fixture.engine.explain(handler: "h") ?? []
        let skipped = steps.first { $0.code == .skipped }
        #expect(skipped?.sentence.contains("Overlap=skip") == true && skipped?.other == 1)
        #expect(steps.contains { $0.code == .running || $0.code == .started })
        check(steps, #_sourceLocation)
    }

    @Test func aQueueTellsHowItStands() {
        let fixture = fixture(.serial("q"))
        #expect(fixture.engine.explain(queue: "q")?.map(\.code).contains(.idle) == true)
        fixture.line("f", "1")
        #expect(fixture.engine.explain(queue: "q")?.map(\.code).contains(.running) == true)
        fixture.suspend("q")
        fixture.endFirst()
        fixture.line("f", "2")
        #expect(fixture.engine.explain(queue: "q")?.map(\.code).contains(.suspended) == true)
    }

    @Test func whatWasSupersededNamesItsSuccessor() {
        let fixture = fixture { $0.overlap = .restart }
        for text in ["1", "2"] { fixture.line("k", text) }
        fixture.endFirst(.signaled(15))
        let steps = fixture.engine.explain(handler: "h") ?? []
        #expect(steps.contains { $0.code == .superseded && $0.operation == 1 && $0.other == 2 })
    }

    @Test func whatDoesNotExistIsNotExplained() {
        let fixture = fixture()
        #expect(fixture.engine.explain(operation: 99) == nil)
        #expect(fixture.engine.explain(queue: "nothing") == nil)
        #expect(fixture.engine.explain(handler: "nothing") == nil)
    }
}
