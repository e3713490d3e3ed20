import Schedule
import Testing
import WatchFile

@testable import Engine

/// `After=process/NAME`, and when a process is ready.
@Suite("After processes") struct AfterProcessTests {
    private func configuration(
        _ readiness: SupervisedCommand.Readiness = .notification, workers: Int = 1, isAfter: Bool = true
    ) -> Configuration {
        var command = SupervisedCommand(
            process: HandlerDefinition(
                name: "db", action: .exec([Command(words: [.template(Template(literal: "/bin/db"))])])),
            workers: workers)
        command.readiness = readiness
        return .of(
            handlers: [
                .exec("h") { if isAfter { $0.constraints.afterProcesses = ["db"] } }, .exec("free"),
                HandlerDefinition(name: "again", action: .process(ProcessAction(process: "db"))),
            ],
            sources: [
                .custom("c", to: "h"), .custom("again", to: "again"),
                SourceDefinition(id: SourceID(.process, "db"), routes: [], trigger: .process(.command(command))),
            ])
    }

    /// Without the process.
    private func running(_ fixture: EngineFixture) -> Int { fixture.running.count { !$0.hasPrefix("db") } }

    private func begin(_ fixture: EngineFixture) -> [RunID] {
        let runs = fixture.starts.map(\.run)
        for (index, run) in runs.enumerated() { fixture.send(.runStarted(run, pid: Int32(100 + index))) }
        return runs
    }

    @Test func anOperationIsSubmittedWhenTheProcessIsReady() {
        let fixture = EngineFixture(configuration())
        let runs = begin(fixture)
        #expect(fixture.starts.map(\.readiness) == [.notification])
        fixture.emit("c")
        let waiting = fixture.engine.operation(2)
        #expect(waiting?.waitingFor == "process/db, which is not ready (After=process/db)")
        #expect(waiting?.state == .pending && waiting?.waitReason == .dependency)
        fixture.send(.ready(runs[0]))
        #expect(running(fixture) == 1)
        fixture.emit("c")
        fixture.send(.ready(runs[0]))
        if let run = fixture.runs.last { fixture.end(run) }
        #expect(running(fixture) == 1, "the second one")
    }

    @Test func withoutAnyKeyItIsReadyWhenItRuns() {
        let fixture = EngineFixture(configuration(.running))
        fixture.emit("c")
        #expect(running(fixture) == 0)
        _ = begin(fixture)
        #expect(running(fixture) == 1)
    }

    @Test func allCopiesHaveToBeReady() {
        let fixture = EngineFixture(configuration(workers: 2))
        let runs = begin(fixture)
        fixture.emit("c")
        fixture.send(.ready(runs[1]))
        #expect(running(fixture) == 0)
        fixture.send(.ready(runs[0]))
        #expect(running(fixture) == 1)
    }

    @Test func whatHasEndedIsNotReadyAnyMore() {
        let fixture = EngineFixture(configuration())
        let runs = begin(fixture)
        fixture.send(.ready(runs[0]))
        fixture.send(.runEnded(runs[0], .exited(1)))
        fixture.emit("c")
        #expect(running(fixture) == 0)
        fixture.send(.ready(runs[0]))
        #expect(running(fixture) == 0, "it speaks of a process that is gone")
    }

    @Test func aRestartIsDoneWhenTheProcessIsReadyAgain() {
        let fixture = EngineFixture(configuration())
        fixture.send(.ready(begin(fixture)[0]))
        fixture.emit("again")
        fixture.send(.runEnded(fixture.starts[0].run, .signaled(15)))
        let next = fixture.starts[1].run
        fixture.send(.runStarted(next, pid: 300))
        #expect(fixture.results.isEmpty)
        fixture.send(.ready(next))
        #expect(fixture.results == ["again done"])
    }

    @Test func aReloadWithoutAfterLetsItGo() {
        let fixture = EngineFixture(configuration())
        _ = begin(fixture)
        fixture.emit("c")
        #expect(running(fixture) == 0)
        fixture.reload(configuration(isAfter: false))
        #expect(running(fixture) == 1)
    }
}

/// `After=process/NAME` of a `[Process]`.
@Suite("Processes after processes") struct ProcessOrderTests {
    private func process(_ name: String, after: [String] = []) -> SourceDefinition {
        var command = SupervisedCommand(
            process: HandlerDefinition(
                name: name, action: .exec([Command(words: [.template(Template(literal: "/bin/\(name)"))])])))
        (command.readiness, command.after) = (.notification, after)
        return SourceDefinition(id: SourceID(.process, name), routes: [], trigger: .process(.command(command)))
    }

    private func names(_ fixture: EngineFixture) -> [String] { fixture.starts.map { $0.origin.name } }

    private func ready(_ fixture: EngineFixture, _ name: String) {
        guard let run = fixture.starts.last(where: { $0.origin.name == name })?.run else { return }
        fixture.send(.runStarted(run, pid: Int32(100 + run.operation)))
        fixture.send(.ready(run))
    }

    @Test func eachStartsWhenTheOneBeforeItIsReady() {
        let fixture = EngineFixture(
            .of(
                handlers: [],
                sources: [process("web", after: ["app", "db"]), process("app", after: ["db"]), process("db")]))
        #expect(names(fixture) == ["db"])
        let web = fixture.engine.sourceViews.first { $0.id.name == "web" }
        #expect(web?.condition == .waiting("process/app, which is not ready (After=process/app)"))
        let why = fixture.engine.explain(process: "web")
        #expect(why?.map(\.code) == [.dependency])
        #expect(why?.first?.sentence == "process/app, which is not ready (After=process/app)")
        ready(fixture, "db")
        #expect(names(fixture) == ["db", "app"])
        ready(fixture, "app")
        #expect(names(fixture) == ["db", "app", "web"])
        // A restart waits for nobody.
        fixture.command(.process(.restart, name: "db"))
        #expect(fixture.signals.count == 1)
        fixture.command(.process(.restart, name: "web"))
        #expect(fixture.signals.count == 2)
    }

    @Test func whoeverStartsItByHandOrTakesTheOtherAwayEndsTheWait() {
        let both = Configuration.of(handlers: [], sources: [process("app", after: ["db"]), process("db")])
        let fixture = EngineFixture(both)
        fixture.command(.process(.start, name: "app"))
        #expect(names(fixture) == ["db", "app"])
        let other = EngineFixture(both)
        other.reload(.of(handlers: [], sources: [process("app", after: ["db"])]))
        #expect(names(other) == ["db", "app"])
    }

    @Test func aReloadThatBringsBothStartsThemInOrder() {
        let fixture = EngineFixture(.of(handlers: [], sources: [process("old")]))
        fixture.reload(.of(handlers: [], sources: [process("app", after: ["db"]), process("db")]))
        #expect(names(fixture) == ["old", "db"])
        ready(fixture, "db")
        #expect(names(fixture) == ["old", "db", "app"])
    }
}
