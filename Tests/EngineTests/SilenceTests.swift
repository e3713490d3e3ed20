import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Silence")
struct SilenceTests {
    private func source(_ name: String = "x", suspended: Bool = false) -> SourceDefinition {
        SourceDefinition.custom(name, to: "h", isSuspended: suspended).with {
            $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"], onSound: ["loud"])
        }
    }

    private func configuration(_ sources: SourceDefinition...) -> Configuration {
        .of(handlers: [.exec("h"), .exec("quiet"), .exec("loud")], sources: sources)
    }

    /// Seconds since the boot of the fixture, and who was told.
    private func told(_ fixture: EngineFixture) -> [String] {
        fixture.events.compactMap { event, origin, handlers in
            guard case .silence = origin, case .silence(let fact) = event.fact else { return nil }
            let time = (event.time - EngineFixture.boot.realtime) / 1_000_000
            return "\(time): \(handlers.joined()) \(fact.silent / 1_000_000)"
        }
    }

    @Test func silenceIsToldOnceUntilTheSourceIsHeardAgain() {
        let fixture = EngineFixture(configuration(source()))
        fixture.advance(seconds: 7)
        fixture.emit("x")
        fixture.advance(seconds: 9)
        #expect(told(fixture).isEmpty)
        fixture.advance(seconds: 100)
        #expect(told(fixture) == ["17: quiet 10"])
        fixture.emit("x")
        fixture.emit("x")
        #expect(told(fixture) == ["17: quiet 10", "116: loud 109"])
        fixture.advance(seconds: 10)
        #expect(told(fixture).last == "126: quiet 10")
    }

    @Test func aSourceMayBeThereForItsSilenceOnly() {
        let beat = SourceDefinition.custom("beat").with {
            $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"])
        }
        let fixture = EngineFixture(configuration(beat))
        for _ in 0..<3 {
            fixture.advance(seconds: 6)
            fixture.emit("beat")
        }
        #expect(told(fixture).isEmpty && fixture.starts.isEmpty)
        fixture.advance(seconds: 10)
        #expect(told(fixture) == ["28: quiet 10"])
        #expect(fixture.starts.map(\.definition.value.name) == ["quiet"])
    }

    @Test func itBeginsWhenTheSourceIsArmed() {
        let fifo = SourceDefinition.fifo("f", to: "h").with {
            $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"])
        }
        let fixture = EngineFixture(configuration(fifo))
        fixture.advance(seconds: 60)
        #expect(told(fixture).isEmpty)
        fixture.send(.source(fifo.id, .armed))
        fixture.send(.filtered(fifo.id, 3))
        fixture.advance(seconds: 10)
        #expect(told(fixture) == ["70: quiet 10"])
    }

    @Test func whatIsNotThereYetIsSilentToo() {
        let path = SourceDefinition.path("p", to: "h").with {
            $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"])
        }
        let fixture = EngineFixture(configuration(path))
        fixture.send(.source(path.id, .waiting("it is not there")))
        fixture.advance(seconds: 9)
        fixture.send(.source(path.id, .armed))
        fixture.advance(seconds: 1)
        #expect(told(fixture) == ["10: quiet 10"])
    }

    @Test func whatCannotBeWatchedIsSilentToo() {
        let fifo = SourceDefinition.fifo("f", to: "h").with {
            $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"])
        }
        let fixture = EngineFixture(configuration(fifo))
        fixture.send(.source(fifo.id, .failed("no such device")))
        fixture.advance(seconds: 9)
        fixture.send(.source(fifo.id, .armed))
        fixture.send(.source(fifo.id, .failed("no such device")))
        fixture.advance(seconds: 1)
        #expect(told(fixture) == ["10: quiet 10"])
    }

    // MARK: Processes

    private func watching(_ source: SourceDefinition) -> SourceDefinition {
        source.with { $0.silence = SilenceRule(span: .seconds(10), onSilence: ["quiet"], onSound: ["loud"]) }
    }

