import Schedule
import SeedKit
import Testing

@Suite("Cron expressions")
struct CronExpressionTests {
    private func elapses(_ text: String, after base: String, _ count: Int, zone: String = "UTC") throws -> [String] {
        let cron = try CronExpression(parsing: text)
        return Zones.elapses(cron, count, after: try utc(base), in: try Zones.rules(zone)).map {
            String(Timestamp(microseconds: $0).description.prefix(16)).replacing("T", with: " ")
        }
    }

    @Test(arguments: [
        ("30 2 * * *", ["2026-11-21 02:30", "2026-11-22 02:30"]),
        ("*/20 * * * *", ["2026-11-20 12:20", "2026-11-20 12:40"]),
        ("0 0 1,15 * *", ["2026-12-01 00:00", "2026-12-15 00:00"]), ("0 9-17/4 * * mon-fri", ["2026-11-20 13:00"]),
        ("0 0 * jan,Jul *", ["2027-01-01 00:00", "2027-01-02 00:00"]), ("0 0 * * 0", ["2026-11-22 00:00"]),
        ("0 0 * * 7", ["2026-11-22 00:00"]),
        ("0 0 * * fri-sun", ["2026-11-21 00:00", "2026-11-22 00:00", "2026-11-27 00:00"]),
        ("0 0 * * 5-7", ["2026-11-21 00:00", "2026-11-22 00:00", "2026-11-27 00:00"]),
        // Both days restricted: one is enough. A star, even with a step, restricts nothing in this sense.
        ("0 0 1 * mon", ["2026-11-23 00:00", "2026-11-30 00:00", "2026-12-01 00:00"]),
        ("0 0 */2 * mon", ["2026-11-23 00:00", "2026-12-07 00:00"]), ("0 0 13 * */5", ["2026-12-13 00:00"]),
        ("@hourly", ["2026-11-20 13:00"]), ("@daily", ["2026-11-21 00:00"]), ("@midnight", ["2026-11-21 00:00"]),
        ("@weekly", ["2026-11-22 00:00"]), ("@monthly", ["2026-12-01 00:00"]), ("@yearly", ["2027-01-01 00:00"]),
        ("@annually", ["2027-01-01 00:00"]), ("  0\t0  * * *  ", ["2026-11-21 00:00"]), ("0 0 31 2 *", []),
        ("*/100 * * * *", ["2026-11-20 13:00"]),
    ])
    func itElapsesAsCronRuns(text: String, expected: [String]) throws {
        #expect(try elapses(text, after: "2026-11-20 12:00:00", max(expected.count, 1)) == expected)
    }

    @Test func changesOfTheClocksAreAsInCalendarExpressions() throws {
        let spring = try elapses("30 2 * * *", after: "2026-03-29 00:00:00", 2, zone: "Europe/Berlin")
        #expect(spring == ["2026-03-29 01:00", "2026-03-30 00:30"])
        let autumn = try elapses("30 2 * * *", after: "2026-10-25 00:00:00", 2, zone: "Europe/Berlin")
        #expect(autumn == ["2026-10-25 00:30", "2026-10-26 01:30"])
        let repeating = try elapses("*/30 * * * *", after: "2026-10-25 00:00:00", 3, zone: "Europe/Berlin")
        #expect(repeating == ["2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30"])
    }

    @Test(
        arguments: [
            ("", .empty, 0..<0), ("0 0 * *", .missingFields(4), 7..<7), ("0 0 * * * root sh", .tooManyFields, 10..<17),
            ("@reboot", .reboot, 0..<7), ("@never", .unknownShorthand, 0..<6), ("@daily x", .tooManyFields, 7..<8),
            ("60 0 * * *", .outOfRange(.minute), 0..<2), ("0 24 * * *", .outOfRange(.hour), 2..<4),
            ("0 0 0 * *", .outOfRange(.day), 4..<5), ("0 0 * 13 *", .outOfRange(.month), 6..<8),
            ("0 0 * * 8", .outOfRange(.weekday), 8..<9), ("0 0 * * monday", .notAValue(.weekday), 8..<14),
            ("x 0 * * *", .notAValue(.minute), 0..<1), ("1,,2 0 * * *", .notAValue(.minute), 2..<2),
            ("5-3 0 * * *", .backwardsRange, 0..<3), ("5/15 0 * * *", .stepWithoutRange, 0..<4),
            ("*/0 0 * * *", .stepIsZero, 1..<3), ("*/x 0 * * *", .notAValue(.minute), 2..<3),
            ("0 0 L * *", .notAValue(.day), 4..<5), ("-5 0 * * *", .notAValue(.minute), 0..<0),
        ] as [(String, CronExpression.ParseError.Reason, Range<Int>)])
    func anErrorSaysWhatAndWhere(text: String, reason: CronExpression.ParseError.Reason, range: Range<Int>) {
        do throws(CronExpression.ParseError) {
            _ = try CronExpression(parsing: text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error == CronExpression.ParseError(reason, range))
            #expect(!error.description.isEmpty)
        }
    }

