import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// Elapses that `RandomizedDelaySec=` puts off, over restarts and reloads.
@Suite("Elapses that are put off")
struct DelayedElapseTests {
    private static let second: Int64 = 1_000_000

    private func configuration(_ timer: SourceDefinition) -> Configuration {
        .of(handlers: [.exec("h", overlap: .parallel)], sources: [timer])
    }

    private static let timers = [
        SourceDefinition.calendar("t", "*:0/10"), .timer("t", to: "h", every: .seconds(600), key: .none),
    ].map { timer in timer.timing { $0.randomizedDelay = .seconds(500) } }

    private func announced(_ fixture: EngineFixture) -> Int64? { fixture.engine.sourceViews[0].nextElapse }

    private func scheduled(_ fixture: EngineFixture) -> [Int64] {
        fixture.events.compactMap { event, _, _ in
            if case .timer(let scheduled) = event.fact { scheduled } else { nil }
        }
    }

    /// Advances until an elapse has come and waits for its delay, for at least so long.
    private func waiting(_ timer: SourceDefinition, seconds: Int64, seed: UInt64) -> EngineFixture? {
        let fixture = EngineFixture(configuration(timer), seed: seed)
        for _ in 0..<1200 {
            let state = fixture.engine.sources[0].timer
            let (calendar, slot) = (state.delayedCalendar, state.delayedSlot)
            let waits =
                calendar.map {
                    $0.scheduled <= fixture.now.realtime && $0.due > fixture.now.realtime + seconds * Self.second
                }
                ?? slot.map {
                    $0.scheduled <= fixture.now.boottime && $0.due > fixture.now.boottime + seconds * Self.second
                }
            if waits ?? false { return fixture }
            fixture.advance(seconds: 1)
        }
        return nil
    }