    @Test func aSupervisedProcessIsHeardAsLongAsItRuns() {
        let fixture = EngineFixture(configuration(watching(.supervised("web", restart: .no))))
        fixture.advance(seconds: 3)
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 100)
        #expect(told(fixture).isEmpty)
        fixture.end(fixture.starts[0].run, .exited(3))
        fixture.advance(seconds: 9)
        #expect(told(fixture).isEmpty)
        fixture.advance(seconds: 1)
        #expect(told(fixture) == ["113: quiet 10"])
        fixture.command(.process(.start, name: "web"))
        #expect(told(fixture).count == 1)
        fixture.advance(seconds: 1)
        fixture.spawn(fixture.starts.last { $0.definition.value.name == "web" }?.run ?? fixture.starts[0].run)
        fixture.advance(seconds: 100)
        #expect(told(fixture) == ["113: quiet 10", "114: loud 11"])
    }

    @Test func oneOfItsCopiesIsEnough() {
        let fixture = EngineFixture(configuration(watching(.supervised("web", workers: 2, restart: .no))))
        for run in fixture.runs { fixture.spawn(run) }
        fixture.end(fixture.starts[0].run, .exited(3))
        fixture.advance(seconds: 100)
        #expect(told(fixture).isEmpty)
        fixture.end(fixture.starts[1].run, .exited(3))
        fixture.advance(seconds: 10)
        #expect(told(fixture) == ["110: quiet 10"])
    }

    @Test func aRestartInTimeIsNoSilence() {
        let fixture = EngineFixture(configuration(watching(.supervised("web", delay: .seconds(8)))))
        for _ in 0..<4 {
            fixture.spawn(fixture.starts.last?.run ?? fixture.runs[0])
            fixture.advance(seconds: 20)
            fixture.end(fixture.starts.last?.run ?? fixture.runs[0], .exited(3))
            fixture.advance(seconds: 8)
        }
        #expect(told(fixture).isEmpty)
    }

    @Test func theProcessOfAPIDFileIsHeardAsLongAsItRuns() {
        let server = watching(.process("p", to: "h"))
        let fixture = EngineFixture(configuration(server))
        fixture.send(.source(server.id, .waiting("/run/p.pid does not exist yet")))
        fixture.advance(seconds: 10)
        #expect(told(fixture) == ["10: quiet 10"])
        fixture.send(.source(server.id, .armed))
        #expect(told(fixture).last == "10: loud 10")
        fixture.advance(seconds: 100)
        fixture.send(.source(server.id, .armed))
        fixture.advance(seconds: 5)
        fixture.send(.event(server.id, .process(ProcessFact(pid: 7))))
        fixture.send(.source(server.id, .waiting("process 7 has ended")))
        fixture.advance(seconds: 9)
        #expect(told(fixture).count == 2)
        fixture.advance(seconds: 1)
        #expect(told(fixture).last == "125: quiet 10")
    }

    @Test func anEndThatCameLateIsNoSound() {
        let server = watching(.process("p", to: "h"))
        let fixture = EngineFixture(configuration(server))
        fixture.send(.source(server.id, .failed("no such device")))
        fixture.advance(seconds: 10)
        fixture.send(.event(server.id, .process(ProcessFact(pid: 7))))
        #expect(told(fixture) == ["10: quiet 10"])
    }

    @Test func aProcessThatRunsAfterARestartIsHeard() {
        let server = watching(.process("p", to: "h"))
        let first = EngineFixture(configuration(server))
        first.send(.source(server.id, .waiting("down")))
        first.advance(seconds: 6)
        first.send(.drain)
        let second = EngineFixture(configuration(server), restoring: stamps(first))
        second.send(.source(server.id, .waiting("down")))
        second.advance(seconds: 3)
        second.send(.source(server.id, .armed))
        second.advance(seconds: 100)
        second.send(.source(server.id, .waiting("down")))
        second.advance(seconds: 9)
        #expect(told(second).isEmpty)
        second.advance(seconds: 1)
        #expect(told(second) == ["113: quiet 10"])
        let third = EngineFixture(configuration(server), restoring: stamps(second))
        third.advance(seconds: 2)
        third.send(.source(server.id, .armed))
        #expect(told(third).map { $0.prefix(8) } == ["2: loud "])
    }

    // MARK: Suspension, stops and crashes

    @Test func itStopsWhileSuspendedAndBeginsAnew() {
        let fixture = EngineFixture(configuration(source()))
        fixture.advance(seconds: 9)
        fixture.suspend("x")
        fixture.advance(seconds: 100)
        fixture.resume("x")
        fixture.advance(seconds: 9)
        #expect(told(fixture).isEmpty)
        fixture.advance(seconds: 1)
        #expect(told(fixture) == ["119: quiet 10"])
    }

    @Test func itCountsNoSleep() {
        let fixture = EngineFixture(configuration(source()))
        fixture.machineSleeps(seconds: 3600)
        fixture.advance(seconds: 9)
        #expect(told(fixture).isEmpty)
    }

    @Test func aStopKeepsWhatIsLeft() {
        let first = EngineFixture(configuration(source()))
        first.advance(seconds: 6)
        first.send(.drain)
        var state = StoredState()
        for case .timer(let id, let stamp) in first.writes { state.timers[id] = stamp }
        #expect(state.timers[source().id]?.silenceLeft == 4_000_000)
        let second = EngineFixture(configuration(source()), restoring: state)
        second.advance(seconds: 3)
        #expect(told(second).isEmpty)
        second.advance(seconds: 1)
        #expect(told(second) == ["4: quiet 10"])
    }

    private func minute() -> SourceDefinition { source().with { $0.silence?.span = .seconds(60) } }

    /// What the store has.
    private func stamps(_ fixture: EngineFixture) -> StoredState {
        var state = StoredState()
        for case .timer(let id, let stamp) in fixture.writes { state.timers[id] = stamp }
        return state
    }

    @Test func aCrashForgetsAQuarterAtMost() {
        let first = EngineFixture(configuration(minute()))
        first.emit("x")
        first.advance(seconds: 44)
        let second = EngineFixture(configuration(minute()), restoring: stamps(first))
        second.advance(seconds: 29)
        #expect(told(second).isEmpty)
        second.advance(seconds: 1)
        #expect(told(second) == ["30: quiet 60"])
    }

    @Test func whatIsHeardAgainIsKnownAfterACrash() {
        let first = EngineFixture(configuration(minute()))
        first.advance(seconds: 50)
        first.emit("x")
        let writes = first.writes.count
        for _ in 0..<30 {
            first.advance(seconds: 5)
            first.emit("x")
        }
        // The span was not a quarter over.
        #expect(first.writes.count == writes)
        let second = EngineFixture(configuration(minute()), restoring: stamps(first))
        second.advance(seconds: 59)
        #expect(told(second).isEmpty)
        second.advance(seconds: 1)
        #expect(told(second) == ["60: quiet 60"])
        // And what is restored is not what the store may keep.
        second.emit("x")
        let third = EngineFixture(configuration(minute()), restoring: stamps(second))
        third.advance(seconds: 59)
        #expect(told(third).count == 0)
    }

    @Test func whatWasToldBeforeARestartIsNotToldAgain() {
        let first = EngineFixture(configuration(source()))
        first.advance(seconds: 20)
        var state = StoredState()
        for case .timer(let id, let stamp) in first.writes { state.timers[id] = stamp }
        let second = EngineFixture(configuration(source()), restoring: state)
        second.advance(seconds: 100)
        #expect(told(second).isEmpty)
        second.emit("x")
        #expect(told(second).map { $0.contains("loud") } == [true])
    }

    /// Else it would be told again after a crash between the two.
    @Test func nobodyIsToldBeforeTheStoreKnows() {
        let fixture = EngineFixture(configuration(source()))
        func waiting(_ actions: some Sequence<Action>) -> [String] {
            actions.compactMap {
                switch $0 {
                case .stored(.start(let request)): request.definition.value.name
                case .start(let request): "\(request.definition.value.name) at once"
                case .store(.timer(_, let stamp)) where stamp.isTold: "told"
                default: nil
                }
            }
        }
        fixture.advance(seconds: 10)
        #expect(waiting(fixture.actions) == ["told", "quiet"])
        let count = fixture.actions.count
        fixture.emit("x")
        #expect(Set(waiting(fixture.actions.dropFirst(count))) == ["told", "loud", "h at once"])
    }

    @Test func aReloadOfTheSpanLetsTheClockGoOn() {
        let fixture = EngineFixture(configuration(source()))
        fixture.advance(seconds: 6)
        fixture.reload(configuration(source().with { $0.silence?.span = .seconds(20) }))
        fixture.advance(seconds: 13)
        #expect(told(fixture).isEmpty)
        fixture.advance(seconds: 1)
        #expect(told(fixture) == ["20: quiet 20"])
        fixture.reload(configuration(.custom("x", to: "h")))
        fixture.advance(seconds: 100)
        #expect(told(fixture).count == 1)
    }

    @Test func aRemovedSourceIsNotMissed() {
        let fixture = EngineFixture(configuration(source()))
        fixture.reload(configuration())
        fixture.advance(seconds: 100)
        #expect(told(fixture).isEmpty)
    }
}
