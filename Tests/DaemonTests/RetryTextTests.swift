import Testing

@testable import Daemon

@Suite("The text of a retry") struct RetryTextTests {
    @Test(arguments: [
        (100_000, "100ms"), (200_000, "200ms"), (400_000, "400ms"), (800_000, "800ms"), (1_000_000, "1s"),
        (1_600_000, "1.6s"), (2_000_000, "2s"), (3_200_000, "3.2s"), (6_400_000, "6.4s"), (8_000_000, "8s"),
        (12_800_000, "13s"), (30_000_000, "30s"), (60_000_000, "1min"),
    ])
    func itIsTheDelayThatWasChosenThoughSomeOfItHasPassed(delay: Int64, text: String) {
        for passed: Int64 in [0, 20, 10_000, 49_999] {
            #expect(RetryText.delay(until: 5_000_000 + delay, now: 5_000_000 + passed) == text, "\(passed)")
        }
    }

    @Test func whatIsOverdueIsNear() { #expect(RetryText.delay(until: 1, now: 1_000_000) == "50ms") }
}
