import ControlKit
import Schedule
import Testing

@testable import ControlClient

@Suite("Times on the command line")
struct PastTimeTests {
    /// 2026-11-20 09:48:02 UTC.
    private let now: Timestamp

    init() throws { now = try Timestamp(parsing: Samples.now) }

    /// Europe/Berlin in 2026: summer from 29 March to 25 October, 01:00 UTC.
    private static let berlin = LocalTime { (1_774_746_000..<1_792_890_000).contains($0) ? 7200 : 3600 }

    private func seconds(_ text: String, _ local: LocalTime = berlin) -> Int64? {
        PastTime.parse(text, now: now, local: local).map { $0.microseconds / 1_000_000 }
    }

    /// What `date -d` (coreutils) and, where the clocks change, Python's `zoneinfo` say with TZ=Europe/Berlin.
    @Test(
        arguments: [
            ("2026-11-20 14:30:05", 1_795_181_405), ("2026-11-20T14:30:05", 1_795_181_405),
            (" 2026-11-20  14:30:05 ", 1_795_181_405), ("2026-07-01", 1_782_856_800),
            ("today", 1_795_129_200), ("yesterday", 1_795_042_800), ("09:41", 1_795_164_060),
            ("09:41:00", 1_795_164_060), ("2026-10-25", 1_792_879_200),
            // Twice, and never.
            ("2026-10-25 02:30", 1_792_888_200), ("2026-03-29 02:30", 1_774_747_800),
            ("@1795181405", 1_795_181_405), ("2026-11-20T13:30:05Z", 1_795_181_405),
            ("2026-11-20T14:30:05+01:00", 1_795_181_405),
        ] as [(String, Int64)])
    func aTimeIsThatOfTheLocalClock(text: String, expected: Int64) {
        #expect(seconds(text) == expected)
    }

    @Test(arguments: [("now", 0), ("2h", 7200), ("2h ago", 7200), ("-2h", 7200), ("1h 30min", 5400), ("45s", 45)])
    func aSpanIsSoLongAgo(text: String, span: Int64) {
        #expect(seconds(text) == now.microseconds / 1_000_000 - span)
    }

    @Test func fractionsAreKept() {
        #expect(PastTime.parse("@1.25", now: now, local: .utc) == Timestamp(microseconds: 1_250_000))
        #expect(PastTime.parse("@1.2345678", now: now, local: .utc) == Timestamp(microseconds: 1_234_567))
        #expect(PastTime.parse("500ms", now: now, local: .utc)?.microseconds == now.microseconds - 500_000)
        #expect(PastTime.parse("100y", now: now, local: .utc) == .earliest)
    }

    @Test func aDayBeginsWhereTheCallerIs() throws {
        let midnight = try Timestamp(parsing: "2026-11-20T23:30:00Z")
        #expect(
            PastTime.parse("today", now: midnight, local: Self.berlin)?.description == "2026-11-20T23:00:00.000000Z")
        #expect(PastTime.parse("today", now: midnight, local: .utc)?.description == "2026-11-20T00:00:00.000000Z")
    }

    @Test(arguments: [
        "", " ", "soon", "5", "25:00", "14:60", "1:2", "14:30:", "14:3", "2026-13-01", "2026-02-30", "2026-11-20 ",
        "2026-11-20 x", "2026-11-20 14", "2026-11-20 14:30 x", "@", "@x", "@-1", "@1.", "@1.x",
        "@99999999999999999999", "@9999999999999", "infinity", "-", "ago", "2h later", "14:30Z", "１２:00",
    ])
    func everythingElseIsRefused(text: String) {
        // A blank behind a date changes nothing.
        #expect((seconds(text) == nil) != (text == "2026-11-20 "), "\(text)")
    }
}
