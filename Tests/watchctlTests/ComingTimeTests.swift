import ControlKit
import Schedule
import Testing

@testable import ControlClient

@Suite("Times to come on the command line")
struct ComingTimeTests {
    /// 2026-11-20 09:48:02 UTC.
    private let now: Timestamp

    init() throws { now = try Timestamp(parsing: Samples.now) }

    /// Europe/Berlin in 2026: summer from 29 March to 25 October, 01:00 UTC.
    private static let berlin = LocalTime { (1_774_746_000..<1_792_890_000).contains($0) ? 7200 : 3600 }

    private func text(_ text: String, now: Timestamp? = nil) -> String? {
        ComingTime.parse(text, now: now ?? self.now, local: Self.berlin).map { String($0.description.prefix(19)) }
    }

    @Test(
        arguments: [
            ("14:30", "2026-11-20T13:30:00"), ("10:00", "2026-11-21T09:00:00"), ("10:48:02", "2026-11-21T09:48:02"),
            ("today 14:30", "2026-11-20T13:30:00"), ("today 10:00", "2026-11-20T09:00:00"),
            ("tomorrow", "2026-11-20T23:00:00"), ("tomorrow 08:00", "2026-11-21T07:00:00"),
            ("2026-11-20 14:30:05", "2026-11-20T13:30:05"), ("2027-01-01", "2026-12-31T23:00:00"),
            ("@1795181405", "2026-11-20T13:30:05"), ("2026-11-20T13:30:05Z", "2026-11-20T13:30:05"),
        ])
    func aTimeOfDayThatHasPassedIsThatOfTomorrow(text: String, expected: String) {
        #expect(self.text(text) == expected)
    }

    @Test func tomorrowIsTheNextDayWhateverIsDoneToTheClocks() throws {
        let night = try Timestamp(parsing: "2026-10-24T22:30:00Z")
        #expect(text("tomorrow 12:00", now: night) == "2026-10-26T11:00:00")
        #expect(text("00:15", now: night) == "2026-10-25T23:15:00")
    }

    @Test(arguments: ["", "2h", "yesterday", "tomorrow 8", "tomorrow x:y", "soon", "25:00", "tomorrow 08:00 x", "-2h"])
    func anythingElseIsNone(text: String) { #expect(self.text(text) == nil) }
}