    @Test func whereToPutWhatRunsAtBootIsSaid() {
        #expect(throws: CronExpression.ParseError.self) { try CronExpression(parsing: "@reboot") }
        #expect(CronExpression.ParseError(.reboot, 0..<7).description.contains("OnStartupSec="))
    }

    /// Against a walk from minute to minute that asks each field, as cron does.
    @Test(arguments: Seeds.range(15, long: 100))
    func everyMinuteIsAsTheFieldsSay(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let fields = [0...59, 0...23, 1...31, 1...12, 0...7].map { Self.field($0, &generator) }
        let text = fields.map(\.text).joined(separator: " ")
        let cron = try CronExpression(parsing: text)
        let minute: Int64 = 60_000_000
        let from = Int64.random(in: 0...3_000_000_000, using: &generator) / 60 * minute
        let until = from + 40 * 1440 * minute
        let isBoth = !fields[2].text.hasPrefix("*") && !fields[4].text.hasPrefix("*")
        var expected: [Int64] = []
        for day in from / (1440 * minute)...until / (1440 * minute) {
            let text = Timestamp(microseconds: day * 1440 * minute).description
            func number(_ start: Int) -> Int { Int(text.dropFirst(start).prefix(2)) ?? -1 }
            // The epoch was a Thursday.
            let weekday = Int(day + 4) % 7
            let isDay = fields[2].values.contains(number(8))
            let isWeekday = fields[4].values.contains(weekday) || weekday == 0 && fields[4].values.contains(7)
            guard fields[3].values.contains(number(5)), isBoth ? isDay || isWeekday : isDay && isWeekday else {
                continue
            }
            for time in 0..<Int64(1440) where fields[0].values.contains(Int(time % 60)) {
                let instant = (day * 1440 + time) * minute
                if fields[1].values.contains(Int(time / 60)), instant > from, instant <= until {
                    expected.append(instant)
                }
            }
        }
        let elapses = Zones.elapses(cron, expected.count + 1, after: from, in: .utc).filter { $0 <= until }
        #expect(elapses == expected, "seed \(seed): \(text)")
        let newest = cron.newestElapses(after: from, through: until, limit: 50, in: .utc)
        #expect(newest.instants == Array(expected.suffix(50)), "seed \(seed): \(text)")
        #expect(newest.count == expected.count, "seed \(seed): \(text)")
    }

    private static func field(
        _ range: ClosedRange<Int>, _ generator: inout SeededGenerator
    ) -> (text: String, values: Set<Int>) {
        var (texts, values): ([String], Set<Int>) = ([], [])
        for _ in 0...generator.pick([0, 0, 1, 2]) {
            let first = Int.random(in: range, using: &generator)
            let last = Int.random(in: first...range.upperBound, using: &generator)
            let step = 1 + generator.upTo(range.count / 2)
            let (text, part): (String, [Int]) =
                switch generator.upTo(9) {
                case 0...3: ("*", Array(range))
                case 4: ("*/\(step)", Array(stride(from: range.lowerBound, through: range.upperBound, by: step)))
                case 5: ("\(first)-\(last)", Array(first...last))
                case 6: ("\(first)-\(last)/\(step)", Array(stride(from: first, through: last, by: step)))
                default: ("\(first)", [first])
                }
            texts.append(text)
            values.formUnion(part)
        }
        return (texts.joined(separator: ","), values)
    }
}
