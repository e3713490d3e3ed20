import Schedule
import Testing

@Suite("Texts of spans") struct SpanTextTests {
    @Test(
        arguments: [
            (-5, "0ms", "0"), (0, "0ms", "0"), (400, "0ms", "1ms"), (340_500, "340ms", "341ms"),
            (1_000_000, "1s", "1s"), (1_640_000, "1.6s", "1.7s"), (9_999_999, "9.9s", "10s"),
            (15_300_000, "15.3s", "16s"), (61_500_000, "1min 1s", "1min 2s"),
            (3_661_000_000, "1h 1min 1s", "1h 1min 1s"),
        ] as [(Int64, String, String)])
    func thePastIsRoundedDownAndTheFutureUp(microseconds: Int64, elapsed: String, remaining: String) {
        #expect(SpanText.elapsed(microseconds) == elapsed)
        #expect(SpanText.remaining(microseconds) == remaining)
    }

    @Test(
        arguments: [
            (0, "0ms"), (400, "1ms"), (340_000, "340ms"), (1_000_000, "1s"), (41_900_000, "41s"), (60_000_000, "1min"),
            (90_000_000, "1min 30s"), (14 * 60_000_000, "14min"), (7_500_000_000, "2h 5min"), (25_200_000_000, "7h"),
            (178_562_000_000, "2d 1h"), (86_400_000_000, "1d"), (86_460_000_000, "1d"), (864_000_000_000, "10d"),
            (-5, "0ms"),
        ] as [(Int64, String)])
    func atAGlanceASpanHasOneUnitOrTwo(microseconds: Int64, expected: String) {
        #expect(SpanText.glance(microseconds) == expected)
    }

    @Test func atAGlanceDelaysBelowThreeSecondsHaveTenths() {
        let delays: [Int64] = [0, 340_000, 1_000_000, 1_640_000, 2_099_999, 2_990_000, 3_900_000, 90_000_000]
        let texts = ["0ms", "340ms", "1s", "1.6s", "2s", "2.9s", "3s", "1min 30s"]
        #expect(delays.map { SpanText.glance(remaining: $0) } == texts)
    }
}
