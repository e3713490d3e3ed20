import Schedule
import Testing
import WatchFile

@testable import Engine

/// Processes that watchd starts and supervises, in virtual time.
@Suite("Supervised processes") struct SupervisionTests {
    private let id = SourceID(.process, "web")

    private func fixture(
        _ source: SourceDefinition, handlers: [HandlerDefinition] = [], restoring state: StoredState? = nil
    ) -> EngineFixture {
        EngineFixture(.of(handlers: handlers, sources: [source]), restoring: state)
    }

    private func views(_ fixture: EngineFixture) -> [SupervisedView] {
        fixture.engine.sourceViews.first { $0.id == id }?.processes ?? []
    }

    private func stages(_ fixture: EngineFixture) -> [SupervisedView.Stage] { views(fixture).map(\.stage) }

    private func condition(_ fixture: EngineFixture) -> SourceCondition? {
        fixture.engine.sourceViews.first { $0.id == id }?.condition
    }

    @Test func everyCopyIsStartedAndNoneCountsAmongTheProcessesOfHandlers() {
        let fixture = fixture(.supervised("web", workers: 3))
        #expect(fixture.starts.map(\.run.part) == [0, 1, 2])
        #expect(fixture.engine.processesRunning == 0)
        #expect(condition(fixture) == .opening)
        for run in fixture.runs { fixture.spawn(run) }
        #expect(stages(fixture) == [.up, .up, .up])
        #expect(condition(fixture) == .armed)
    }

