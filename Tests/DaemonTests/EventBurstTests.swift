import Testing
import WatchFile

@testable import Daemon
@testable import Engine

@Suite("Bursts of events in the log") struct EventBurstTests {
    private final class Fixture {
        var told: [String] = []
        private var awaited: [(time: Int64, work: () -> Void)] = []
        var now: Int64 = 1_000_000
        lazy var bursts = EventBursts { [unowned self] origin, count in
            told.append("\(origin) \(count)")
        } after: { [unowned self] in
            awaited.append((now + $0, $1))
        }

        func passed(_ count: Int, of name: String = "p") -> Int {
            (0..<count).count { _ in bursts.passes(.source(SourceID(.path, name)), now: now) }
        }

        func advance(_ microseconds: Int64) {
            now += microseconds
            let due = awaited.filter { $0.time <= now }
            awaited.removeAll { $0.time <= now }
            for one in due { one.work() }
        }
    }

    @Test func tenInASecondHaveALineEach() {
        let fixture = Fixture()
        #expect(fixture.passed(10) == 10)
        fixture.advance(1_000_000)
        #expect(fixture.passed(10) == 10)
        fixture.advance(1_000_000)
        #expect(fixture.told == [])
    }

    @Test func theOthersAreCountedAtTheEndOfTheSecond() {
        let fixture = Fixture()
        #expect(fixture.passed(7) == 7)
        fixture.advance(900_000)
        #expect(fixture.passed(60_000) == 3)
        #expect(fixture.passed(5, of: "q") == 5)
        #expect(fixture.told == [])
        fixture.advance(100_000)
        #expect(fixture.told == ["path/p 59997"])
        #expect(fixture.passed(11) == 10, "another second")
        fixture.advance(1_000_000)
        #expect(fixture.told == ["path/p 59997", "path/p 1"])
    }

    @Test func aSecondBeginsWithAnEvent() {
        let fixture = Fixture()
        #expect(fixture.passed(1) == 1)
        fixture.advance(5_000_000)
        #expect(fixture.passed(10) == 10)
        fixture.advance(999_999)
        #expect(fixture.passed(1) == 0)
        fixture.advance(1)
        #expect(fixture.told == ["path/p 1"])
    }
}
