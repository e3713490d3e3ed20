import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Target=")
struct TargetTests {
    /// `a` and `b` run through `t`, `deep` runs through `a`.
    private func fixture(
        _ t: QueueDefinition, a: QueueDefinition = .concurrent("a", width: 8),
        b: QueueDefinition = .concurrent("b", width: 8)
    ) -> EngineFixture { EngineFixture(configuration(t, a, b)) }

    private func configuration(_ t: QueueDefinition, _ a: QueueDefinition, _ b: QueueDefinition) -> Configuration {
        .of(
            queues: [t, a.targeting("t"), b.targeting("t"), .concurrent("deep", width: 8).targeting("a")],
            handlers: [.exec("h")],
            sources: ["t", "a", "b", "deep"].map { .fifo($0, to: "h", on: $0) })
    }

    private func lines(_ fixture: EngineFixture, _ lines: String...) {
        // The first letter names the queue.
        for line in lines { fixture.line(line.hasPrefix("d") ? "deep" : String(line.prefix(1)), line) }
    }

    /// What the lines said that are being handled.
    private func running(_ fixture: EngineFixture) -> [String] { fixture.running.map { String($0.dropFirst(8)) } }

    @Test func theWidthOfATargetBoundsAllThatRunsThroughIt() {
        let fixture = fixture(.concurrent("t", width: 2))
        lines(fixture, "a1", "b2", "d3", "t4")
        #expect(running(fixture) == ["a1", "b2"])
        #expect(fixture.engine.operation(3)?.waitReason == .targetWidth)
        fixture.endFirst()
        #expect(running(fixture) == ["b2", "d3"])
        fixture.endAll()
        #expect(fixture.ended.count == 4)
    }

    @Test func theWidthOfAQueueBoundsItUnderAWiderTarget() {
        let fixture = fixture(.concurrent("t", width: 4), a: .concurrent("a", width: 1))
        lines(fixture, "d1", "a2", "d3", "b4")
        #expect(running(fixture) == ["d1", "b4"])
    }

    @Test func throughASerialTargetRunsOneAtATimeByAge() {
        let fixture = fixture(.serial("t"))
        lines(fixture, "a1", "a2", "b3", "a4", "t5", "d6", "b7")
        var story: [String] = []
        while !fixture.runs.isEmpty {
            #expect(fixture.running.count == 1)
            story += running(fixture)
            fixture.endFirst()
        }
        #expect(story == ["a1", "a2", "b3", "a4", "t5", "d6", "b7"])
    }

    @Test func siblingsTakeTurnsByAge() {
        let fixture = fixture(.concurrent("t", width: 1), a: .serial("a"), b: .serial("b"))
        lines(fixture, "b1", "a2", "a3", "b4", "a5", "b6")
        fixture.endAll()
        #expect(fixture.story.map { String($0.dropFirst(8)) } == ["b1", "a2", "a3", "b4", "a5", "b6"])
    }

    @Test func whoWaitsInOneChildDoesNotHoldUpItsSiblings() {
        let fixture = fixture(.serial("t"), a: .concurrent("a", width: 8))
        lines(fixture, "t0")
        fixture.suspend("queue/a")
        lines(fixture, "a1", "d2", "b3")
        fixture.endFirst()
        #expect(running(fixture) == ["b3"])
        fixture.resume("queue/a")
        #expect(running(fixture) == ["b3"])
        fixture.endFirst()
        #expect(running(fixture) == ["a1"])
    }

    @Test func whoLacksTheWidthOfItsOwnQueueDoesNotHoldUpItsSiblings() {
        let fixture = fixture(.concurrent("t", width: 2), a: .serial("a"), b: .serial("b"))
        lines(fixture, "a1", "a2", "b3")
        #expect(running(fixture) == ["a1", "b3"])
    }

