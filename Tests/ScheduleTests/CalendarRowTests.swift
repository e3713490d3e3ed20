import Schedule
import SeedKit
import Testing

@Suite("Calendars that elapse again and again")
struct CalendarRowTests {
    @Test(arguments: [
        ("*:*", 60.0), ("*:0/10", 600), ("*:*:0/10", 10), ("*:*:*", 1), ("hourly", 3600), ("Mon..Fri *:*", 60),
        ("8..17:0/15", 900), ("*:*:0/0.5", 0.5), ("0..23:30", 3600), ("12:00", 0.001), ("*:*:0,20,50 UTC", 30),
        ("*:0/25", 1500), ("*:*:0/25", 35),
    ])
    func oneWithShortPausesIsSeenInItsFields(text: String, pause: Double) throws {
        let expression = try CalendarExpression(text)
        let span = TimeSpan(microseconds: UInt64(pause * 1_000_000))
        #expect(expression.isRow(within: span))
        #expect(pause < 0.01 || !expression.isRow(within: TimeSpan(microseconds: span.microseconds - 1)))
    }

    @Test func itGoesOnToTheEndOfTheDayButNotAcrossAChangeOfTheClocks() throws {
        let berlin = try Zones.rules("Europe/Berlin")
        let expression = try CalendarExpression("Mon..Fri *:*:0/10")
        #expect(
            expression.endOfRow(after: try utc("2026-11-20 07:00:00"), in: berlin)
                == (try utc("2026-11-20 22:59:50")))
        let daily = try CalendarExpression("*:*")
        let change = try utc("2026-03-29 01:00:00")
        var here = try utc("2026-03-28 23:00:00")
        var steps = 0
        while here < change {
            let next = daily.endOfRow(after: here, in: berlin)
            #expect(next >= here && (next - here < 7_200_000_000 || here >= change))
            here = max(next, here + 60_000_000)
            steps += 1
        }
        #expect(steps < 20, "by halves")
    }

    /// Between an elapse and the end of its row no pause is longer than was asked.
    @Test(arguments: Seeds.range(100, long: 1000))
    func noPauseInARowIsLonger(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = RandomCalendar.expression(&generator, inMonths: true)
        guard let expression = try? CalendarExpression(text) else { return }
        let rules = try Zones.rules(generator.pick(RandomCalendar.zones))
        let from =
            generator.pick(RandomCalendar.changes) + Int64.random(in: -90...90, using: &generator) * 1_000_000_000
        let span: Int64 = generator.pick([1, 10, 60, 90, 600, 900, 3600, 7200, 30_000]) * 1_000_000
        guard expression.isRow(within: TimeSpan(microseconds: UInt64(span))),
            let first = Zones.elapses(expression, 1, after: from, in: rules).first
        else { return }
        let end = expression.endOfRow(after: first, in: rules)
        var last = first
        for elapse in Zones.elapses(expression, 5000, after: first, in: rules) where elapse <= end {
            #expect(elapse - last <= span, "\(text), seed \(seed)")
            last = elapse
        }
        #expect(expression.newestElapses(after: end - 1, through: end, limit: 1, in: rules).instants == [end])
    }
}
