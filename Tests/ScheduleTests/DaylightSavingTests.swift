import Schedule
import SeedKit
import Testing

@Suite("Calendar expressions where the clocks are changed")
struct DaylightSavingTests {
    /// The elapses in UTC after a base in UTC, `HH:MM` each.
    private func clock(
        _ text: String, _ zone: String, after base: String, _ count: Int, _ daylightSaving: DaylightSaving = .run
    ) throws -> [String] {
        let rules = try Zones.rules(zone)
        return Zones.elapses(try CalendarExpression(text), count, after: try utc(base), in: rules, daylightSaving).map {
            String(Timestamp(microseconds: $0).description.dropFirst(8).prefix(8)).replacing("T", with: " ")
        }
    }

    /// In Berlin 02:00 becomes 03:00 at 01:00 UTC.
    @Test(arguments: [
        ("02:30", ["29 01:00", "30 00:30"]), ("02:00..59", ["29 01:00", "30 00:00"]),
        ("03:00", ["29 01:00", "30 01:00"]),
        ("*:0/20", ["29 00:20", "29 00:40", "29 01:00", "29 01:20"]), ("hourly", ["29 01:00", "29 02:00"]),
        ("2,3:00", ["29 01:00", "30 00:00", "30 01:00"]), ("*-*-29 02:10,50", ["29 01:00", "29 00:10"]),
        ("Sun *-3~7/1 02:30", ["29 01:00", "28 01:00"]),
    ])
    func aTimeInTheGapComesAtTheFirstInstantAfterIt(text: String, expected: [String]) throws {
        #expect(try clock(text, "Europe/Berlin", after: "2026-03-29 00:00:00", expected.count) == expected)
    }

    /// In Berlin 03:00 becomes 02:00 at 01:00 UTC: 02:30 is at 00:30 and at 01:30.
    @Test(arguments: [
        ("02:30", ["25 00:30", "26 01:30"]), ("2:0,30", ["25 00:00", "25 00:30", "26 01:00"]),
        ("02:30:0/20", ["25 00:30", "25 00:30", "25 00:30", "26 01:30"]),
        ("*:30", ["24 23:30", "25 00:30", "25 01:30", "25 02:30"]),
        ("*:0/20", ["24 23:20", "24 23:40", "25 00:00", "25 00:20", "25 00:40", "25 01:00", "25 01:20"]),
        ("1..3:30", ["24 23:30", "25 00:30", "25 01:30", "25 02:30"]), ("3:00", ["25 02:00", "26 02:00"]),
    ])
    func aFixedTimeInTheFoldComesOnceAndARepeatingOneTwice(text: String, expected: [String]) throws {
        #expect(try clock(text, "Europe/Berlin", after: "2026-10-24 23:00:00", expected.count) == expected)
    }

    @Test func inTheSecondPassAFixedTimeIsOver() throws {
        for base in ["2026-10-25 00:30:00", "2026-10-25 01:00:00", "2026-10-25 01:10:00"] {
            #expect(try clock("02:30", "Europe/Berlin", after: base, 1) == ["26 01:30"])
        }
        #expect(try clock("2:0/30", "Europe/Berlin", after: "2026-10-25 00:30:00", 2) == ["25 01:00", "25 01:30"])
    }