    @Test(arguments: timers.indices, [true, false])
    func anElapseComesWhenItWasAnnouncedWhateverComesBetween(index: Int, stops: Bool) throws {
        let timer = Self.timers[index]
        for seed in Seeds.range(10, long: 200) {
            let first = try #require(waiting(timer, seconds: 5, seed: seed))
            let due = try #require(announced(first))
            if stops { first.send(.drain) }
            let second = first.next(configuration(timer), afterSeconds: 2)
            #expect(announced(second) == due && second.missed.isEmpty, "seed \(seed)")
            // A kill before anything else has happened.
            let third = second.next(configuration(timer), afterSeconds: 1)
            #expect(announced(third) == due, "seed \(seed)")
            third.reload(configuration(timer.timing { $0.accuracy = .milliseconds(2) }))
            #expect(announced(third) == due, "seed \(seed)")
            third.advance(seconds: Double(due - third.now.realtime) / 1e6 - 0.001)
            #expect(third.events.isEmpty)
            third.advance(seconds: 0.01)
            #expect(third.events.count == 1 && third.missed.isEmpty, "seed \(seed)")
            let (elapse, next) = (try #require(scheduled(third).first), try #require(announced(third)))
            #expect(next >= elapse + 600 * Self.second)
        }
    }

    @Test(arguments: timers.indices, CatchUp.allCases)
    func oneThatWasDueMeanwhileWasMissed(index: Int, catchUp: CatchUp) throws {
        let timer = Self.timers[index].timing { $0.catchUp = catchUp }
        for seed in Seeds.range(10, long: 200) {
            let first = try #require(waiting(timer, seconds: 1, seed: seed))
            let due = try #require(announced(first))
            let seconds = (due - first.now.realtime) / Self.second + 1
            first.send(.drain)
            let second = first.next(configuration(timer), afterSeconds: seconds)
            #expect(second.events.isEmpty, "what is caught up has its delay too")
            #expect(second.missed == (catchUp == .none ? ["t 1: watchd was not running (CatchUp=none)"] : []))
            // A kill: it is not told twice, and not forgotten.
            let third = second.next(configuration(timer), afterSeconds: 1)
            #expect(third.missed.isEmpty && third.events.isEmpty)
            let start = third.now.realtime
            third.advance(seconds: 500)
            let elapses = scheduled(third).filter { $0 < start }
            #expect(elapses.count == (catchUp == .none ? 0 : 1), "seed \(seed)")
        }
    }

    @Test func aShorterDelayIsInForceAtOnceAndAnotherTimeForgetsIt() throws {
        let first = try #require(waiting(Self.timers[0], seconds: 100, seed: 1))
        first.reload(configuration(Self.timers[0].timing { $0.randomizedDelay = .zero }))
        first.advance(seconds: 0)
        #expect(first.events.count == 1)
        let other = try #require(waiting(Self.timers[0], seconds: 100, seed: 1))
        other.reload(configuration(.calendar("t", "*:5/10")))
        other.advance(seconds: 0)
        #expect(other.events.isEmpty)
    }

    @Test func theDelayAfterAStartOrABootOutlivesAReload() {
        let boots: [SourceDefinition] = [
            .timer("t", to: "h", onStartup: .seconds(10)), .timer("t", to: "h", onBoot: .seconds(1010)),
        ]
        for timer in boots {
            let timer = timer.timing { $0.randomizedDelay = .seconds(5000) }
            for seed in Seeds.range(10, long: 200) {
                let fixture = EngineFixture(configuration(timer), seed: seed)
                fixture.advance(seconds: 20)
                guard fixture.events.isEmpty, let due = announced(fixture) else { continue }
                fixture.reload(configuration(timer.timing { $0.accuracy = .milliseconds(2) }))
                #expect(announced(fixture) == due, "seed \(seed)")
            }
        }
    }

    @Test func whatIsStillToBeCaughtUpComesBeforeTheNextElapseAndOutlivesAReload() throws {
        let timer = SourceDefinition.calendar("t", "*:*:0/30", catchUp: .all).timing {
            $0.randomizedDelay = .seconds(500)
        }
        let first = EngineFixture(configuration(timer), seed: 3)
        first.advance(seconds: 1000)
        let done = scheduled(first)
        first.send(.drain)
        let second = first.next(configuration(timer), afterSeconds: 100)
        second.reload(configuration(timer.timing { $0.accuracy = .milliseconds(2) }))
        second.advance(seconds: 1000)
        let all = scheduled(second)
        #expect(all == all.sorted() && Set(all).count == all.count && Set(all).isDisjoint(with: done))
        let (last, period) = (done.max() ?? 0, 30 * Self.second)
        #expect(Set(all).isSuperset(of: [last + period, last + 2 * period]))
    }

    // MARK: What the store knows

    /// A kill after it was caught up: its queue is not durable, but its timer is known.
    @Test func whatWasCaughtUpAfterADelayIsNotCaughtUpAgain() throws {
        let timer = Self.timers[0].timing { $0.catchUp = .one }
        for seed in Seeds.range(10, long: 200) {
            let first = try #require(waiting(timer, seconds: 1, seed: seed))
            let due = try #require(announced(first))
            let second = first.next(configuration(timer), afterSeconds: (due - first.now.realtime) / Self.second + 1)
            let start = second.now.realtime
            while !scheduled(second).contains(where: { $0 < start }) { second.advance(seconds: 1) }
            let third = second.next(configuration(timer), afterSeconds: 1)
            third.advance(seconds: 2000)
            #expect(scheduled(third).allSatisfy { $0 >= start }, "seed \(seed)")
            #expect(Set(scheduled(third)).count == scheduled(third).count)
        }
    }

    /// Each of the two clocks has its own end.
    @Test func aSlotThatFiredIsNotMissedBecauseTheCalendarStillWaits() {
        let timer = SourceDefinition.calendar("t", "hourly", catchUp: .all).timing {
            ($0.every, $0.randomizedDelay) = (.seconds(300), .seconds(250))
        }
        for seed in Seeds.range(20, long: 300) {
            var random = SeededGenerator(seed: seed)
            var fixture = EngineFixture(configuration(timer), seed: seed)
            var all: [Int64] = []
            for _ in 0..<30 {
                fixture.advance(seconds: Double(1 + random.upTo(400)))
                all += scheduled(fixture)
                if random.chance(50) { fixture.send(.drain) }
                fixture = fixture.next(configuration(timer), afterSeconds: Int64(random.upTo(3)))
            }
            // Where two of one instant meet they are one event.
            #expect(Set(all).count == all.count, "seed \(seed)")
        }
    }
}
