import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("Timers of the calendar")
struct CalendarTimerTests {
    /// 2027-01-15 08:00:00 UTC, a Friday.
    private static let start: Int64 = 1_800_000_000_000_000
    private static let hour: Int64 = 3_600_000_000

    private func fixture(
        _ timer: SourceDefinition, at offset: Int64 = 0, stamp: TimerStamp? = nil, zones: ZoneTable = .test,
        suspended: [Suspension] = []
    ) -> EngineFixture {
        let now = Moment(realtime: Self.start + offset, boottime: 50_000_000_000, monotonic: 40_000_000_000)
        var state: StoredState?
        if let stamp {
            state = StoredState()
            state?.timers[timer.id] = stamp
            if !suspended.isEmpty { state?.suspensions[timer.id.description] = suspended }
        }
        let configuration = Configuration.of(
            handlers: [.exec("h", overlap: .parallel)], sources: [timer], zones: zones)
        return EngineFixture(configuration, at: now, restoring: state)
    }

    /// Hours since `start` of each elapse, and how many it stands for.
    private func elapses(_ fixture: EngineFixture) -> [String] {
        fixture.events.compactMap { event, _, _ in
            guard case .timer(let scheduled) = event.fact else { return nil }
            let hours = Double(scheduled - Self.start) / Double(Self.hour)
            return "\((hours * 1000).rounded() / 1000)" + (event.count > 1 ? "x\(event.count)" : "")
        }
    }

    /// Whether an expression of the test below is due at a minute since the epoch, in UTC.
    private static let expressions: [(text: String, isDue: @Sendable (Int64) -> Bool)] = [
        ("*:0/6", { $0 % 6 == 0 }),
        ("hourly", { $0 % 60 == 0 }),
        ("02:30", { $0 % 1440 == 150 }),
        ("Mon..Fri 23:59", { $0 % 1440 == 1439 && ($0 / 1440 + 3) % 7 < 5 }),
        ("Sat,Sun *:15,45", { [15, 45].contains($0 % 60) && ($0 / 1440 + 3) % 7 >= 5 }),
    ]

    @Test func calendarsFireAtEachOfTheirMinutesAndAtNoOther() {
        for seed in Seeds.range(5, long: 80) {
            var random = SeededGenerator(seed: seed)
            let (one, other) = (random.pick(Self.expressions), random.pick(Self.expressions))
            let offset = Int64(random.upTo(100_000_000)) * 10_000
            let fixture = fixture(.calendar("t", one.text, other.text), at: offset)
            let begin = fixture.now.realtime
            for _ in 0..<20 { fixture.advance(seconds: Double(random.upTo(8000))) }
            let minute: Int64 = 60_000_000
            let expected = ((begin + minute - 1) / minute...fixture.now.realtime / minute)
                .filter { one.isDue($0) || other.isDue($0) }.map { $0 * minute }
            let actual = fixture.events.compactMap { event, _, _ -> Int64? in
                if case .timer(let scheduled) = event.fact { scheduled } else { nil }
            }
            #expect(actual == expected, "seed \(seed): \(one.text), \(other.text)")
        }
    }

    @Test func anExpressionGoesByItsOwnZone() {
        // 08:00 UTC is 09:00 there.
        let fixture = fixture(.calendar("t", "10:00 Europe/Berlin"))
        fixture.advance(seconds: 100_000)
        #expect(elapses(fixture) == ["1.0", "25.0"])
    }

    @Test func aNewLocalZoneIsTakenAtOnce() throws {
        let fixture = fixture(.calendar("t", "10:00"))
        var zones = ZoneTable.test
        zones.local = try #require(zones.named["Europe/Berlin"])
        fixture.send(.zones(zones))
        fixture.advance(seconds: 3700)
        #expect(elapses(fixture) == ["1.0"])
    }

    // MARK: The clock is set

    private static let steps: [Int64] = [60, 3600, 10_799]

    @Test(arguments: steps)
    func setBackByLessThanThreeHoursWhatFiredDoesNotFireAgain(step: Int64) {
        let fixture = fixture(.calendar("t", "hourly"), at: -1_000_000)
        fixture.advance(seconds: 1)
        #expect(elapses(fixture) == ["0.0"])
        fixture.stepWallClock(seconds: -step)
        fixture.advance(seconds: Double(step) + 3600)
        #expect(elapses(fixture) == ["0.0", "1.0"])
    }

