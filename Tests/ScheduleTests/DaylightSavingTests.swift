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

    /// A change of the clocks, with the elapses of an expression after a base just before it.
    struct Change: Sendable, CustomTestStringConvertible {
        var zone: String
        var text: String
        var base: String
        var run: [String]
        /// As `systemd-analyze calendar` tells them.
        var skip: [String]

        var testDescription: String { "\(text) in \(zone) after \(base)" }

        init(_ zone: String, _ text: String, after base: String, run: [String], skip: [String]? = nil) {
            (self.zone, self.text, self.base, self.run, self.skip) = (zone, text, base, run, skip ?? run)
        }
    }

    /// For each zone: a fixed time that is left out in spring, the first elapses of one that repeats there; and the
    /// same in autumn, where the fixed time comes twice.
    static let changes = [
        Change(
            "Europe/Berlin", "02:30", after: "2026-03-28 12:00:00", run: ["29 01:00", "30 00:30"],
            skip: ["30 00:30", "31 00:30"]),
        Change(
            "Europe/Berlin", "*:0/30", after: "2026-03-29 00:00:00", run: ["29 00:30", "29 01:00", "29 01:30"]),
        Change("Europe/Berlin", "02:30", after: "2026-10-24 12:00:00", run: ["25 00:30", "26 01:30"]),
        Change(
            "Europe/Berlin", "*:0/30", after: "2026-10-25 00:10:00", run: ["25 00:30", "25 01:00", "25 01:30"],
            skip: ["25 00:30", "25 02:00", "25 02:30"]),
        Change(
            "America/New_York", "02:30", after: "2026-03-07 12:00:00", run: ["08 07:00", "09 06:30"],
            skip: ["09 06:30", "10 06:30"]),
        Change(
            "America/New_York", "*:0/30", after: "2026-03-08 06:00:00", run: ["08 06:30", "08 07:00", "08 07:30"]),
        Change("America/New_York", "01:30", after: "2026-10-31 12:00:00", run: ["01 05:30", "02 06:30"]),
        Change(
            "America/New_York", "*:0/30", after: "2026-11-01 05:10:00", run: ["01 05:30", "01 06:00", "01 06:30"],
            skip: ["01 05:30", "01 07:00", "01 07:30"]),
        Change(
            "Australia/Lord_Howe", "02:15", after: "2026-10-03 00:00:00", run: ["03 15:30", "04 15:15"],
            skip: ["04 15:15", "05 15:15"]),
        Change(
            "Australia/Lord_Howe", "*:0/15", after: "2026-10-03 15:05:00", run: ["03 15:15", "03 15:30", "03 15:45"]),
        Change("Australia/Lord_Howe", "01:45", after: "2026-04-04 00:00:00", run: ["04 14:45", "05 15:15"]),
        Change(
            "Australia/Lord_Howe", "*:0/15", after: "2026-04-04 14:40:00", run: ["04 14:45", "04 15:00", "04 15:15"],
            skip: ["04 14:45", "04 15:30", "04 15:45"]),
        Change(
            "Europe/Dublin", "01:30", after: "2026-03-28 12:00:00", run: ["29 01:00", "30 00:30"],
            skip: ["30 00:30", "31 00:30"]),
        Change(
            "Europe/Dublin", "*:0/30", after: "2026-03-29 00:00:00", run: ["29 00:30", "29 01:00", "29 01:30"]),
        Change("Europe/Dublin", "01:30", after: "2026-10-24 12:00:00", run: ["25 00:30", "26 01:30"]),
        Change(
            "Europe/Dublin", "*:0/30", after: "2026-10-25 00:10:00", run: ["25 00:30", "25 01:00", "25 01:30"],
            skip: ["25 00:30", "25 02:00", "25 02:30"]),
        Change(
            "America/Sao_Paulo", "00:30", after: "2018-11-03 12:00:00", run: ["04 03:00", "05 02:30"],
            skip: ["05 02:30", "06 02:30"]),
        Change(
            "America/Sao_Paulo", "*:0/30", after: "2018-11-04 02:00:00", run: ["04 02:30", "04 03:00", "04 03:30"]),
        Change("America/Sao_Paulo", "23:30", after: "2019-02-16 12:00:00", run: ["17 01:30", "18 02:30"]),
        Change(
            "America/Sao_Paulo", "*:0/30", after: "2019-02-17 01:10:00", run: ["17 01:30", "17 02:00", "17 02:30"],
            skip: ["17 01:30", "17 03:00", "17 03:30"]),
        Change(
            "Pacific/Apia", "12:00", after: "2011-12-29 12:00:00", run: ["29 22:00", "30 10:00", "30 22:00"],
            skip: ["29 22:00", "30 22:00", "31 22:00"]),
        Change(
            "Pacific/Apia", "00:00", after: "2011-12-29 00:00:00", run: ["29 10:00", "30 10:00", "31 10:00"]),
        Change(
            "Pacific/Apia", "*:0/30", after: "2011-12-30 09:00:00", run: ["30 09:30", "30 10:00", "30 10:30"]),
    ]

    @Test(arguments: changes) func eachZoneHasATableOfItsOwn(change: Change) throws {
        #expect(
            try clock(change.text, change.zone, after: change.base, change.run.count, .run) == change.run)
        #expect(
            try clock(change.text, change.zone, after: change.base, change.skip.count, .skip) == change.skip)
    }

    /// systemd goes back in time there: to the 29th for what falls on the lost day, and by an hour for an abbreviation
    /// that is no longer in effect.
    @Test(arguments: [
        ("Pacific/Apia", "2011-12-30 10:00:00", ["*-12-30 12:00", "2011-12-30 12:00", "*-12-30 *:0/30", "*:0/30 +14"]),
        ("Europe/Berlin", "2026-10-25 01:00:00", ["02:30 CEST", "*:* CEST", "Sun *:0/10 CEST", "*:0/30 CET"]),
        ("Europe/Berlin", "2026-03-29 01:00:00", ["02:30 CET", "*:* CET", "*:* CEST"]),
        ("America/New_York", "2026-11-01 06:00:00", ["*:0/30 EDT", "1..2:* EST"]),
        ("Australia/Lord_Howe", "2026-04-04 15:00:00", ["*:* +11", "01:45 +11", "*:0/15 +1030"]),
        ("Europe/Dublin", "2026-10-25 01:00:00", ["*:0/30 IST", "*:* GMT"]),
        ("America/Sao_Paulo", "2019-02-17 02:00:00", ["23:30 -02", "*:* -02", "*:* -03"]),
    ])
    func noElapseIsBeforeTheOneItFollows(zone: String, change: String, texts: [String]) throws {
        let rules = try Zones.rules(zone)
        let change = try utc(change)
        for text in texts {
            let expression = try CalendarExpression(text, in: rules)
            for base in stride(from: change - 10_800_000_000, through: change + 10_800_000_000, by: 299_000_000) {
                for daylightSaving in DaylightSaving.allCases {
                    let next = expression.nextElapse(after: base, in: rules, daylightSaving: daylightSaving)
                    #expect(next ?? .max > base, "\(text) \(zone) \(daylightSaving) after \(base)")
                }
            }
        }
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
    @Test(arguments: Seeds.range(15, long: 100))
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
