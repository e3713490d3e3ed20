import Schedule
import Store
import Testing
import WatchFile

@testable import Daemon
@testable import Engine

@Suite("Refused deliveries in the history") struct RefusedDeliveriesTests {
    /// With the spans that are awaited, in the order they were asked for.
    private final class Fixture {
        var written: [OperationView] = []
        var awaited: [(delay: Int64, work: () -> Void)] = []
        private var engine = Engine(
            Configuration(settings: DaemonSettings()),
            at: Moment(realtime: 1, boottime: 1, monotonic: 1))
        lazy var refused = RefusedDeliveries { [unowned self] in
            engine.record($0)
        } write: { [unowned self] in
            written.append($0)
        } after: { [unowned self] in
            awaited.append(($0, $1))
        }

        func add(_ count: Int, _ result: EngineResult = .dropped, events: Int = 1, at time: Int64 = 1_000_000) {
            for number in 0..<count {
                let event = Event(
                    id: UInt64(number + 1), time: time, count: events, fact: .timer(scheduled: time))
                refused.add(
                    RefusedDelivery(
                        event: event, origin: .source(SourceID(.timer, "t")), handler: "h", queue: "q", result: result,
                        reason: "Overflow=drop-newest"), now: time)
            }
        }

        func passSpan() -> Int64 {
            let first = awaited.removeFirst()
            first.work()
            return first.delay
        }
    }

    @Test func theFirstAreRecordsOfTheirOwnWithAllThatIsKnown() {
        let fixture = Fixture()
        fixture.add(2, .skipped, events: 3)
        #expect(fixture.written.map(\.id) == [1, 2])
        let record = HistoryRow(fixture.written[0])
        #expect((record.handler, record.queue, record.source) == ("h", "q", "timer/t"))
        #expect((record.result, record.reason) == ("skipped", "Overflow=drop-newest"))
        #expect((record.entries, record.deliveries, record.started) == (1, 3, nil))
        #expect(StoreWrite.ended(fixture.written[0]).isHistory && !StoreWrite.ended(fixture.written[0]).isUrgent)
    }

    @Test func aFloodIsCountedByFewRecordsWhoseSpansDouble() {
        let fixture = Fixture()
        var delays: [Int64] = []
        for second in 0..<9 {
            fixture.add(1000, at: Int64(second) * 1_000_000)
            delays.append(fixture.passSpan())
        }
        #expect(delays == [1, 2, 4, 8, 16, 32, 64, 64, 64].map { $0 * 1_000_000 })
        #expect(fixture.written.count == RefusedDeliveries.single + 9)
        #expect(fixture.written.reduce(0) { $0 + $1.deliveries } == 9000)
        #expect(fixture.written.last?.ended == 8_000_000)
        #expect(Set(fixture.written.map(\.id)).count == fixture.written.count)
    }

    @Test func whatIsCountedStillIsShownAndWrittenAtTheEnd() {
        let fixture = Fixture()
        fixture.add(500)
        #expect(fixture.written.count == RefusedDeliveries.single)
        #expect(fixture.refused.all.reduce(0) { $0 + $1.deliveries } == 500)
        let open = fixture.refused.all.last
        #expect(open.map { fixture.refused.view($0.id)?.entries } == 500 - RefusedDeliveries.single)
        fixture.refused.closeAll()
        #expect(fixture.written.reduce(0) { $0 + $1.deliveries } == 500)
        _ = fixture.passSpan()
        #expect(fixture.written.count == RefusedDeliveries.single + 1, "it was written already")
    }

    @Test func eachResultHasItsOwnAndAfterACalmItBeginsAnew() {
        let fixture = Fixture()
        fixture.add(10)
        fixture.add(10, .skipped)
        #expect(fixture.written.count == 20)
        fixture.add(10, at: 2_000_000 + RefusedDeliveries.calm)
        #expect(fixture.written.count == 30)
        fixture.add(1, at: 3_000_000 + RefusedDeliveries.calm)
        #expect(fixture.written.count == 30)
    }

    @Test func memoryIsBounded() {
        let fixture = Fixture()
        for round in 0..<1000 { fixture.add(10, at: Int64(round) * (RefusedDeliveries.calm + 1)) }
        #expect(fixture.written.count == 10_000)
        #expect(fixture.refused.all.count < 2 * RefusedDeliveries.limit)
    }
}
