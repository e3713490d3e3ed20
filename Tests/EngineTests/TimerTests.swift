import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Timers")
struct TimerTests {
    private static let second: Int64 = 1_000_000

    /// Boot time in seconds of each elapse, and how many it stands for.
    private func elapses(_ fixture: EngineFixture) -> [String] {
        let offset = fixture.now.realtime - fixture.now.boottime
        return fixture.starts.flatMap(\.events).compactMap { event in
            guard case .timer(let scheduled) = event.fact else { return nil }
            return "\(Double(scheduled - offset) / 1_000_000)" + (event.count > 1 ? "x\(event.count)" : "")
        }
    }

    private func fixture(_ timer: SourceDefinition, bootedSince seconds: Double = 1000) -> EngineFixture {
        let boottime = Int64(seconds * 1_000_000)
        let now = Moment(realtime: 1_800_000_000_000_000, boottime: boottime, monotonic: boottime - 100 * Self.second)
        return EngineFixture(.of(handlers: [.exec("h", overlap: .wait)], sources: [timer]), at: now)
    }

    @Test func aFixedRateKeepsAGridThatBeganAtBoot() {
        let fixture = fixture(.timer("t", to: "h", every: .seconds(7), key: .none), bootedSince: 1003.5)
        fixture.advance(seconds: 20)
        #expect(elapses(fixture) == ["1008.0", "1015.0", "1022.0"])
        // A restart does not move it.
        let later = self.fixture(.timer("t", to: "h", every: .seconds(7), key: .none), bootedSince: 1024.25)
        later.advance(seconds: 7)
        #expect(elapses(later) == ["1029.0"])
    }

    @Test func aReloadDoesNotMoveTheGrid() {
        let timer = SourceDefinition.timer("t", to: "h", every: .seconds(7), key: .none)
        let fixture = fixture(timer)
        fixture.advance(seconds: 3)
        var changed = timer
        changed.trigger = .timer(TimerTrigger(every: .seconds(7), onBoot: .seconds(5)))
        fixture.reload(.of(handlers: [.exec("h")], sources: [changed]))
        fixture.advance(seconds: 7)
        #expect(elapses(fixture) == ["1001.0", "1008.0"])
    }

    @Test(arguments: [Int64(3600), -3600])
    func aStepOfTheWallClockDoesNotMoveTheGrid(step: Int64) {
        let fixture = fixture(.timer("t", to: "h", every: .seconds(10), key: .none), bootedSince: 1005)
        fixture.advance(seconds: 6)
        fixture.stepWallClock(seconds: step)
        fixture.advance(seconds: 20)
        #expect(fixture.starts.count == 3)
        let times = fixture.starts.compactMap(\.events.first?.time)
        #expect(times[1] - times[0] == (10 + step) * Self.second && times[2] - times[1] == 10 * Self.second)
        #expect(elapses(fixture).dropFirst() == ["1020.0", "1030.0"])
    }

    @Test func whatWasMissedInSleepComesAsOneEventWithACount() {
        let timer = SourceDefinition.timer("t", to: "h", every: .seconds(10)).timing { $0.catchUp = .one }
        let fixture = fixture(timer)
        fixture.advance(seconds: 15)
        fixture.endAll()
        fixture.machineSleeps(seconds: 3600)
        #expect(elapses(fixture) == ["1010.0", "4610.0x360"])
    }

    @Test func startUpAndBootFireOnce() {
        let fixture = fixture(.timer("t", to: "h", onStartup: .seconds(5), onBoot: .seconds(1008), key: .none))
        fixture.advance(seconds: 100)
        #expect(elapses(fixture) == ["1005.0", "1008.0"])
        fixture.reload(.of(handlers: [.exec("h")], sources: [.timer("t", to: "h", onStartup: .seconds(50))]))
        fixture.advance(seconds: 100)
        #expect(fixture.starts.count == 2)
    }

    @Test func whatIsPastAtTheStartIsMissedButForTheBoot() {
        let fixture = fixture(.timer("t", to: "h", onBoot: .seconds(60)))
        #expect(elapses(fixture) == ["60.0"])
        fixture.advance(seconds: 5)
        #expect(fixture.starts.count == 1 && fixture.engine.sourceViews[0].nextElapse == nil)
    }

    @Test func startUpCountsFromTheDaemonsStartAlsoAfterAReload() {
        let fixture = fixture(.timer("t", to: "h", onStartup: .seconds(5)))
        fixture.advance(seconds: 3)
        fixture.reload(.of(handlers: [.exec("h")], sources: [.timer("u", to: "h", onStartup: .seconds(6))]))
        fixture.advance(seconds: 10)
        #expect(elapses(fixture) == ["1006.0"])
    }

