import Schedule
import Testing

@Suite("Timestamp")
struct TimestampTests {
    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00.000000Z"), (1_795_197_845_123_456, "2026-11-20T18:04:05.123456Z"),
        (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
    ])
    func isWrittenInUTCWithMicroseconds(microseconds: Int64, text: String) throws {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(try Timestamp(parsing: text).microseconds == microseconds)
    }

    @Test func whatCannotBeWrittenIsWrittenAsTheNearestInstant() {
        #expect(Timestamp(microseconds: -1).description == Timestamp.earliest.description)
        #expect(Timestamp(microseconds: .min).description == Timestamp.earliest.description)
        #expect(Timestamp(microseconds: .max).description == Timestamp.latest.description)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:01Z", Int64(1_000_000)), ("1970-01-01T00:00:01.5Z", 1_500_000),
        ("1970-01-01T00:00:01.1234567899Z", 1_123_456), ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:30:00-04:30", 0), ("1970-01-01T00:00:00.000001+00:00", 1),
    ])
    func isReadWithFewerDigitsAndWithAnOffset(text: String, microseconds: Int64) throws {
        #expect(try Timestamp(parsing: text).microseconds == microseconds)
    }

    @Test(arguments: [
        ("", Timestamp.ParseError.malformed(offset: 0)), ("2026-11-20", .malformed(offset: 10)),
        ("2026-11-20T18:04:05", .malformed(offset: 19)), ("2026-11-20T18:04:05.Z", .malformed(offset: 20)),
        ("2026-11-20T18:04:05Zx", .malformed(offset: 20)), ("2026-11-20 18:04:05Z", .malformed(offset: 10)),
        ("2026-02-29T00:00:00Z", .noSuchTime), ("2026-13-01T00:00:00Z", .noSuchTime),
        ("2026-00-01T00:00:00Z", .noSuchTime), ("2026-01-01T24:00:00Z", .noSuchTime),
        ("2026-01-01T00:00:60Z", .noSuchTime), ("1969-12-31T23:59:59Z", .outOfRange),
        ("1970-01-01T00:00:00+00:01", .outOfRange), ("0000-01-01T00:00:00Z", .outOfRange),
        ("9999-12-31T23:59:59-00:01", .outOfRange), ("2026-11-20T18:04:05+24:00", .noSuchTime),
    ])
    func whatIsNoTimestampIsRefused(text: String, error: Timestamp.ParseError) {
        #expect(throws: error) { try Timestamp(parsing: text) }
    }

    @Test func everyInstantReadsBack() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(state: seed)
        for _ in 0..<20_000 {
            let instant = Timestamp(
                microseconds: .random(in: 0...Timestamp.latest.microseconds, using: &generator))
            #expect(try Timestamp(parsing: instant.description) == instant, "seed \(seed)")
        }
    }

    @Test func everyDayFollowsTheOneBefore() throws {
        var last = ""
        for day in 0..<Int64(200 * 366) {
            let text = Timestamp(microseconds: day * 86_400_000_000).description
            #expect(text > last)
            #expect(try Timestamp(parsing: text).microseconds == day * 86_400_000_000)
            last = text
        }
    }
}
