import Schedule
import Testing
import WatchFile

@testable import Engine

/// `DelaySec=` and the pauses of `Retry=` in a durable queue: what is left of them is kept, whatever the clock shows.
@Suite("Delays across restarts") struct StoredDelayTests {
    private static let second: Int64 = 1_000_000
    private static let hour: Int64 = 3600

    private func delayed(by seconds: UInt64) -> Configuration {
        DurableTests.configuration { $0.constraints.delay = .seconds(seconds) }
    }

    private func retried(after seconds: UInt64) -> Configuration {
        DurableTests.configuration {
            $0.retry = RetryPolicy(limit: 3, delay: .seconds(seconds), maxDelay: .seconds(seconds))
        }
    }

    private func state(_ fixture: EngineFixture) -> StoredState {
        DurableTests.state(fixture.writes, ended: fixture.ended)
    }

    /// The next start, `down` seconds later; meanwhile somebody has set the wall clock by `step` seconds, or the
    /// machine was started anew.
    private func restarted(
        _ fixture: EngineFixture, _ configuration: Configuration, down: Int64 = 60, step: Int64 = 0,
        isRebooted: Bool = false
    ) -> EngineFixture {
        var now = fixture.now
        now.realtime += (down + step) * Self.second
        (now.boottime, now.monotonic) = (now.boottime + down * Self.second, now.monotonic + down * Self.second)
        if isRebooted { (now.boottime, now.monotonic) = (5 * Self.second, 5 * Self.second) }
        return EngineFixture(configuration, at: now, restoring: state(fixture))
    }

