import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

@testable import ControlClient

/// `calendar` and `timespan`, as a shell sees them: they ask no daemon.
@Suite("Calendar verbs")
struct CalendarVerbTests {
    private func watchctl(_ words: String..., zone: String = "Europe/Berlin", columns: Int = 100) throws -> Finished {
        try Program.run(
            [Products.path("watchctl"), "--socket", "/nonexistent"] + words,
            environment: ["TZ=\(zone)", "COLUMNS=\(columns)"])
    }

    private func json(_ words: String..., code: Int32 = 0, zone: String = "UTC") throws -> JSONValue {
        let end = try Program.run(
            [Products.path("watchctl"), "--socket", "/nonexistent", "--json"] + words, environment: ["TZ=\(zone)"])
        #expect(end.code == code)
        #expect(end.errorText == "")
        return try JSON.decode(JSONValue.self, from: end.output)
    }

    @Test func anExpressionIsShownWithItsNormalFormAndItsElapses() throws {
        let end = try watchctl("calendar", "--iterations", "2", "--base-time", "@1774728000", "02:30")
        #expect(end.code == 0)
        let lines = end.text.split(separator: "\n").map(String.init)
        #expect(
            lines.filter { !$0.contains("From now") } == [
                "  Original form: 02:30", "Normalized form: *-*-* 02:30:00",
                "    Next elapse: Sun 2026-03-29 03:00:00 CEST", "       (in UTC): Sun 2026-03-29 01:00:00 UTC",
                "   Iteration #2: Mon 2026-03-30 02:30:00 CEST", "       (in UTC): Mon 2026-03-30 00:30:00 UTC",
            ])
        #expect(lines.count == 8)
        let skip = try watchctl(
            "calendar", "--base-time=@1774728000.5", "--daylight-saving=skip", "*-*-* 02:30:00.25",
            zone: "Europe/Berlin")
        #expect(
            skip.text.contains(
                "Normalized form: *-*-* 02:30:00.250000\n    Next elapse: Mon 2026-03-30 02:30:00.250000"))
        let utc = try watchctl("calendar", "--base-time", "@0", "hourly", "*-02-30", zone: "UTC")
        #expect(!utc.text.contains("(in UTC)"))
        #expect(utc.text.contains("Thu 1970-01-01 01:00:00 UTC"))
        #expect(utc.text.contains("\n\n  Original form: *-02-30\n"))
        #expect(utc.text.hasSuffix("    Next elapse: never\n"))
    }

    @Test func whatIsInvalidIsPointedAtAndTheOthersAreShown() throws {
        let end = try watchctl("calendar", "Mon 25:00", "daily", "")
        #expect(end.code == 1)
        #expect(end.text.hasPrefix("  Original form: daily\nNormalized form: *-*-* 00:00:00\n"))
        #expect(
            end.errorText == """
                “Mon 25:00”: an hour is 0 to 23
                    Mon 25:00
                        ^~
                “”: a calendar expression is missing, such as “Mon..Fri 02:30” or “daily”
                watchctl: 2 of 3 expressions are invalid

                """)
        let escaped = try watchctl("calendar", "12:00\u{1b}[31m")
        #expect(!escaped.errorText.contains("\u{1b}"))
    }

    @Test func aLineOfACrontabIsSaidToBeOne() throws {
        let end = try watchctl("calendar", "*/5 * * * *")
        #expect(end.code == 1)
        #expect(end.errorText.hasPrefix("“*/5 * * * *”: this is a line of crontab(5), which OnCron= takes\n"))
    }

    /// As systemd-analyze says it.
    @Test(
        arguments: [
            (1, "1us"), (2_500, "2ms"), (1_000_000, "1s"), (61_000_000, "1min 1s"), (300_000_000, "5min"),
            (3_660_000_000, "1h 1min"), (21_700_000_000, "6h"), (86_400_000_000, "24h"), (93_600_000_000, "1 day 2h"),
            (172_800_000_000, "2 days"), (691_200_000_000, "1 week 1 day"), (2_716_200_000_000, "1 month 1 day"),
            (31_557_600_000_000, "1 year 0 months"), (544_900_000_000_000, "17 years 3 months"),
        ])
    func theDistanceIsThatOfSystemd(span: Int64, text: String) { #expect(CalendarScreen.relative(span) == text) }

    @Test func aNarrowTerminalIsRespected() throws {
        let long = "Mon..Fri *-*-* 02:30:00,10,20,30,40,50 Europe/Berlin"
        let end = try watchctl("calendar", long, columns: 40)
        #expect(end.code == 0)
        for line in end.text.split(separator: "\n") { #expect(line.count <= 40, "\(line)") }
        let wrong = try watchctl("calendar", "*-*-* 02:30:00,10,20,30,40,50,60,1,2,3,4,5,6,7,8,9", columns: 40)
        let marks = wrong.errorText.split(separator: "\n").dropFirst().prefix(2)
        for line in marks { #expect(line.count <= 40, "\(line)") }
        #expect(marks.last?.hasSuffix("^~") ?? false)
    }

    @Test func asJSONEachArgumentHasAnEntry() throws {
        let list = try json(
            "calendar", "--iterations=2", "--base-time", "@0", "--", "hourly", "", "-1:00", code: 1)
        guard case .array(let entries) = list, entries.count == 3 else {
            Issue.record("\(list)")
            return
        }
        #expect(
            entries[0]
                == .object([
                    "expression": .string("hourly"), "normalized": .string("*-*-* *:00:00"),
                    "elapses": .array([.int(3_600_000_000), .int(7_200_000_000)]),
                ]))
        for (entry, text) in zip(entries.dropFirst(), ["", "-1:00"]) {
            #expect(entry.members?["expression"] == .string(text))
            #expect(entry.members?["error"]?.string?.isEmpty == false)
            #expect(entry.members?.count == 2)
        }
        #expect(
            try json("calendar", "*-02-30")
                == .array([
                    .object([
                        "expression": .string("*-02-30"), "normalized": .string("*-02-30 00:00:00"),
                        "elapses": .array([]),
                    ])
                ]))
    }

    @Test func aZoneIsThatOfTheVariableOrOfTheExpression() throws {
        func next(_ text: String, _ zone: String) throws -> JSONValue? {
            let list = try json("calendar", "--base-time", "@1782907200", text, zone: zone)
            guard case .array(let entries) = list, case .array(let elapses) = entries.first?.members?["elapses"] else {
                return nil
            }
            return elapses.first
        }
        // 2026-07-01 12:00 UTC.
        #expect(try next("15:00", ":Europe/Berlin") == .int(1_782_910_800_000_000))
        #expect(try next("15:00", "CET-1CEST,M3.5.0,M10.5.0/3") == .int(1_782_910_800_000_000))
        #expect(try next("15:00", "Nowhere/At_All") == .int(1_782_918_000_000_000))
        #expect(try next("15:00 Europe/Berlin", "Asia/Tokyo") == .int(1_782_910_800_000_000))
        #expect(try next("15:00 cest", "Europe/Berlin") == .int(1_782_910_800_000_000))
    }

    @Test func timeSpansAreExplained() throws {
        let end = try watchctl("timespan", "1h 30min", "infinity")
        #expect(end.code == 0)
        #expect(
            end.text == """
                Original: 1h 30min
                      μs: 5400000000
                   Human: 1h 30min

                Original: infinity
                      μs: 18446744073709551615
                   Human: infinity

                """)
        let wrong = try watchctl("timespan", "5x", "5 s")
        #expect(wrong.code == 1)
        #expect(wrong.text.hasPrefix("Original: 5 s\n"))
        #expect(wrong.errorText.contains("    5x\n     ^\nwatchctl: 1 of 2 time spans is invalid\n"))
        let output = try Program.run(
            [Products.path("watchctl"), "timespan", "--json", "infinity", "", "2.5us"], environment: [])
        #expect(output.code == 1)
        #expect(
            output.text.hasPrefix(#"[{"human":"infinity","span":"infinity","usec":18446744073709551615},{"error":"#))
        #expect(output.text.hasSuffix(#","span":""},{"human":"2us","span":"2.5us","usec":2}]"# + "\n"))
    }

    @Test func mistakesInOptionsAreExplained() throws {
        #expect(try watchctl("calendar").code == 2)
        #expect(try watchctl("timespan").code == 2)
        for words in [
            ["--iterations", "0"], ["--iterations", "x"], ["--base-time", "soon"], ["--daylight-saving", "no"],
        ] {
            let end = try watchctl("calendar", words[0], words[1], "daily")
            #expect(end.code == 2)
            #expect(end.errorText.contains(words[0]))
            #expect(end.text == "")
        }
    }
}