    @Test func aFixedDelayBeginsAgainWhenItsOperationsHaveEnded() {
        let fixture = fixture(.timer("t", to: "h", after: .seconds(10)))
        fixture.advance(seconds: 9)
        #expect(fixture.starts.isEmpty)
        fixture.advance(seconds: 30)
        #expect(fixture.starts.count == 1)
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 9)
        #expect(fixture.starts.count == 1)
        fixture.advance(seconds: 1)
        #expect(fixture.starts.count == 2)
    }

    @Test func aFixedDelayWaitsForOperationsThatAnotherKeyOrAHandHasMade() {
        let timer = SourceDefinition.timer("t", to: "h", after: .seconds(10)).timing { $0.onStartup = .seconds(4) }
        let fixture = fixture(timer)
        fixture.advance(seconds: 20)
        #expect(elapses(fixture) == ["1004.0"], "it goes on while the first one runs")
        fixture.endAll()
        fixture.advance(seconds: 5)
        fixture.command(.run(.init(name: "t", paths: [])))
        fixture.advance(seconds: 3)
        fixture.endAll()
        fixture.advance(seconds: 9)
        #expect(fixture.starts.count == 2)
        fixture.advance(seconds: 1)
        #expect(elapses(fixture).last == "1038.0")
    }

    @Test func aFixedDelayCountsNoSleep() {
        let fixture = fixture(.timer("t", to: "h", after: .seconds(10)))
        fixture.machineSleeps(seconds: 3600)
        #expect(fixture.starts.isEmpty)
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 1)
    }

    @Test func aFixedDelayBeginsAgainInWhateverWayItsOperationsEnded() {
        // Skipped, cancelled, dropped, and a command that could not be started.
        let skips = EngineFixture(
            .of(
                handlers: [.exec("h")],
                sources: [.timer("t", to: "h", after: .seconds(10)), .custom("x", to: "h")]))
        skips.emit("x")
        skips.advance(seconds: 25)
        #expect(skips.counters(handler: "h")?[.skipped] == 2)

        let fixture = fixture(.timer("t", to: "h", after: .seconds(10)))
        fixture.advance(seconds: 10)
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 2)
        fixture.command(.cancel(operation: 2))
        fixture.endFirst(.signaled(15))
        fixture.command(.suspend(name: "default", by: "me", reason: nil, until: nil))
        fixture.advance(seconds: 10)
        fixture.command(.cancel(operation: 3))
        #expect(fixture.results == ["h failed", "h cancelled", "h cancelled"])
        fixture.command(.resume(name: "default"))
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 3)
    }

    @Test func aReloadOfOtherKeysLeavesAFixedDelayWhereItWas() {
        let timer = SourceDefinition.timer("t", to: "h", after: .seconds(10))
        let fixture = fixture(timer)
        fixture.advance(seconds: 7)
        for accuracy in [1, 2] {
            fixture.reload(
                .of(handlers: [.exec("h")], sources: [timer.timing { $0.accuracy = .milliseconds(UInt64(accuracy)) }]))
        }
        fixture.advance(seconds: 2.9)
        #expect(fixture.starts.isEmpty)
        fixture.advance(seconds: 0.2)
        #expect(fixture.starts.count == 1)
    }

    @Test func aReloadWaitsForTheOperationsOfAFixedDelay() {
        let fixture = fixture(.timer("t", to: "h", after: .seconds(10)))
        fixture.advance(seconds: 10)
        fixture.reload(.of(handlers: [.exec("h")], sources: [.timer("t", to: "h", after: .seconds(20))]))
        fixture.advance(seconds: 100)
        #expect(fixture.starts.count == 1)
        fixture.endFirst()
        fixture.advance(seconds: 19)
        #expect(fixture.starts.count == 1)
        fixture.advance(seconds: 1)
        #expect(fixture.starts.count == 2)
    }

    @Test func aSuspendedTimerKeepsNothing() {
        let fixture = fixture(.timer("t", to: "h", every: .seconds(10), after: .seconds(3)))
        fixture.command(.suspend(name: "t", by: "me", reason: nil, until: nil))
        fixture.advance(seconds: 95)
        #expect(fixture.counters(source: "timer/t")?.accepted == 0)
        fixture.command(.resume(name: "t"))
        #expect(fixture.starts.isEmpty)
        fixture.advance(seconds: 5)
        #expect(elapses(fixture).contains("1100.0") || fixture.starts.count == 1)
    }

    @Test func aTimerHeldBackFoldsIntoOneEvent() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1)], handlers: [.exec("h", overlap: .wait), .exec("other")],
                sources: [
                    .timer("t", to: "h", on: "q", every: .seconds(10)), .fifo("f", to: "other", on: "q"),
                ]))
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.advance(seconds: 40)
        #expect(fixture.counters(source: "timer/t")?[.held] == 4)
        #expect(fixture.engine.sourceViews.first { $0.id.kind == .timer }?.isHeld == true)
        fixture.endFirst()
        #expect(fixture.counters(source: "timer/t")?[.pending] == 4)
        fixture.endAll()
        #expect(fixture.story == ["other: line:1", "other: line:2", "h: timerx4"])
    }

    @Test func theNextElapseIsShown() {
        let fixture = fixture(.timer("t", to: "h", every: .seconds(60), after: .seconds(20)))
        #expect(fixture.engine.sourceViews[0].nextElapse == fixture.now.realtime + 20 * Self.second)
        fixture.advance(seconds: 20)
        #expect(fixture.engine.sourceViews[0].nextElapse == fixture.now.realtime + 60 * Self.second)
        #expect(fixture.engine.sourceViews[0].lastEvent == fixture.now.realtime)
    }

    @Test func nothingIsArmedWhereNothingIsDue() {
        let fixture = EngineFixture(.of(handlers: [.exec("h")], sources: [.custom("x", to: "h")]))
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.armed.isEmpty)
    }
}
