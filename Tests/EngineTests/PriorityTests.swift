import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Priority=")
struct PriorityTests {
    private static let levels = OperationPriority.allCases.map(\.rawValue)

    /// A handler and a FIFO for each level, `busy` to keep the queue, `write` as a barrier.
    private func fixture(width: Int = 1, _ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        let handlers = OperationPriority.allCases.map { level in
            HandlerDefinition.exec(level.rawValue) {
                change(&$0)
                $0.constraints.priority = level
            }
        }
        return EngineFixture(
            .of(
                queues: [.concurrent("q", width: width)], semaphores: [.of("s", 1)],
                handlers: handlers + [.exec("busy"), .exec("write") { $0.constraints.isBarrier = true }],
                sources: Self.levels.map { .fifo($0, to: $0, on: "q") } + [
                    .fifo("busy", to: "busy", on: "q"), .fifo("write", to: "write", on: "q"),
                ]))
    }

    @Test func theHighestOfTheReadyStartsFirst() {
        let fixture = fixture()
        fixture.line("busy", "0")
        for level in ["low", "normal", "very-high", "very-low", "high"] { fixture.line(level, "1") }
        fixture.endAll()
        #expect(
            fixture.story.dropFirst() == [
                "very-high: line:1", "high: line:1", "normal: line:1", "low: line:1", "very-low: line:1",
            ])
    }

    @Test func withinALevelTheOrderIsThatOfSubmission() {
        let fixture = fixture()
        fixture.line("busy", "0")
        for (level, text) in [("low", "1"), ("high", "2"), ("low", "3"), ("high", "4"), ("low", "5")] {
            fixture.line(level, text)
        }
        fixture.endAll()
        #expect(
            fixture.story.dropFirst() == [
                "high: line:2", "high: line:4", "low: line:1", "low: line:3", "low: line:5",
            ])
    }

    @Test func aPriorityNeverCrossesABarrier() {
        let fixture = fixture(width: 2)
        for text in ["0", "00"] { fixture.line("busy", text) }
        fixture.line("very-low", "1")
        fixture.line("write", "2")
        fixture.line("very-high", "3")
        fixture.line("write", "4")
        fixture.line("very-high", "5")
        fixture.endAll()
        #expect(
            fixture.story.dropFirst(2) == [
                "very-low: line:1", "write: line:2", "very-high: line:3", "write: line:4", "very-high: line:5",
            ])
    }

    @Test func aBarrierDoesNotPassAnythingByItsPriority() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 1)],
                handlers: [
                    .exec("low") { $0.constraints.priority = .veryLow },
                    .exec("write") {
                        $0.constraints.isBarrier = true
                        $0.constraints.priority = .veryHigh
                    },
                ], sources: [.fifo("l", to: "low", on: "q"), .fifo("w", to: "write", on: "q")]))
        for (source, text) in [("l", "1"), ("l", "2"), ("w", "3"), ("l", "4")] { fixture.line(source, text) }
        fixture.endAll()
        #expect(fixture.story == ["low: line:1", "low: line:2", "write: line:3", "low: line:4"])
    }

    @Test func whatRunsIsNotTouchedByAHigherOne() {
        let fixture = fixture()
        fixture.line("very-low", "1")
        fixture.line("very-high", "2")
        #expect(fixture.running == ["very-low: line:1"] && fixture.signals.isEmpty)
    }

    @Test func aHigherOneThatWaitsForASemaphoreIsPassed() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 1)], semaphores: [.of("s", 0)],
                handlers: [
                    .exec("high") {
                        $0.constraints.priority = .high
                        $0.constraints.acquire("s")
                    }, .exec("low") { $0.constraints.priority = .low },
                ], sources: [.fifo("h", to: "high", on: "q"), .fifo("l", to: "low", on: "q")]))
        for (source, text) in [("h", "1"), ("l", "2"), ("l", "3")] { fixture.line(source, text) }
        #expect(fixture.running == ["low: line:2"])
        fixture.command(.signal(semaphore: "s", count: 1))
        fixture.endFirst()
        #expect(fixture.running == ["high: line:1"])
    }

    @Test func aReloadMayChangeThePriorityOfWhatWaits() {
        func configuration(_ priority: OperationPriority) -> Configuration {
            .of(
                queues: [.concurrent("q", width: 1)],
                handlers: [.exec("a"), .exec("b") { $0.constraints.priority = priority }],
                sources: [.fifo("a", to: "a", on: "q"), .fifo("b", to: "b", on: "q")])
        }
        let fixture = EngineFixture(configuration(.normal))
        for (source, text) in [("a", "1"), ("a", "2"), ("b", "3")] { fixture.line(source, text) }
        fixture.reload(configuration(.high))
        fixture.endAll()
        #expect(fixture.story == ["a: line:1", "b: line:3", "a: line:2"])
    }

    /// Between two attempts it is pending, and so takes the handler that a reload brings.
    @Test(arguments: [OperationPriority.veryLow, .normal])
    func aReloadChangesThePriorityOfWhatIsTriedAgain(priority: OperationPriority) {
        func configuration(_ priority: OperationPriority) -> Configuration {
            .of(
                settings: DaemonSettings(maxProcesses: 1), queues: [.concurrent("q", width: 4), .serial("other")],
                handlers: [
                    .exec("h") {
                        $0.constraints.priority = priority
                        $0.retry = .times(1, after: 10)
                    }, .exec("busy"), .log("note", [.literal(Array("noted".utf8))]),
                ],
                sources: [
                    .fifo("h", to: "h", on: "q"), .fifo("busy", to: "busy", on: "other"),
                    .fifo("note", to: "note", on: "q"),
                ])
        }
        let fixture = EngineFixture(configuration(.normal))
        fixture.line("h", "1")
        fixture.endFirst(.exited(1))
        fixture.line("busy", "2")
        fixture.reload(configuration(priority))
        fixture.advance(seconds: 12)
        #expect(fixture.running == ["busy: line:2"])
        fixture.line("note", "3")
        #expect(fixture.logs == (priority == .veryLow ? ["noted"] : []), "only who is above it passes it by")
    }

    /// `watchctl priority` of an operation that is stored.
    @Test func aPriorityByHandIsKeptOverARestart() {
        var queue = QueueDefinition.concurrent("q", width: 1)
        queue.isDurable = true
        let configuration = Configuration.of(
            queues: [queue], handlers: [.exec("a"), .exec("b")],
            sources: [.fifo("a", to: "a", on: "q"), .fifo("b", to: "b", on: "q")])
        let fixture = EngineFixture(configuration)
        for (source, text) in [("a", "1"), ("a", "2"), ("b", "3")] { fixture.line(source, text) }
        fixture.command(.priority(.veryHigh, operation: 3))
        // Who is told that it is done may count on it.
        let isSafe = fixture.actions.contains {
            if case .stored(.reply(_, .done)) = $0 { true } else { false }
        }
        #expect(isSafe)
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        let next = EngineFixture(configuration, restoring: state)
        next.endAll()
        #expect(next.story.map { $0.suffix(1) } == ["3", "1", "2"])
    }
}
