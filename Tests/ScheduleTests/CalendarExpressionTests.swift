import Schedule
import SeedKit
import Testing

@Suite("Calendar expressions")
struct CalendarExpressionTests {
    private func failure(_ text: String) -> CalendarExpression.ParseError? {
        do throws(CalendarExpression.ParseError) {
            _ = try CalendarExpression(parsing: text, zones: Zones.names(.utc))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            ("", .empty, 0..<0), ("fortnightly", .unknownWord, 0..<11), (" daily", .unexpected, 0..<1),
            ("daily ", .unexpected, 5..<6), ("daily Europe/Nowhere", .unknownZone, 6..<20),
            ("12:00 Europe/Nowhere", .unknownZone, 6..<20), ("Mon foo", .unknownZone, 4..<7),
            ("12:00 +0200", .unexpected, 6..<11), ("Fri..Mon 12:00", .backwardsWeekdays, 0..<8),
            ("Mon,Tues 12:00", .notAWeekday, 4..<8), ("Mon.. 12:00", .notAWeekday, 5..<5),
            ("Mon/2", .notAWeekday, 0..<5),
            ("Mon 25:00", .outOfRange(.hour), 4..<6), ("12:60", .outOfRange(.minute), 3..<5),
            ("*:*:59.9999999", .outOfRange(.second), 4..<14), ("*-13-01", .outOfRange(.month), 2..<4),
            ("2200-01-01", .outOfRange(.year), 0..<4), ("*-*-1,32", .outOfRange(.day), 6..<8),
            ("*-*~31", .outOfRange(.dayFromEnd), 4..<6), ("*-*~1,26", .tooFarFromEnd(25), 6..<8),
            ("5..3:00", .backwardsRange, 0..<4), ("*:0/0", .stepIsZero, 3..<5),
            ("*:0/60", .stepTooLarge(.minute), 2..<6), ("*:*/5", .unexpected, 3..<5), ("2026", .incomplete, 0..<4),
            ("7", .incomplete, 0..<1), ("*:x", .notANumber, 2..<3), ("12:", .notANumber, 3..<3),
            ("*:4294967297", .tooLarge, 2..<12), ("@x", .notANumber, 1..<2),
            ("@99999999999", .outOfRange(.year), 0..<12),
        ] as [(String, CalendarExpression.ParseError.Reason, Range<Int>)])
    func anErrorSaysWhatAndWhere(text: String, reason: CalendarExpression.ParseError.Reason, range: Range<Int>) {
        #expect(failure(text) == CalendarExpression.ParseError(reason, range))
        #expect(failure(text)?.description.isEmpty == false)
    }

    @Test func aFieldHasSoManyElementsAndNoMore() throws {
        let most = Array(repeating: "1", count: CalendarExpression.mostElements).joined(separator: ",")
        #expect(try CalendarExpression("\(most):00").description == "*-*-* 01:00:00")
        #expect(failure("\(most),1:00")?.reason == .tooManyElements)
    }

    @Test func theAbbreviationsOfTheLocalZoneAreZones() throws {
        let berlin = try Zones.rules("Europe/Berlin")
        #expect(try CalendarExpression("12:00 cest", in: berlin).zone == .abbreviation("CEST", isDaylightSaving: true))
        #expect(try CalendarExpression("12:00 CET", in: berlin).description == "*-*-* 12:00:00 CET")
        #expect(try CalendarExpression("12:00 CET").zone == .named("CET"))
        #expect(failure("12:00 CEST")?.reason == .unknownZone)
    }

    @Test func anElapseIsStrictlyAfterItsBase() throws {
        let expression = try CalendarExpression("12:00:00.5 UTC")
        let noon = try utc("2026-11-20 12:00:00.5")
        #expect(expression.nextElapse(after: noon - 1, in: .utc) == noon)
        #expect(expression.nextElapse(after: noon, in: .utc) == noon + 86_400_000_000)
    }

    @Test func beyondTheCalendarThereIsNothing() throws {
        let expression = try CalendarExpression("*:*:*")
        for base in [Int64.min, -1] { #expect(expression.nextElapse(after: base, in: .utc) == 0) }
        for base in [Int64.max, try utc("2199-12-31 23:59:59")] {
            #expect(expression.nextElapse(after: base, in: .utc) == nil)
            #expect(expression.nextElapse(after: base, in: try Zones.rules("Europe/Berlin")) == nil)
        }
        #expect(try CalendarExpression("*-02-30").nextElapse(after: 0, in: .utc) == nil)
        #expect(try CalendarExpression("Mon 2026-03-29").nextElapse(after: 0, in: .utc) == nil)
    }

    /// The rarest there are: 29 February on a given weekday, over a century without a leap day.
    @Test func rareDaysAreFound() throws {
        let expression = try CalendarExpression("Mon *-02-29 00:00")
        let after2072 = try utc("2072-03-01 00:00:00")
        #expect(expression.nextElapse(after: after2072, in: .utc) == (try utc("2112-02-29 00:00:00")))
    }

    /// systemd 252 goes on counting into the next day: 23:50, then 00:15; midnight is left out.
    @Test func aRepetitionWithoutAnEndGoesBeyondItsField() throws {
        let expression = try CalendarExpression("*:0/25")
        let elapses = Zones.elapses(expression, 3, after: try utc("2026-11-20 22:50:00"), in: .utc)
        #expect(
            elapses == [try utc("2026-11-20 23:00:00"), try utc("2026-11-20 23:25:00"), try utc("2026-11-20 23:50:00")])
        #expect(
            expression.nextElapse(after: try utc("2026-11-20 23:50:00"), in: .utc) == (try utc("2026-11-21 00:25:00")))
    }

    @Test(arguments: Seeds.range(500))
    func theNormalFormReadsBackAsTheSame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = RandomCalendar.expression(&generator)
        guard let expression = try? CalendarExpression(text) else { return }
        let again = try CalendarExpression(expression.description)
        #expect(again == expression, "seed \(seed): \(text)")
    }
}