    /// Whether its next start comes after exactly so many microseconds.
    private func expectStart(_ fixture: EngineFixture, after left: Int64) {
        fixture.advance(seconds: Double(left - 1) / 1e6)
        #expect(fixture.starts.isEmpty, "too early")
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.starts.count == 1, "too late")
    }

    @Test(arguments: [0, 1800, -1800, 10 * 365 * 86400, -300 * 86400], [false, true])
    func whatIsLeftOfADelayWhenWatchdStopsIsLeftWhenItStarts(step: Int64, isRebooted: Bool) {
        let configuration = delayed(by: 100)
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.advance(seconds: 40)
        fixture.send(.drain)
        #expect(fixture.drained == [])
        let again = restarted(fixture, configuration, down: Self.hour, step: step, isRebooted: isRebooted)
        expectStart(again, after: 60 * Self.second)
    }

    /// The store has been told of the younger one last.
    @Test func afterAKillNoYoungerOperationIsDueBefore() throws {
        var configuration = delayed(by: 3)
        configuration.sources[0].coalesces = false
        let fixture = EngineFixture(configuration)
        fixture.emit("c", 1)
        fixture.emit("c", 2)
        var state = state(fixture)
        let younger = try #require(state.operations.firstIndex { $0.id == 2 })
        state.operations[younger].left = Self.second
        let again = EngineFixture(configuration, restoring: state)
        again.advance(seconds: 2)
        #expect(again.starts.map(\.run.operation) == [1])
        again.endAll()
        #expect(again.starts.map(\.run.operation) == [1, 2])
    }

    @Test(arguments: [false, true]) func aPauseThatIsOverWhileItsQueueIsSuspendedIsOver(isKilled: Bool) throws {
        let configuration = retried(after: 100)
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.end(try #require(fixture.starts.first).run, .exited(1))
        fixture.suspend("queue/kept")
        fixture.advance(seconds: 120)
        #expect(fixture.starts.count == 1)
        if !isKilled { fixture.send(.drain) }
        let again = restarted(fixture, configuration)
        #expect(again.starts.isEmpty)
        again.resume("queue/kept")
        #expect(again.starts.map(\.run.attempt) == [2])
    }

    @Test(arguments: [0, 1800, -1800, 10 * 365 * 86400, -300 * 86400], [false, true])
    func whatIsLeftOfAPauseWhenWatchdStopsIsLeftWhenItStarts(step: Int64, isRebooted: Bool) throws {
        let configuration = retried(after: 100)
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.endFirst(.exited(1))
        let next = try #require(fixture.retried.first?.nextAttempt)
        let pause = next - fixture.now.realtime
        fixture.advance(seconds: 40)
        fixture.send(.drain)
        let again = restarted(fixture, configuration, down: Self.hour, step: step, isRebooted: isRebooted)
        expectStart(again, after: pause - 40 * Self.second)
        #expect(again.starts.first?.run.attempt == 2)
    }

    /// Seconds of a delay, and when watchd is killed.
    @Test(arguments: [(3600, 0), (3600, 901), (3600, 3000), (3600, 3599), (86400, 86000), (120, 110), (30, 29)])
    func aKillForgetsAtMostAQuarterOfTheDelayOrAMinute(delay: Int64, killed: Int64) throws {
        let configuration = delayed(by: UInt64(delay))
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        fixture.advance(seconds: Double(killed))
        let again = restarted(fixture, configuration, step: -7200)
        let start = again.now.monotonic
        let left = delay - killed
        again.advance(seconds: Double(left) - 1)
        #expect(again.starts.isEmpty, "\(left) s were left")
        let step = Double(max(1, delay / 500))
        for _ in 0..<500 where again.starts.isEmpty { again.advance(seconds: step) }
        let waited = (again.now.monotonic - start) / Self.second
        #expect(waited <= left + max(delay / 4, 60), "\(waited) s, \(left) s were left")
    }

    @Test func aSecondKillForgetsNoMoreThanTheFirst() {
        let configuration = delayed(by: 3600)
        var fixture = EngineFixture(configuration)
        fixture.emit("c")
        var writes = fixture.writes
        var passed = 0
        while fixture.starts.isEmpty, passed < 20 * 3600 {
            fixture.advance(seconds: 1000)
            passed += 1000
            guard fixture.starts.isEmpty else { break }
            if passed > 1000 { writes += fixture.writes } else { writes = fixture.writes }
            let state = DurableTests.state(writes, ended: [])
            fixture = EngineFixture(configuration, at: fixture.now, restoring: state)
        }
        #expect(passed <= 2 * 3600)
    }

    @Test func manyDelaysAreToldOfTogether() {
        let fixture = EngineFixture(
            .of(
                queues: [QueueDefinition(name: "kept", isDurable: true)],
                handlers: [.exec("c") { $0.constraints.delay = .seconds(3600) }],
                sources: [.fifo("f", to: "c", on: "kept")]), isChecked: false)
        for number in 1...200 {
            fixture.line("f", "\(number)")
            fixture.advance(seconds: 1)
        }
        let (before, wakeUps) = (fixture.writes.count, fixture.wakeUps)
        fixture.advance(seconds: 3000)
        #expect(fixture.writes.count - before >= 200)
        #expect(fixture.wakeUps - wakeUps <= 100, "\(fixture.wakeUps - wakeUps)")
    }

    @Test func whatAnOlderWatchdWroteIsATimeOfTheWallClockAndIsWrittenAnew() {
        let configuration = delayed(by: 100)
        let fixture = EngineFixture(configuration)
        fixture.emit("c")
        var old = state(fixture)
        #expect(old.operations.map(\.left) == [100 * Self.second])
        old.operations[0].left = nil
        old.operations[0].notBefore = fixture.now.realtime + 70 * Self.second
        var now = fixture.now
        now.realtime += 20 * Self.second
        let again = EngineFixture(configuration, at: now, restoring: old)
        again.advance(seconds: 0)
        let updates = again.writes.compactMap { if case .update(let operation) = $0 { operation } else { nil } }
        #expect(updates.map(\.left) == [50 * Self.second] && updates.map(\.notBefore) == [nil])
        expectStart(again, after: 50 * Self.second)
    }

    @Test func noMoreIsLeftThanTheHandlerOfTodayDelays() {
        let fixture = EngineFixture(delayed(by: 3600))
        fixture.emit("c")
        fixture.send(.drain)
        let again = restarted(fixture, delayed(by: 1000))
        again.advance(seconds: 1100)
        #expect(again.starts.count == 1)
    }

    @Test func whatBecomesDurableWhileItIsDelayedIsFollowedToo() {
        let before = Configuration.of(
            queues: [.serial("kept")], handlers: [.exec("c") { $0.constraints.delay = .seconds(3600) }],
            sources: [.custom("c", to: "c", on: "kept")])
        var after = before
        after.queues = after.queues.map { queue in
            var queue = queue
            if queue.name == "kept" { queue.isDurable = true }
            return queue
        }
        let fixture = EngineFixture(before)
        fixture.emit("c")
        fixture.reload(after)
        fixture.advance(seconds: 3000)
        let again = restarted(fixture, after)
        again.advance(seconds: 600 + 900)
        #expect(again.starts.count == 1)
    }
}