    /// Lord Howe's 02:00 becomes 02:30 at 15:30 UTC in October, and 01:30 at 15:00 UTC in April.
    @Test func halfAnHourIsEnough() throws {
        let zone = "Australia/Lord_Howe"
        #expect(try clock("02:15", zone, after: "2026-10-03 00:00:00", 2) == ["03 15:30", "04 15:15"])
        #expect(try clock("*:0/15", zone, after: "2026-10-03 15:10:00", 3) == ["03 15:15", "03 15:30", "03 15:45"])
        #expect(try clock("01:45", zone, after: "2026-04-04 00:00:00", 2) == ["04 14:45", "05 15:15"])
        #expect(
            try clock("1:0/15", zone, after: "2026-04-04 14:20:00", 4) == [
                "04 14:30", "04 14:45", "04 15:00", "04 15:15",
            ])
    }

    /// Samoa had no 30 December 2011: from midnight at 10:00 UTC the clocks showed the 31st.
    @Test func aDayThatIsLostCostsNothing() throws {
        let zone = "Pacific/Apia"
        #expect(try clock("12:00", zone, after: "2011-12-29 12:00:00", 3) == ["29 22:00", "30 10:00", "30 22:00"])
        #expect(try clock("Fri 12:00", zone, after: "2011-12-29 12:00:00", 1) == ["30 10:00"])
        #expect(try clock("Fri 12:00", zone, after: "2011-12-29 12:00:00", 1, .skip) == ["05 22:00"])
    }

    @Test func withSkipItIsAsInSystemd() throws {
        let spring = "2026-03-29 00:00:00"
        #expect(try clock("02:30", "Europe/Berlin", after: spring, 1, .skip) == ["30 00:30"])
        #expect(try clock("Sun *-3~7/1 02:30", "Europe/Berlin", after: spring, 1, .skip) == [])
        let autumn = "2026-10-25 00:40:00"
        #expect(try clock("*:0/20", "Europe/Berlin", after: autumn, 1, .skip) == ["25 02:00"])
        #expect(
            try clock("*:0/20", "Europe/Berlin", after: "2026-10-25 01:00:00", 2, .skip) == ["25 01:20", "25 01:40"])
    }

    /// Against every minute of the days around a change, as the rules say it in words.
    @Test(arguments: Seeds.range(30))
    func everyMinuteIsAsTheRulesSay(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let changes: [(String, String)] = [
            ("Europe/Berlin", "2026-03-28 12:00:00"), ("Europe/Berlin", "2026-10-24 12:00:00"),
            ("America/New_York", "2026-03-07 18:00:00"), ("America/New_York", "2026-10-31 18:00:00"),
            ("Australia/Lord_Howe", "2026-04-04 04:00:00"), ("Australia/Lord_Howe", "2026-10-03 04:00:00"),
            ("Europe/Dublin", "2026-03-28 12:00:00"), ("America/Sao_Paulo", "2018-11-03 18:00:00"),
            ("America/Sao_Paulo", "2019-02-16 18:00:00"), ("Antarctica/Troll", "2026-03-28 12:00:00"),
        ]
        let (zone, begin) = generator.pick(changes)
        let rules = try Zones.rules(zone)
        let text = Self.expression(&generator)
        let expression = try CalendarExpression(text)
        let from = try utc(begin)
        let until = from + 36 * 3_600_000_000
        let isRepeating = text.contains("*") || text.contains("/") || text.contains("..")
        let expected = Self.model(expression, isRepeating, rules, from, until)
        let elapses = Zones.elapses(expression, 5000, after: from, in: rules).filter { $0 <= until }
        #expect(elapses == expected, "seed \(seed): \(text) \(zone) \(begin)")
        let newest = expression.newestElapses(after: from, through: until, limit: 7, in: rules)
        #expect(newest.instants == Array(expected.suffix(7)), "seed \(seed): \(text) \(zone)")
        #expect(newest.count == expected.count, "seed \(seed): \(text) \(zone)")
    }

    /// Hours and minutes without steps, which in systemd go beyond the hour.
    private static func expression(_ generator: inout SeededGenerator) -> String {
        func field(_ end: Int) -> String {
            let (first, last) = (generator.upTo(end), generator.upTo(end))
            return switch generator.upTo(3) {
            case 0: "*"
            case 1: first == last ? "\(first)" : "\(min(first, last))..\(max(first, last))"
            default: (0...generator.upTo(4)).map { _ in "\(generator.upTo(end))" }.joined(separator: ",")
            }
        }
        return "\(field(generator.chance(70) ? 3 : 23)):\(field(59))"
    }

    /// Which civil minutes are meant is asked in UTC, minute by minute.
    private static func model(
        _ expression: CalendarExpression, _ isRepeating: Bool, _ rules: TimeZoneRules, _ from: Int64, _ until: Int64
    ) -> [Int64] {
        let minute: Int64 = 60_000_000
        func isMeant(_ civil: Int64) -> Bool {
            expression.nextElapse(after: civil - 1, in: .utc) == civil
        }
        func offset(_ instant: Int64) -> Int64 { Int64(rules.offset(at: Int(instant / 1_000_000))) * 1_000_000 }
        var result: [Int64] = []
        // Beyond the bounds, so that a gap or a first pass there is seen.
        var highest = from - 86_400_000_000 + offset(from - 86_400_000_000)
        for instant in stride(from: from - 86_400_000_000, through: until, by: Int(minute)) {
            let civil = instant + offset(instant)
            var isDue = isMeant(civil) && (isRepeating || civil > highest - minute || highest == civil)
            var missed = highest + minute
            while missed < civil {
                isDue = isDue || isMeant(missed)
                missed += minute
            }
            if civil <= highest, !isRepeating { isDue = false }
            highest = max(highest, civil)
            if isDue, instant > from { result.append(instant) }
        }
        return result
    }
}
