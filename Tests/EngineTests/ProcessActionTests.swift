import Schedule
import Testing
import WatchFile

@testable import Engine

/// `Process=`: a handler restarts a supervised process, or sends it a signal.
@Suite("Process actions") struct ProcessActionTests {
    private func configuration(
        workers: Int = 1, _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        let command = SupervisedCommand(
            process: HandlerDefinition(
                name: "db", action: .exec([Command(words: [.template(Template(literal: "/bin/db"))])])),
            workers: workers)
        let verbs: [(String, ProcessAction.Verb)] = [("again", .restart), ("load", .reload(1)), ("poke", .signal(10))]
        return .of(
            handlers: verbs.map { name, verb in
                var handler = HandlerDefinition(
                    name: name, action: .process(ProcessAction(process: "db", verb: verb)))
                change(&handler)
                return handler
            },
            sources: verbs.map { name, _ in .custom(name, to: name) } + [
                SourceDefinition(id: SourceID(.process, "db"), routes: [], trigger: .process(.command(command)))
            ])
    }

    /// Both copies are up.
    private func fixture(workers: Int = 1, _ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        let fixture = EngineFixture(configuration(workers: workers, change))
        for (index, request) in fixture.starts.enumerated() {
            fixture.send(.runStarted(request.run, pid: Int32(100 + index)))
        }
        return fixture
    }

    private func signals(_ fixture: EngineFixture) -> [Int32] {
        fixture.actions.compactMap { if case .signal(_, let number, _) = $0 { number } else { nil } }
    }

    @Test func aSignalGoesToEachCopyAndTheRunIsDone() {
        let fixture = fixture(workers: 2)
        fixture.emit("load")
        fixture.emit("poke")
        #expect(signals(fixture) == [1, 1, 10, 10])
        #expect(fixture.results == ["load done", "poke done"])
    }

    @Test func aRestartIsDoneWhenTheProcessIsUpAgain() {
        let fixture = fixture()
        let old = fixture.starts[0].run
        fixture.emit("again")
        #expect(signals(fixture) == [15] && fixture.results.isEmpty)
        fixture.send(.runEnded(old, .signaled(15)))
        #expect(fixture.results.isEmpty && fixture.starts.count == 2)
        fixture.send(.runStarted(fixture.starts[1].run, pid: 200))
        #expect(fixture.results == ["again done"])
    }

    @Test func aRestartFailsWhenTheProcessCannotBeStarted() {
        let fixture = fixture()
        fixture.emit("again")
        fixture.send(.runEnded(fixture.starts[0].run, .signaled(15)))
        fixture.send(.runNotStarted(fixture.starts[1].run, reason: "no such file"))
        #expect(fixture.results == ["again failed"])
        #expect(fixture.ended.first?.reason == "process/db: could not be started: no such file")
        fixture.emit("poke")
        #expect(fixture.ended.last?.reason == "process/db is not up: nobody gets the signal")
    }

    @Test func whoWaitsTooLongForItFails() {
        let fixture = fixture { $0.timeout = .seconds(5) }
        fixture.emit("again")
        fixture.advance(seconds: 6)
        #expect(fixture.results == ["again failed"])
        #expect(fixture.ended.first?.reason?.hasPrefix(CompletionFact.timedOut) == true)
        fixture.send(.runEnded(fixture.starts[0].run, .signaled(15)))
        fixture.send(.runStarted(fixture.starts[1].run, pid: 200))
        #expect(fixture.results == ["again failed"])
    }

    @Test func itIsCancelledWhileTheProcessEnds() {
        let fixture = fixture()
        fixture.emit("again")
        fixture.cancel(2)
        #expect(fixture.results == ["again cancelled"])
    }

    @Test func aStopOfWatchdEndsTheRunAsStopped() {
        let fixture = fixture()
        fixture.emit("again")
        fixture.send(.drain)
        #expect(fixture.results == ["again stopped"])
        #expect(fixture.ended.first?.reason == "ended because watchd stopped")
        fixture.send(.runEnded(fixture.starts[0].run, .signaled(15)))
        #expect(fixture.starts.count == 1 && fixture.results == ["again stopped"])
        #expect(fixture.engine.phase == .drained)
    }

    @Test func aProcessThatIsRemovedMeanwhileFailsTheRun() {
        let fixture = fixture()
        fixture.emit("again")
        var without = configuration()
        without.sources.removeAll { $0.id.kind == .process }
        fixture.reload(without)
        fixture.send(.runEnded(fixture.starts[0].run, .signaled(15)))
        #expect(fixture.results == ["again failed"])
        fixture.emit("poke")
        #expect(fixture.ended.last?.reason == "Process=: there is no process/db any more that watchd starts itself")
    }
}
