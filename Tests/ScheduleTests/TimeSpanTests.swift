import FoundationEssentials
import Schedule
import SeedKit
import Testing

@Suite("Time span")
struct TimeSpanTests {
    /// One case of `Oracle/timespan.json`, recorded from systemd's own tools (its `meta` names them).
    struct Case: Decodable {
        var span: String
        var valid: Bool
        var usec: UInt64?
        var human: String?
    }

    struct Oracle: Decodable {
        var cases: [Case]
    }

    @Test func everyCaseOfTheOracleReadsAsInSystemd() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let data = try Data(contentsOf: folder.appendingPathComponent("Oracle/timespan.json"))
        let cases = try JSONDecoder().decode(Oracle.self, from: data).cases
        #expect(cases.count == 173)
        for item in cases {
            let span = try? TimeSpan(parsing: item.span)
            #expect((span != nil) == item.valid, "\(item.span)")
            #expect(span?.microseconds == item.usec, "\(item.span)")
            #expect(span?.description == item.human, "\(item.span)")
        }
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1us"), (2_500, "2.5ms"), (2_000_059, "2.000059s"), (1_500_000, "1.5s"),
            (10_200_000, "10.2s"),
            (90_000_000, "1min 30s"), (.max, "infinity"),
        ] as [(UInt64, String)])
    func inBriefAFractionHasNoZerosAtItsEnd(microseconds: UInt64, text: String) {
        let span = TimeSpan(microseconds: microseconds)
        #expect(span.brief == text)
        #expect((try? TimeSpan(parsing: span.brief)) == span)
    }

    @Test(arguments: [
        ("", TimeSpan.ParseError.Reason.empty, 0..<0), ("  ", .empty, 2..<2), ("foo", .notANumber, 0..<3),
        ("5x", .unknownUnit, 1..<2), ("1h x", .notANumber, 3..<4), ("5.", .missingFraction, 2..<2),
        ("1h -5s", .negative, 3..<6), ("99999999999999999999", .tooLarge, 0..<20), ("600000y", .tooLarge, 0..<7),
        ("infinity s", .notAlone, 9..<10), ("1.2.3", .unknownUnit, 3..<5), ("1\u{0}", .unknownUnit, 1..<2),
    ])
    func anErrorSaysWhatAndWhere(text: String, reason: TimeSpan.ParseError.Reason, range: Range<Int>) {
        #expect(throws: TimeSpan.ParseError(reason, range)) { try TimeSpan(parsing: text) }
    }

    @Test func theHumanFormReadsBackAsTheSameSpan() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(state: seed)
        for _ in 0..<LongPart.count(5_000, long: 50_000) {
            // Spread over all magnitudes that systemd can read back.
            let value =
                UInt64.random(in: 0...UInt64.max / 2, using: &generator) >> UInt64.random(in: 0..<63, using: &generator)
            let span = TimeSpan(microseconds: value)
            #expect(try TimeSpan(parsing: span.description) == span, "seed \(seed)")
        }
    }

    @Test func whatDoesNotFitIsInfinity() {
        #expect(TimeSpan.seconds(.max) == .infinity)
        #expect(TimeSpan.milliseconds(.max) == .infinity)
        #expect(TimeSpan.seconds(2) == .milliseconds(2000))
        #expect(TimeSpan.seconds(1) < .infinity)
    }
}

/// Sebastiano Vigna's splitmix64: small, and the same numbers from the same seed everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
