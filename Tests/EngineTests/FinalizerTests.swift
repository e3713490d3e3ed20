import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Finalizer=")
struct FinalizerTests {
    private func configuration(
        queue: Bool = true, handlers: Bool = true, drain: TimeSpan = .seconds(60),
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        let q = QueueDefinition.serial("q").with { $0.finalizer = "fin" }
        return .of(
            settings: DaemonSettings(drain: drain), queues: queue ? [q] : [],
            handlers: [.exec("h", change), .exec("other")] + (handlers ? [.exec("fin", change)] : []),
            sources: (queue ? [.fifo("f", to: "h", on: "q")] : []) + [.fifo("o", to: "other")])
    }

    private func handlers(_ fixture: EngineFixture) -> [String] { fixture.starts.map(\.definition.value.name) }

    @Test func itRunsOnTheRemovedQueueAfterItsLastOperation() {
        let fixture = EngineFixture(configuration())
        for text in ["1", "2"] { fixture.line("f", text) }
        fixture.reload(configuration(queue: false))
        fixture.endFirst()
        #expect(handlers(fixture) == ["h", "h"])
        fixture.endFirst()
        #expect(handlers(fixture) == ["h", "h", "fin"])
        #expect(fixture.starts.last?.queue == "q" && fixture.starts.last?.origin == .finalizer(queue: "q"))
        #expect(fixture.queue("q")?.isRemoved == true)
        let told = fixture.starts.last.map { RunContext($0) }
        let words = [Specifier.kind, .event, .source].map { told?.value($0) ?? [] }
        #expect(words.map { String(decoding: $0, as: UTF8.self) } == ["finalizer", "finished", "q"])
        fixture.endFirst()
        #expect(fixture.queue("q") == nil && fixture.starts.count == 3)
    }

    @Test func onAQueueWithNothingToDoItRunsAtOnce() {
        let fixture = EngineFixture(configuration())
        fixture.reload(configuration(queue: false))
        #expect(handlers(fixture) == ["fin"])
        fixture.endFirst(.exited(1))
        #expect(fixture.queue("q") == nil && fixture.results == ["fin failed"])
    }

    @Test func itRunsAlsoWhenItsHandlerIsRemovedWithTheQueue() {
        let fixture = EngineFixture(configuration())
        fixture.reload(configuration(queue: false, handlers: false))
        #expect(handlers(fixture) == ["fin"])
        fixture.endFirst()
        #expect(fixture.queue("q") == nil)
    }

    @Test func aReloadThatLeavesTheQueueRunsNothing() {
        let fixture = EngineFixture(configuration())
        fixture.reload(configuration())
        #expect(fixture.starts.isEmpty)
    }

    @Test func aQueueThatComesBackInTimeIsNotFinalized() {
        let fixture = EngineFixture(configuration())
        fixture.line("f", "1")
        fixture.reload(configuration(queue: false))
        fixture.reload(configuration())
        fixture.endFirst()
        #expect(handlers(fixture) == ["h"])
        fixture.reload(configuration(queue: false))
        #expect(handlers(fixture) == ["h", "fin"])
    }

    @Test func itWaitsForARetry() {
        let fixture = EngineFixture(configuration { if $0.name == "h" { $0.retry = .times(1, after: 10) } })
        fixture.line("f", "1")
        fixture.endFirst(.exited(1))
        fixture.reload(configuration(queue: false) { if $0.name == "h" { $0.retry = .times(1, after: 10) } })
        #expect(handlers(fixture) == ["h"])
        fixture.advance(seconds: 12)
        fixture.endFirst()
        #expect(handlers(fixture) == ["h", "h", "fin"])
    }

    @Test func ofASuspendedQueueItWaitsForTheResume() {
        let fixture = EngineFixture(configuration())
        fixture.suspend("q")
        fixture.reload(configuration(queue: false))
        #expect(fixture.starts.isEmpty)
        fixture.resume("q")
        #expect(handlers(fixture) == ["fin"])
    }

    // MARK: At a stop

    @Test func atAStopItRunsAfterEverythingThatRunsHasEnded() {
        let fixture = EngineFixture(configuration())
        for text in ["1", "2"] { fixture.line("f", text) }
        fixture.line("o", "3")
        fixture.send(.drain)
        #expect(fixture.results == ["h cancelled"])
        fixture.end("h")
        #expect(handlers(fixture) == ["h", "other"] && fixture.drained == nil)
        fixture.end("other")
        #expect(handlers(fixture) == ["h", "other", "fin"] && fixture.drained == nil)
        #expect(fixture.starts.last?.origin == .finalizer(queue: "q"))
        fixture.endFirst()
        #expect(fixture.drained == [])
    }

    @Test func atAStopWithNothingRunningItRunsAtOnce() {
        let fixture = EngineFixture(configuration())
        fixture.send(.drain)
        #expect(handlers(fixture) == ["fin"] && fixture.drained == nil)
        fixture.endFirst()
        #expect(fixture.drained == [])
    }

    @Test func whoIsInAHurryOrHasNoTimeLeftGetsNone() {
        let hurried = EngineFixture(configuration())
        hurried.line("o", "1")
        hurried.send(.drain)
        hurried.send(.hurry)
        hurried.endFirst(.signaled(15))
        #expect(handlers(hurried) == ["other"] && hurried.drained == [])
        let late = EngineFixture(configuration(drain: .seconds(5)))
        late.line("o", "1")
        late.send(.drain)
        late.advance(seconds: 6)
        late.endFirst(.signaled(15))
        #expect(handlers(late) == ["other"] && late.drained == [])
    }

    @Test func aFinalizerThatTakesTooLongIsTerminatedLikeOthers() {
        let fixture = EngineFixture(configuration(drain: .seconds(5)))
        fixture.send(.drain)
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.endFirst(.signaled(15))
        #expect(fixture.drained == [])
    }

    @Test func aStopWhileOneRunsWaitsForItAndDoesNotRunItTwice() {
        let fixture = EngineFixture(configuration())
        fixture.reload(configuration(queue: false))
        fixture.send(.drain)
        #expect(fixture.drained == nil)
        fixture.endFirst()
        #expect(handlers(fixture) == ["fin"] && fixture.drained == [])
    }
}
