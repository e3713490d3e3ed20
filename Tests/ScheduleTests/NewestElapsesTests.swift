import Schedule
import SeedKit
import Testing

@Suite("Elapses of a long span")
struct NewestElapsesTests {
    private func newest(
        _ text: String, _ from: String, _ until: String, limit: Int = 1000, zone: String = "Europe/Berlin",
        _ daylightSaving: DaylightSaving = .run
    ) throws -> NewestElapses {
        try CalendarExpression(text).newestElapses(
            after: try utc(from), through: try utc(until), limit: limit, in: try Zones.rules(zone),
            daylightSaving: daylightSaving)
    }

    @Test func theNewestAreFoundWithoutWalkingThroughAll() throws {
        let day = try newest("*:*:*", "2026-11-20 00:00:00", "2026-11-21 00:00:00")
        #expect(day.count == 86_400)
        #expect(day.instants.count == 1000)
        #expect(day.instants.last == (try utc("2026-11-21 00:00:00")))
        #expect(day.instants.first == (try utc("2026-11-20 23:43:21")))
        let century = try newest("*:*:*", "2026-01-01 00:00:00", "2126-01-01 00:00:00")
        // 100 years with 24 leap days.
        #expect(century.count == (36_500 + 24) * 86_400)
    }

    @Test func theSpanBeginsAfterTheBaseAndHasItsEnd() throws {
        let hours = try newest("hourly", "2026-11-20 01:00:00", "2026-11-20 03:00:00")
        #expect(hours.instants == [try utc("2026-11-20 02:00:00"), try utc("2026-11-20 03:00:00")])
        #expect(try newest("hourly", "2026-11-20 01:00:00", "2026-11-20 01:00:00").count == 0)
        #expect(try newest("hourly", "2026-11-20 02:00:00", "2026-11-20 01:00:00").count == 0)
        #expect(try newest("*-02-30", "1970-01-01 00:00:00", "2199-12-31 00:00:00").count == 0)
    }

    @Test func theChangesOfTheClocksAreCounted() throws {
        #expect(try newest("*:0/15", "2026-03-28 23:00:00", "2026-03-29 22:00:00").count == 92)
        #expect(try newest("*:0/15", "2026-10-24 22:00:00", "2026-10-25 23:00:00").count == 100)
        #expect(try newest("*:0/15", "2026-10-24 22:00:00", "2026-10-25 23:00:00", .skip).count == 96)
        #expect(try newest("02:30", "2026-01-01 00:00:00", "2027-01-01 00:00:00").count == 365)
        #expect(try newest("02:30", "2026-01-01 00:00:00", "2027-01-01 00:00:00", .skip).count == 364)
    }

    @Test func anAbbreviationIsWalked() throws {
        let berlin = try Zones.rules("Europe/Berlin")
        let winter = try CalendarExpression("12:00 CET", in: berlin).newestElapses(
            after: try utc("2026-01-01 00:00:00"), through: try utc("2026-01-11 00:00:00"), limit: 3, in: berlin)
        #expect(winter.count == 10)
        #expect(winter.instants.first == (try utc("2026-01-08 11:00:00")))
    }

    /// What is computed backwards is what is found one after the other forwards.
    @Test(arguments: Seeds.range(60))
    func theyAreTheLastOfThoseThatFollowEachOther(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = RandomCalendar.expression(&generator, inMonths: true)
        guard let expression = try? CalendarExpression(text) else { return }
        let rules = try Zones.rules(generator.pick(RandomCalendar.zones))
        let from =
            generator.pick(RandomCalendar.changes) + Int64.random(in: -900...900, using: &generator) * 1_000_000_000
        let all = Zones.elapses(expression, 300, after: from, in: rules)
        guard let last = all.last else {
            let until = from + 100_000_000_000_000
            #expect(
                expression.newestElapses(after: from, through: until, in: rules).count == 0, "seed \(seed): \(text)")
            return
        }
        let newest = expression.newestElapses(after: from, through: last, limit: 20, in: rules)
        #expect(newest.instants == Array(all.suffix(20)), "seed \(seed): \(text)")
        // What systemd leaves out of a repetition without an end may be counted.
        #expect(newest.count >= all.count, "seed \(seed): \(text)")
        if !text.contains("/") { #expect(newest.count == all.count, "seed \(seed): \(text)") }
    }
}
