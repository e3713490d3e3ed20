import EventSources
import LinuxSystem
import ProgramKit
import Testing

@Suite("Tries of a source", .ownThread) struct RetryTests {
    private func pauses(_ retry: Retry, _ count: Int) -> [String] {
        var retry = retry
        let context = Context("test.retry")
        defer { retry.cancel() }
        return (0..<count).map { _ in
            retry.schedule(on: context) {}
            return retry.description
        }
    }

    @Test func thePausesDoubleToAMinute() {
        #expect(pauses(Retry(), 8) == ["1s", "2s", "4s", "8s", "16s", "32s", "1min", "1min"])
    }

    @Test func theyMayBeBoundedMoreTightly() {
        #expect(pauses(Retry(longest: 5_000_000), 6) == ["1s", "2s", "4s", "5s", "5s", "5s"])
    }

    @Test func afterASuccessTheyBeginAnew() {
        var retry = Retry()
        let context = Context("test.retry")
        for _ in 0..<4 { retry.schedule(on: context) {} }
        retry.reset()
        retry.schedule(on: context) {}
        #expect(retry.description == "1s")
        retry.cancel()
    }
}
