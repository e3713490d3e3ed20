import Schedule
import Testing
import WatchFile

@testable import Engine

/// What timers that count a span know of the watchd before.
@Suite("Timers across a restart")
struct TimerRestartTests {
    private static let second: Int64 = 1_000_000

    private func configuration(_ timer: SourceDefinition) -> Configuration {
        .of(handlers: [.exec("h", overlap: .wait)], sources: [timer])
    }

    private func next(
        _ fixture: EngineFixture, _ timer: SourceDefinition, afterSeconds seconds: Int64, isReboot: Bool = false
    ) -> EngineFixture {
        fixture.next(configuration(timer), afterSeconds: seconds, isReboot: isReboot)
    }

    // MARK: AfterSec=

    @Test(arguments: [Int64(1), 1000, 1_000_000])
    func aFixedDelayCountsNoTimeThatWatchdWasDown(seconds: Int64) {
        let timer = SourceDefinition.timer("t", to: "h", after: .seconds(100))
        let first = EngineFixture(configuration(timer))
        first.advance(seconds: 70)
        first.send(.drain)
        let second = next(first, timer, afterSeconds: seconds)
        #expect(second.engine.sourceViews[0].nextElapse == second.now.realtime + 30 * Self.second)
        second.advance(seconds: 29)
        #expect(second.starts.isEmpty)
        second.advance(seconds: 1)
        #expect(second.starts.count == 1)
        second.endAll()
        second.advance(seconds: 99)
        #expect(second.starts.count == 1)
    }

    @Test func aCrashForgetsAQuarterOfAFixedDelayAtMost() {
        let timer = SourceDefinition.timer("t", to: "h", after: .seconds(4000))
        let first = EngineFixture(configuration(timer))
        first.advance(seconds: 2500)
        let second = next(first, timer, afterSeconds: 100_000)
        second.advance(seconds: 1999)
        #expect(second.starts.isEmpty)
        second.advance(seconds: 1)
        #expect(second.starts.count == 1)
        // Three times on the way, and when it was reached.
        #expect(second.wakeUps <= 4)
    }

    @Test func theStoreIsNotToldMoreOftenThanOnceAMinute() {
        let fixture = EngineFixture(configuration(.timer("t", to: "h", after: .seconds(100))))
        fixture.advance(seconds: 99)
        let stamps = fixture.writes.count { if case .timer = $0 { true } else { false } }
        #expect(stamps == 1)
    }