    @Test func pausesDoubleUpToTheLongestAndBeginAnewAfterAHealthyRun() {
        let fixture = fixture(.supervised("web", maxDelay: .milliseconds(700)))
        for pause in [0.1, 0.2, 0.4, 0.7, 0.7] {
            let count = fixture.starts.count
            fixture.end(fixture.runs[0], .exited(3))
            #expect(stages(fixture) == [.backingOff])
            fixture.advance(seconds: pause - 0.001)
            #expect(fixture.starts.count == count, "\(pause)")
            fixture.advance(seconds: 0.002)
            #expect(fixture.starts.count == count + 1, "\(pause)")
        }
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 10)
        fixture.end(fixture.runs[0], .exited(3))
        fixture.advance(seconds: 0.11)
        #expect(fixture.starts.count == 7)
        #expect(views(fixture)[0].restarts == 6)
    }

    @Test func aPauseLongerThanTenSecondsNeedsAsLongARunToBeForgotten() {
        let fixture = fixture(.supervised("web", delay: .seconds(20), maxDelay: .seconds(100)))
        fixture.end(fixture.runs[0], .exited(1))
        fixture.advance(seconds: 21)
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 15)
        fixture.end(fixture.runs[0], .exited(1))
        fixture.advance(seconds: 30)
        #expect(fixture.starts.count == 2, "twice as long: 40 s")
        fixture.advance(seconds: 11)
        #expect(fixture.starts.count == 3)
    }

    @Test(arguments: [
        (SupervisedCommand.Restart.no, Exit.exited(1), false), (.no, .exited(0), false),
        (.onFailure, .exited(0), false), (.onFailure, .exited(1), true), (.onFailure, .signaled(15), true),
        (.onFailure, .exited(4), false), (.always, .exited(0), true),
    ])
    func whatItsEndCallsForIsWhatRestartSays(restart: SupervisedCommand.Restart, exit: Exit, isRestarted: Bool) {
        let fixture = fixture(.supervised("web", restart: restart) { $0.successExitStatus.codes = [4] })
        fixture.end(fixture.runs[0], exit)
        fixture.advance(seconds: 1)
        #expect(fixture.starts.count == (isRestarted ? 2 : 1))
        if !isRestarted {
            let isSuccess = exit == .exited(0) || exit == .exited(4)
            if case .failed? = condition(fixture) { #expect(!isSuccess) } else { #expect(isSuccess) }
        }
    }

    @Test func whatCannotBeStartedIsTriedAgainAndSaysWhy() {
        let fixture = fixture(.supervised("web"))
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        #expect(
            condition(fixture)
                == .failed("could not be started: no such file", retryAt: fixture.now.realtime + 100_000))
        fixture.advance(seconds: 0.2)
        #expect(fixture.starts.count == 2)
        #expect(fixture.events.isEmpty, "no process has ended")
    }

    /// The same end of another copy is no news, but it starts again at another time.
    @Test func whenItStartsAgainIsTrueAtEveryTime() {
        let fixture = fixture(.supervised("web", workers: 2))
        for run in fixture.runs { fixture.spawn(run) }
        let (one, two) = (fixture.runs[0], fixture.runs[1])
        fixture.advance(seconds: 1)
        fixture.end(one, .exited(3))
        let due = fixture.now.realtime + 100_000
        #expect(condition(fixture) == .failed("exit 3 after 1s", retryAt: due))
        fixture.end(two, .exited(3))
        #expect(condition(fixture) == .failed("exit 3 after 1s", retryAt: due))
        fixture.advance(seconds: 0.2)
        #expect(condition(fixture) == .opening)
        for run in fixture.runs { fixture.spawn(run) }
        #expect(condition(fixture) == .armed)
    }

    @Test func explainTellsWhenItEndedThoughItRunsAgain() throws {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 5)
        fixture.end(fixture.runs[0], .exited(3))
        let ended = fixture.now.realtime
        fixture.advance(seconds: 1)
        fixture.spawn(fixture.runs[0])
        let told = try #require(fixture.engine.explain(process: "web"))
        #expect(told.map(\.code) == [.ended, .running])
        #expect(told[0].time == ended)
        #expect(told[0].sentence == "before: exit 3 after 5s")
    }

    @Test func eachEndIsAnEventWithHandlersAndWithout() throws {
        let handled = fixture(.supervised("web", to: "tell"), handlers: [.log("tell", [])])
        handled.spawn(handled.runs[0])
        handled.advance(seconds: 2)
        handled.end(handled.runs[0], .signaled(9))
        let event = try #require(handled.events.first)
        #expect(event.event.fact == .process(ProcessFact(pid: 1001, exit: .signaled(9), runTime: 2_000_000)))
        #expect(event.handlers == ["tell"])
        #expect(handled.logs.count == 1)

        let counted = fixture(.supervised("web"))
        counted.end(counted.runs[0])
        #expect(counted.events.count == 1)
        #expect(counted.engine.totals.accepted == 0)
        #expect(counted.engine.sourceViews[0].lastEvent != nil)
    }

    @Test func aSuspendedSourceKeepsTheEndsWhileTheProcessGoesOn() {
        let fixture = fixture(.supervised("web", to: "tell", isSuspended: true), handlers: [.log("tell", [])])
        for _ in 0..<3 {
            fixture.end(fixture.runs[0], .exited(1))
            fixture.advance(seconds: 1)
        }
        #expect(fixture.starts.count == 4)
        #expect(fixture.logs.isEmpty)
        fixture.command(.resume(name: "process/web"))
        #expect(fixture.engine.sourceViews[0].counters[.held] == 0)
        #expect(!fixture.logs.isEmpty)
    }

    // MARK: Commands

    @Test func aStopIsAnsweredWhenItIsGoneAndKillsWhatDoesNotGo() {
        let fixture = fixture(.supervised("web") { $0.timeoutStop = .seconds(5) })
        fixture.spawn(fixture.runs[0])
        let token = fixture.command(.process(.stop, name: "web"))
        #expect(fixture.signals == ["1 SIGTERM tree"])
        #expect(fixture.reply(token) == nil)
        fixture.advance(seconds: 6)
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"])
        fixture.end(fixture.runs[0], .signaled(9))
        guard case .processes("process/web", let views)? = fixture.reply(token) else { return #expect(Bool(false)) }
        #expect(views.map(\.stage) == [.down])
        fixture.advance(seconds: 100)
        #expect(fixture.starts.count == 1, "Restart=always is for ends that nobody asked for")
        #expect(condition(fixture) == .waiting("stopped"))
    }

    @Test func aStartIsAnsweredWhenItIsUpAndARestartWhenTheNewOneIs() {
        let fixture = fixture(.supervised("web", restart: .no))
        fixture.end(fixture.runs[0])
        let start = fixture.command(.process(.start, name: "web"))
        #expect(fixture.reply(start) == nil)
        fixture.spawn(fixture.runs[0])
        guard case .processes? = fixture.reply(start) else { return #expect(Bool(false)) }
        let restart = fixture.command(.process(.restart, name: "process/web"))
        #expect(fixture.starts.count == 2)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.starts.count == 3)
        #expect(fixture.reply(restart) == nil)
        fixture.spawn(fixture.runs[0])
        guard case .processes? = fixture.reply(restart) else { return #expect(Bool(false)) }
    }

    @Test(arguments: [ProcessVerb.start, .restart])
    func nothingIsStartedWhileWatchdStops(verb: ProcessVerb) {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        #expect(fixture.error(fixture.command(.process(verb, name: "web"))) == .draining)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.starts.count == 1)
    }

    @Test func aStartThatCannotBeIsAnsweredWithTheReason() {
        let fixture = fixture(.supervised("web"))
        fixture.fail(toStart: fixture.runs[0], reason: "no")
        let token = fixture.command(.process(.start, name: "web"))
        #expect(fixture.starts.count == 2, "at once, whatever the pause")
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        guard case .failure(.notUp("process/web", let reason))? = fixture.reply(token) else {
            return #expect(Bool(false))
        }
        #expect(reason.contains("no such file"))
    }

    @Test func whoAsksForTheOppositeIsToldSo() {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        let stop = fixture.command(.process(.stop, name: "web"))
        let start = fixture.command(.process(.start, name: "web"))
        guard case .failure(.notUp)? = fixture.reply(stop) else { return #expect(Bool(false)) }
        #expect(fixture.starts.count == 1, "never two of it")
        fixture.end(fixture.runs[0], .signaled(15))
        fixture.spawn(fixture.runs[0])
        guard case .processes? = fixture.reply(start) else { return #expect(Bool(false)) }
    }

    @Test func aStopReachesASpawnThatIsOnItsWay() {
        let fixture = fixture(.supervised("web"))
        fixture.command(.process(.stop, name: "web"))
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(stages(fixture) == [.down])
    }

    @Test func onlyWhatHasACommandIsSteered() {
        let fixture = EngineFixture(
            .of(handlers: [.log("tell", [])], sources: [.process("other", to: "tell"), .custom("poke", to: "tell")]))
        let other = fixture.command(.process(.start, name: "other"))
        guard case .failure(.notSupervised("process/other"))? = fixture.reply(other) else {
            return #expect(Bool(false))
        }
        let poke = fixture.command(.process(.start, name: "poke"))
        guard case .failure(.noSuchName)? = fixture.reply(poke) else { return #expect(Bool(false)) }
    }

    // MARK: Reload

    @Test func aChangedCommandTakesThePlaceOfTheOldOneWhenThatIsGone() {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.reload(.of(sources: [.supervised("web", program: "/bin/other")]))
        #expect(fixture.signals == ["1 SIGTERM tree"])
        #expect(fixture.starts.count == 1)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.starts.count == 2)
        guard case .exec(let commands)? = fixture.starts.last?.definition.value.action else {
            return #expect(Bool(false))
        }
        #expect(commands == [CommandWords(words: [.template(Template(literal: "/bin/other"))])])
    }

    @Test func whatDoesNotConcernAProcessThatRunsLeavesItAlone() {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.reload(.of(sources: [.supervised("web", workers: 2, restart: .onFailure) { $0.killSignal = 2 }]))
        #expect(fixture.signals.isEmpty)
        #expect(fixture.starts.map(\.run.part) == [0, 1])
        fixture.reload(.of(sources: [.supervised("web", workers: 1) { $0.killSignal = 2 }]))
        #expect(fixture.signals == ["2 SIGINT tree"])
        fixture.end(fixture.runs[1], .signaled(2))
        #expect(stages(fixture) == [.up])
    }

    @Test func aRemovedOneIsStoppedAndOneThatComesBackWaitsForIt() {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.reload(.of())
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.reload(.of(sources: [.supervised("web")]))
        #expect(fixture.starts.count == 1)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.starts.count == 2)
        fixture.spawn(fixture.runs[0])
        fixture.reload(.of())
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.engine.sourceViews.isEmpty, "nothing is left of it")
    }

    @Test func whatSomebodyStoppedStaysDownAcrossAReload() {
        let fixture = fixture(.supervised("web"))
        fixture.spawn(fixture.runs[0])
        fixture.command(.process(.stop, name: "web"))
        fixture.end(fixture.runs[0], .signaled(15))
        fixture.reload(.of(sources: [.supervised("web", program: "/bin/other")]))
        #expect(fixture.starts.count == 1)
        fixture.command(.process(.start, name: "web"))
        #expect(fixture.starts.count == 2)
    }

    // MARK: A stop of watchd, and what outlives it

    @Test func aDrainEndsAllAndWaitsForThem() {
        let fixture = fixture(.supervised("web", workers: 2))
        for run in fixture.runs { fixture.spawn(run) }
        fixture.send(.drain)
        #expect(fixture.signals == ["1 SIGTERM tree", "2 SIGTERM tree"])
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.drained == nil)
        fixture.advance(seconds: 11)
        #expect(fixture.signals.last == "2 SIGKILL tree")
        fixture.end(fixture.runs[0], .signaled(9))
        #expect(fixture.drained == [])
        #expect(fixture.starts.count == 2)
    }

    @Test func withoutAKillModeItIsLeftRunning() {
        let fixture = fixture(.supervised("web") { $0.killMode = .none })
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        #expect(fixture.drained == [])
        #expect(fixture.signals.isEmpty)
    }

    @Test func withoutAKillModeNobodyWaitsForItsEnd() {
        let fixture = fixture(.supervised("web") { $0.killMode = .none })
        fixture.spawn(fixture.runs[0])
        for verb in [ProcessVerb.stop, .restart] {
            guard case .failure(.notUp(_, let reason))? = fixture.reply(fixture.command(.process(verb, name: "web")))
            else {
                Issue.record("\(verb) was not refused")
                continue
            }
            #expect(reason.hasPrefix("KillMode=none:"))
        }
        #expect(fixture.signals.isEmpty && stages(fixture) == [.up])
    }

    private func stored(_ fixture: EngineFixture) -> StoredState {
        var state = StoredState()
        var processes: [Int: StoredProcess] = [:]
        for case .process(_, let copy, let process) in fixture.writes { processes[copy] = process }
        state.processes = Array(processes.values)
        state.lastOperationID = 100
        return state
    }

    @Test func aProcessThatLivesOnIsAdoptedAndNotStartedAgain() {
        let first = fixture(.supervised("web"))
        first.spawn(first.runs[0])
        let second = fixture(.supervised("web"), restoring: stored(first))
        #expect(second.starts.isEmpty)
        #expect(second.adopted.map(\.pid) == [1001])
        #expect(second.adopted[0].seen == EngineFixture.boot.boottime)
        #expect(second.adopted.map(\.isUnwanted) == [false])
        #expect(stages(second) == [.up])
        second.send(.runEnded(second.adopted[0].run, nil, reason: "unknown"))
        second.advance(seconds: 1)
        #expect(second.starts.count == 1, "how it ended is not known, so it may have failed")
        #expect(second.starts[0].run.operation > 100)
    }

    @Test func anotherCommandOrNoneEndsWhatLivesOn() {
        let first = fixture(.supervised("web"))
        first.spawn(first.runs[0])
        let changed = fixture(.supervised("web", program: "/bin/other"), restoring: stored(first))
        #expect(changed.starts.isEmpty)
        #expect(changed.signals == ["1 SIGTERM tree"])
        changed.send(.runEnded(changed.adopted[0].run, .signaled(15)))
        #expect(changed.starts.count == 1)

        let removed = EngineFixture(.of(), restoring: stored(first))
        #expect(removed.signals == ["1 SIGTERM tree"])
        #expect(removed.adopted.map(\.isUnwanted) == [true])
        removed.send(.runEnded(removed.adopted[0].run, .signaled(15)))
        #expect(removed.engine.sourceViews.isEmpty)
        #expect(removed.starts.isEmpty)
    }

    @Test func aSectionThatComesBackHasOneSourceAndOneProcess() {
        let first = fixture(.supervised("web"))
        first.spawn(first.runs[0])
        let second = EngineFixture(.of(), restoring: stored(first))
        second.reload(.of(sources: [.custom("other")]))
        second.reload(.of(sources: [.supervised("web")]))
        #expect(second.engine.sources.names == [.source(id)])
        #expect(second.starts.isEmpty, "the old one ends first")
        second.send(.runEnded(second.adopted[0].run, .signaled(15)))
        #expect(second.starts.count == 1)
        second.reload(.of())
        for run in second.runs { second.end(run) }
        #expect(second.engine.sources.names.isEmpty)
    }

    @Test func anEndThatNobodySawIsToldAndTheProcessStarted() {
        let first = fixture(.supervised("web", restart: .no))
        first.spawn(first.runs[0])
        var state = stored(first)
        state.processes[0].isAlive = false
        let second = fixture(.supervised("web", restart: .no), restoring: state)
        #expect(second.events.map(\.event.fact) == [.process(ProcessFact(pid: 1001))])
        #expect(second.starts.count == 1)
    }
}