    @Test func setBackByMoreItIsComputedAnew() {
        let fixture = fixture(.calendar("t", "hourly"), at: -1_000_000)
        fixture.advance(seconds: 1)
        fixture.stepWallClock(seconds: -4 * 3600 - 10)
        fixture.advance(seconds: 2 * 3600)
        #expect(elapses(fixture) == ["0.0", "-4.0", "-3.0"])
    }

    private static let jumpedOver: [(CatchUp, [String])] = [
        (.none, ["6.0"]), (.one, ["5.0x5", "6.0"]), (.all, ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0"]),
    ]

    @Test(arguments: jumpedOver)
    func setForwardWhatWasJumpedOverWasMissed(catchUp: CatchUp, expected: [String]) {
        let fixture = fixture(.calendar("t", "hourly", catchUp: catchUp), at: 1_000_000)
        fixture.stepWallClock(seconds: 5 * 3600 + 600)
        fixture.advance(seconds: 3600)
        #expect(elapses(fixture) == expected)
        let sentence = "t 5: the machine slept, or the clock was set (CatchUp=none)"
        #expect(fixture.missed == (catchUp == .none ? [sentence] : []))
        #expect(fixture.engine.totals.gap == 0)
    }

    private static let sleptOver: [(CatchUp, Int)] = [(.none, 0), (.one, 1), (.all, 5)]

    @Test(arguments: sleptOver)
    func whatWasSleptOverWasMissed(catchUp: CatchUp, operations: Int) {
        let fixture = fixture(.calendar("t", "hourly", catchUp: catchUp), at: 1_000_000)
        fixture.machineSleeps(seconds: 5 * 3600 + 600)
        #expect(fixture.starts.count == operations)
    }

    @Test func aDaemonThatComesLateHasMissedNothing() {
        // Stopped with SIGSTOP, say: all clocks went on.
        let fixture = fixture(.calendar("t", "*:*:00"), at: 1_000_000)
        fixture.passUnseen(seconds: 600)
        #expect(elapses(fixture) == ["0.167x10"])
    }

    // MARK: Restart

    private func stamp(_ hours: Int64) -> TimerStamp { TimerStamp(lastElapse: Self.start + hours * Self.hour) }

    private static let missedWhileDown: [(CatchUp, [String])] = [
        (.none, []), (.one, ["0.0x3"]), (.all, ["-2.0", "-1.0", "0.0"]),
    ]

    @Test(arguments: missedWhileDown)
    func whatWasMissedWhileDownIsCaughtUp(catchUp: CatchUp, expected: [String]) {
        let fixture = fixture(.calendar("t", "hourly", catchUp: catchUp), at: 1_000_000, stamp: stamp(-3))
        #expect(elapses(fixture) == expected)
        #expect(fixture.missed == (catchUp == .none ? ["t 3: watchd was not running (CatchUp=none)"] : []))
        #expect(fixture.engine.totals.gap == 0, "left out on purpose, or not at all")
    }

    @Test func noMoreThanADayAndAThousandAreCaughtUp() {
        let day = fixture(.calendar("t", "hourly", catchUp: .all), at: 1_000_000, stamp: stamp(-1000))
        #expect(day.events.count == 24)
        #expect(day.missed == ["t 976: watchd was not running, longer ago than CatchUpMaxSec=1d (CatchUp=all)"])
        #expect(day.engine.totals.gap == 976)
        let thousand = fixture(.calendar("t", "*:*:0/10", catchUp: .all), at: 1_000_000, stamp: stamp(-20))
        #expect(thousand.events.count == 1000 && elapses(thousand).last == "0.0")
        #expect(thousand.missed == ["t 6200: watchd was not running, not of the newest 1000 (CatchUp=all)"])
        let often = fixture(.calendar("t", "*:*:0/2"), at: 1_000_000, stamp: stamp(-20))
        #expect(often.missed.isEmpty && often.events.isEmpty)
    }

    @Test func ofThoseCaughtUpNoneIsLostInASmallBacklog() {
        let timer = SourceDefinition.timer("t", to: "h", on: "small").timing {
            ($0.calendars, $0.catchUp) = (CalendarExpression.of("*:*:0/10").map { [$0] } ?? [], .all)
        }
        var state = StoredState()
        state.timers[timer.id] = stamp(-1)
        let fixture = EngineFixture(
            .of(queues: [.serial("small", backlog: 10)], handlers: [.exec("h")], sources: [timer]),
            restoring: state)
        while !fixture.runs.isEmpty { fixture.endAll() }
        #expect(fixture.counters(handler: "h")?[.done] == 360)
    }

    @Test func aStampInTheFutureCountsAsNow() {
        let fixture = fixture(.calendar("t", "hourly", catchUp: .all), at: 1_000_000, stamp: stamp(50))
        #expect(fixture.events.isEmpty)
        fixture.advance(seconds: 3600)
        #expect(elapses(fixture) == ["1.0"])
    }

    @Test func whatFiredDoesNotFireAgainAfterARestartAndASmallStepBack() {
        let fired = TimerStamp(lastElapse: Self.start + 2_000_000)
        let fixture = fixture(.calendar("t", "hourly"), at: -600_000_000, stamp: fired)
        fixture.advance(seconds: 3600 + 700)
        #expect(elapses(fixture) == ["1.0"])
    }

    @Test func theStoreKnowsItsLastElapse() {
        let fixture = fixture(.calendar("t", "hourly", catchUp: .one), at: 1_000_000)
        fixture.advance(seconds: 7300)
        let stamps = fixture.writes.compactMap { if case .timer(_, let stamp) = $0 { stamp } else { nil } }
        #expect(stamps.last?.lastElapse == fixture.events.last?.event.time)
    }

    @Test func aSuspendedTimerHasMissedNothing() {
        let until = Self.start - Self.hour - 60_000_000
        let over = Suspension(by: "me", since: Self.start - 4 * Self.hour, until: until)
        let ended = fixture(
            .calendar("t", "hourly", catchUp: .all), at: 1_000_000, stamp: stamp(-3), suspended: [over])
        #expect(elapses(ended) == ["-1.0", "0.0"])
        let still = fixture(
            .calendar("t", "hourly", catchUp: .all), at: 1_000_000, stamp: stamp(-3),
            suspended: [Suspension(by: "me", since: Self.start)])
        still.advance(seconds: 3600)
        still.resume("t")
        #expect(still.events.isEmpty)
    }

    @Test func nothingIsCaughtUpBeforeTheClockIsSet() {
        let fixture = fixture(
            .calendar("t", "hourly", catchUp: .all), at: 1_000_000 - Self.start, stamp: stamp(-3))
        #expect(fixture.events.isEmpty)
        fixture.stepWallClock(seconds: Self.start / 1_000_000)
        #expect(elapses(fixture) == ["-2.0", "-1.0", "0.0"])
    }

    @Test func aGridIsCaughtUpAcrossARestartToo() {
        let timer = SourceDefinition.timer("t", to: "h", every: .seconds(3600)).timing { $0.catchUp = .one }
        let fixture = fixture(timer, stamp: stamp(-3))
        #expect(fixture.events.map(\.event.count) == [3])
    }

    /// Also while its elapses wait for room in a queue.
    @Test(arguments: [1000, 3], [CatchUp.one, .all])
    func whatADurableQueueHasAcceptedIsNotCaughtUpAfterACrash(backlog: Int, catchUp: CatchUp) {
        let timer = SourceDefinition.timer(
            "t", to: "h", on: "kept", every: .milliseconds(100), key: KeyRule.none
        ).timing { $0.catchUp = catchUp }
        let configuration = Configuration.of(
            queues: [QueueDefinition(name: "kept", backlog: backlog, isDurable: true)], handlers: [.exec("h")],
            sources: [timer])
        for crash in 1...20 {
            let fixture = EngineFixture(configuration)
            for _ in 0..<crash { fixture.advance(seconds: 0.07) }
            let state = DurableTests.state(fixture.writes, ended: fixture.ended)
            let known = state.operations.flatMap { $0.events } + state.held.flatMap { $0.events }
            var now = fixture.now
            now.realtime += 250_000
            now.boottime += 250_000
            now.monotonic += 250_000
            let again = EngineFixture(configuration, at: now, restoring: state)
            let after = DurableTests.state(again.writes, ended: again.ended)
            let new = after.operations.flatMap { $0.events + $0.appended } + after.held.flatMap { $0.events }
            let slots = { (events: [Event]) in
                Set(events.compactMap { if case .timer(let scheduled) = $0.fact { scheduled } else { nil } })
            }
            #expect(slots(known).count == crash * 7 / 10, "crash \(crash)")
            #expect(slots(new).subtracting(slots(known)).count >= (catchUp == .all ? 2 : 1), "crash \(crash)")
            #expect(slots(new.filter { event in !known.contains { $0.id == event.id } }).isDisjoint(with: slots(known)))
        }
    }

    @Test func theStoreKnowsSinceWhenATimerIsWatched() {
        let fixture = fixture(.calendar("t", "weekly", catchUp: .one))
        let stamps = fixture.writes.compactMap { if case .timer(_, let stamp) = $0 { stamp } else { nil } }
        #expect(stamps.map(\.seen) == [Self.start])
    }

    // MARK: Delays

    @Test func aRandomDelayIsWithinItsBoundsAndTheSameForTheSameSeed() {
        func times(_ isFixed: Bool, seed: UInt64, host: String) -> [Int64] {
            let timer = SourceDefinition.calendar("t", "hourly").timing {
                ($0.randomizedDelay, $0.hasFixedRandomDelay) = (.seconds(600), isFixed)
            }
            let configuration = Configuration.of(handlers: [.exec("h", overlap: .parallel)], sources: [timer])
            let fixture = EngineFixture(configuration, seed: seed, host: Array(host.utf8))
            fixture.advance(seconds: 20 * 3600)
            return fixture.events.map { $0.event.time % Self.hour }
        }
        let free = times(false, seed: 1, host: "a")
        #expect(free.count == 20 && free.allSatisfy { (0...600_000_000).contains($0) } && Set(free).count > 15)
        #expect(free == times(false, seed: 1, host: "b") && free != times(false, seed: 2, host: "a"))
        let fixed = times(true, seed: 1, host: "a")
        #expect(Set(fixed).count == 1 && fixed == times(true, seed: 2, host: "a"))
        #expect(fixed != times(true, seed: 1, host: "b"))
    }

    // MARK: Accuracy

    @Test func oneWakeUpServesAllThatAllowIt() {
        let timers = (0..<20).map { index in
            SourceDefinition.timer("t\(index)", to: "h", every: .seconds(60), key: .none).timing {
                ($0.accuracy, $0.randomizedDelay, $0.hasFixedRandomDelay) = (.seconds(30), .seconds(20), true)
            }
        }
        let fixture = EngineFixture(.of(handlers: [.exec("h", overlap: .parallel)], sources: timers))
        fixture.advance(seconds: 3600)
        #expect(fixture.events.count >= 59 * 20 && fixture.wakeUps <= 61)
    }

    @Test func noElapseIsEarlyAndNoneLaterThanItsAccuracy() {
        for seed in Seeds.range(15, long: 100) {
            var random = SeededGenerator(seed: seed)
            let timers = (0..<8).map { index in
                let (period, accuracy) = (UInt64(5 + random.upTo(300)), UInt64(random.upTo(20)))
                return SourceDefinition.timer("t\(index)", to: "h", every: .seconds(period), key: .none).timing {
                    $0.accuracy = max(.seconds(accuracy), .milliseconds(1))
                }
            }
            let fixture = EngineFixture(.of(handlers: [.exec("h", overlap: .parallel)], sources: timers))
            for _ in 0..<10 { fixture.advance(seconds: Double(random.upTo(100))) }
            for (event, origin, _) in fixture.events {
                guard case .timer(let scheduled) = event.fact, case .source(let id) = origin,
                    case .timer(let timer)? = timers.first(where: { $0.id == id })?.trigger
                else { continue }
                let late = event.time - scheduled
                #expect(late >= 0 && late <= Int64(timer.accuracy.microseconds), "seed \(seed)")
            }
        }
    }
}