    @Test func suspendingATargetSuspendsWhatRunsThroughItAndLetsRunWhatRuns() {
        let fixture = fixture(.concurrent("t", width: 8))
        lines(fixture, "d1")
        fixture.suspend("queue/t")
        lines(fixture, "a2", "d3", "b4")
        #expect(running(fixture) == ["d1"] && fixture.signals.isEmpty)
        #expect(fixture.engine.operation(3)?.waitReason == .suspended)
        fixture.suspend("queue/a")
        fixture.resume("queue/t")
        #expect(running(fixture) == ["d1", "b4"])
        fixture.resume("queue/a")
        #expect(running(fixture) == ["d1", "b4", "a2", "d3"])
    }

    @Test func aChildThatIsSuspendedItselfStaysSo() {
        let fixture = fixture(.concurrent("t", width: 8))
        fixture.suspend("queue/a")
        fixture.suspend("queue/t")
        lines(fixture, "a1")
        fixture.resume("queue/a")
        #expect(running(fixture) == [])
        fixture.resume("queue/t")
        #expect(running(fixture) == ["a1"])
    }

    @Test func theEffectiveQoSIsTheLowestOnTheWay() {
        let fixture = fixture(
            QueueDefinition.concurrent("t", width: 8).with { $0.qos = .utility },
            a: QueueDefinition.concurrent("a", width: 8).with { $0.qos = .userInitiated },
            b: QueueDefinition.concurrent("b", width: 8).with { $0.qos = .background })
        lines(fixture, "a1", "b2", "d3", "t4")
        #expect(fixture.starts.map(\.qos) == [.utility, .background, .utility, .utility])
        #expect(["t", "a", "b", "deep"].map { fixture.queue($0)?.qos } == [.utility, .utility, .background, .utility])
    }

    @Test func theEnvironmentOfTargetsIsInheritedAndTheOwnComesLast() {
        func environment(_ value: String) -> [EnvironmentVariable] {
            [EnvironmentVariable(name: "AT", value: Array(value.utf8))]
        }
        let fixture = fixture(
            QueueDefinition.concurrent("t", width: 8).with { $0.environment = environment("t") },
            a: QueueDefinition.concurrent("a", width: 8).with { $0.environment = environment("a") })
        lines(fixture, "d1", "a2", "b3")
        let told = fixture.starts.map { $0.environment.map { String(decoding: $0.value, as: UTF8.self) } }
        #expect(told == [["t", "a"], ["t", "a"], ["t"]])
    }

    @Test func aReloadMovesWhatWaitsAndWhatRunsCountsAgainstBothUntilItEnds() {
        func configuration(_ target: String) -> Configuration {
            .of(
                queues: [
                    .serial("old"), .serial("new"), .concurrent("q", width: 8).targeting(target),
                ], handlers: [.exec("h")],
                sources: ["old", "new", "q"].map { .fifo($0, to: "h", on: $0) })
        }
        let fixture = EngineFixture(configuration("old"))
        fixture.line("q", "1")
        fixture.line("q", "2")
        fixture.reload(configuration("new"))
        fixture.line("old", "3")
        fixture.line("new", "4")
        #expect(running(fixture) == ["1"])
        fixture.endFirst()
        #expect(running(fixture) == ["2", "3"])
        fixture.end(fixture.runs[0])
        #expect(running(fixture) == ["3", "4"])
    }

    @Test func whatWaitsForAKeyInOneChildLetsAnotherPassUnderAConcurrentTarget() {
        let fixture = EngineFixture(
            .of(
                queues: [
                    .concurrent("t", width: 3), .concurrent("a", width: 3).targeting("t"),
                    .concurrent("b", width: 3).targeting("t"),
                ], handlers: [.exec("h")],
                sources: [.fifo("a", to: "h", on: "a", key: .perLine), .fifo("b", to: "h", on: "b", key: .perLine)]))
        for (source, text) in [("a", "x"), ("a", "x"), ("b", "x"), ("b", "y")] { fixture.line(source, text) }
        #expect(running(fixture) == ["x", "y"])
    }
}