    @Test func aFixedDelayWaitsForWhatWasRestoredOfItsOperations() {
        let timer = SourceDefinition.timer("t", to: "h", on: "q", after: .seconds(10))
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "q", isDurable: true)], handlers: [.exec("h", overlap: .wait)],
            sources: [timer])
        let first = EngineFixture(configuration)
        first.advance(seconds: 10)
        let state = DurableTests.state(first.writes, ended: first.ended)
        let second = EngineFixture(configuration, restoring: state)
        #expect(second.starts.count == 1)
        second.advance(seconds: 100)
        #expect(second.events.isEmpty)
        second.endAll()
        second.advance(seconds: 10)
        #expect(second.events.count == 1)
    }

    // MARK: OnBootSec=

    private func boot(_ seconds: Int64) -> SourceDefinition { .timer("t", to: "h", onBoot: .seconds(UInt64(seconds))) }

    @Test(arguments: [CatchUp.none, .one, .all])
    func aMomentAfterBootThatHasPassedElapsesAtOnceAndOnceInEachBoot(catchUp: CatchUp) {
        let timer = boot(60).timing { $0.catchUp = catchUp }
        // Booted 1 000 s ago.
        let first = EngineFixture(configuration(timer))
        #expect(first.starts.count == 1 && first.missed.isEmpty)
        let scheduled = first.starts[0].events.compactMap { event -> Int64? in
            if case .timer(let scheduled) = event.fact { scheduled } else { nil }
        }
        #expect(scheduled == [first.now.realtime - 940 * Self.second])
        first.endAll()
        let second = next(first, timer, afterSeconds: 5)
        second.advance(seconds: 1000)
        #expect(second.starts.isEmpty && second.missed.isEmpty)
        let third = next(second, timer, afterSeconds: 5, isReboot: true)
        #expect(third.starts.isEmpty)
        third.advance(seconds: 40)
        #expect(third.starts.count == 1)
        third.endAll()
        let fourth = next(third, timer, afterSeconds: 5)
        #expect(fourth.starts.isEmpty)
    }

    @Test func aRandomDelayDoesNotMakeItElapseTwice() {
        let timer = boot(990).timing { $0.randomizedDelay = .seconds(5000) }
        let first = EngineFixture(configuration(timer), seed: 1)
        first.advance(seconds: 5000)
        #expect(first.starts.count == 1)
        for _ in 0..<10 {
            let again = next(first, timer, afterSeconds: 1)
            again.advance(seconds: 5000)
            #expect(again.starts.isEmpty)
        }
    }

    @Test func aMachineThatSleptThroughItElapsesWhenItWakes() {
        let fixture = EngineFixture(configuration(boot(2000)))
        fixture.machineSleeps(seconds: 5000)
        #expect(fixture.starts.count == 1)
    }

    @Test func aTimerThatAReloadAddsElapsesAtOnceAndOneThatItChangesDoesNot() {
        let fixture = EngineFixture(configuration(.timer("other", to: "h", every: .seconds(5000))))
        fixture.reload(configuration(boot(60)))
        fixture.advance(seconds: 0)
        #expect(fixture.starts.count == 1)
        fixture.endAll()
        fixture.reload(configuration(boot(70)))
        fixture.reload(configuration(.timer("other", to: "h", every: .seconds(5000))))
        fixture.reload(configuration(boot(60)))
        fixture.advance(seconds: 10)
        #expect(fixture.starts.count == 1)
        let changed = EngineFixture(configuration(.timer("t", to: "h", every: .seconds(5000))))
        changed.reload(configuration(boot(60)))
        changed.advance(seconds: 10)
        #expect(changed.starts.isEmpty)
        #expect(next(changed, boot(60), afterSeconds: 1).starts.isEmpty)
    }

    @Test func aStoreThatIsNewIsToldOfIt() {
        let fixture = EngineFixture(configuration(boot(60)))
        let count = fixture.writes.count
        fixture.send(.storeIsNew)
        #expect(fixture.writes.dropFirst(count).contains { if case .booted = $0 { true } else { false } })
    }

    // MARK: Missed and not caught up

    private static let often: [SourceDefinition] = [
        .timer("t", to: "h", every: .seconds(3)), .calendar("t", "*:*:0/3"),
    ]

    @Test(arguments: often.indices)
    func aStopLetsTheNextStartCountWhatIsMissedOfATimerThatElapsesOften(index: Int) {
        let timer = Self.often[index]
        let first = EngineFixture(configuration(timer))
        first.advance(seconds: 30)
        first.send(.drain)
        let second = next(first, timer, afterSeconds: 13)
        #expect(second.missed == ["t 4: watchd was not running (CatchUp=none)"])
        #expect(second.engine.sourceViews[0].counters.gap == 0, "left out on purpose")
        second.advance(seconds: 30)
        #expect(second.missed.count == 1)
    }

    /// How many had elapsed by then nobody knows: better no number than a wrong one.
    @Test(arguments: often.indices)
    func aCrashLaterCountsNothingFromAnEarlierStop(index: Int) {
        let timer = Self.often[index]
        let first = EngineFixture(configuration(timer))
        first.advance(seconds: 30)
        first.send(.drain)
        let second = next(first, timer, afterSeconds: 12)
        second.advance(seconds: 300)
        let crashed = next(second, timer, afterSeconds: 12)
        #expect(crashed.missed.isEmpty)
        // The store is told once more, not each time.
        #expect(second.writes.count { if case .timer = $0 { true } else { false } } == 1)
    }

    // MARK: What is told of the grid

    @Test func theTimeOfASlotDoesNotWaverWithTheReadingOfTheClocks() {
        let timer = SourceDefinition.timer("t", to: "h", every: .seconds(10), key: .none)
        let fixture = EngineFixture(.of(handlers: [.exec("h", overlap: .parallel)], sources: [timer]))
        // A microsecond more or less, and once the processor was lost between two clocks.
        for error in [1, -1, 0, 1, 1, -1, 30_000, -1, 1, 0] {
            fixture.advance(seconds: 9)
            fixture.readWallClock(late: Int64(error))
            fixture.advance(seconds: 1)
            fixture.readWallClock(late: Int64(-error))
        }
        let scheduled = fixture.events.compactMap { event, _, _ -> Int64? in
            if case .timer(let scheduled) = event.fact { scheduled } else { nil }
        }
        let first = scheduled.first ?? 0
        #expect(scheduled == (0..<10).map { first + 10 * Self.second * $0 })
    }

    @Test func aSmallStepOfTheWallClockMovesWhatIsToldOfTheGrid() {
        let timer = SourceDefinition.timer("t", to: "h", every: .seconds(10), key: .none)
        let fixture = EngineFixture(.of(handlers: [.exec("h", overlap: .parallel)], sources: [timer]))
        fixture.advance(seconds: 10)
        fixture.readWallClock(late: 300_000)
        fixture.send(.clock)
        fixture.advance(seconds: 20)
        let scheduled = fixture.events.compactMap { event, _, _ -> Int64? in
            if case .timer(let scheduled) = event.fact { scheduled } else { nil }
        }
        #expect(scheduled.count == 3 && scheduled[2] - scheduled[0] == 20_300_000)
    }
}
