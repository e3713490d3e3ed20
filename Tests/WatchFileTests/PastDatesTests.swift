import Schedule
import Testing
import WatchFile

/// What will never happen (again) is warned of, by the time at which the file is read.
@Suite("What is past, and what never ends") struct PastDatesTests {
    /// 2027-01-15 08:00:00 UTC, a Friday.
    private static let now: Int64 = 1_800_000_000_000_000

    private func warnings(_ text: String, at now: Int64? = now) -> [String] {
        let texts = [WatchFileText(file: "test.watch", bytes: Array(text.utf8))]
        let loaded = WatchFile.load(texts, context: LoadContext(processors: 4, now: now))
        #expect(loaded.configuration != nil)
        return loaded.diagnostics.map(\.sentence)
    }

    private func timer(_ calendar: String) -> String { "[Timer t]\nOnCalendar=\(calendar)\nLog=t\n" }

    private func handler(_ windows: String...) -> String {
        "[Custom c]\nHandler=h\n[Handler h]\nLog=h\n" + windows.map { $0 + "\n" }.joined()
    }

    @Test func aDateThatIsPastNeverElapsesAgain() {
        #expect(
            warnings(timer("2020-01-01")) == ["OnCalendar=2020-01-01 never elapses again: its last date is past"])
        #expect(warnings(timer("2027-01-15 07:59:59")).count == 1)
        for future in ["2027-01-15 08:00:01", "2030-01-01", "*-01-01", "daily"] {
            #expect(warnings(timer(future)).isEmpty, "\(future)")
        }
        // Nobody knows, or the clock was not set.
        #expect(warnings(timer("2020-01-01"), at: nil).isEmpty)
        #expect(warnings(timer("2020-01-01"), at: 1_000_000).isEmpty)
    }

    @Test func aWindowThatIsPastOpensNoMore() {
        let past = handler("NotDuring=2020-01-01 for 1h")
        #expect(warnings(past) == ["NotDuring=2020-01-01 for 1h never elapses again: its last date is past"])
        // It is open.
        #expect(warnings(handler("NotDuring=2027-01-15 07:30 for 1h")).isEmpty)
    }

    @Test func windowsThatNeverEndAreSaid() {
        #expect(
            warnings(handler("NotDuring=*-*-* 00:00 for 25h")) == [
                "NotDuring=*-*-* 00:00 for 25h is never over: all that comes is skipped"
            ])
        #expect(
            warnings(handler("HoldDuring=0/6:00 for 6h")) == [
                "HoldDuring=0/6:00 for 6h is never over: all that comes waits for ever"
            ])
        #expect(
            warnings(handler("NotDuring=*-*-* 06:00 for 12h", "NotDuring=*-*-* 18:00 for 12h")) == [
                "the windows of NotDuring= together are never over: all that comes is skipped"
            ])
        let short = [
            "*:* for 2min", "*:0/10 for 15min", "*:*:0/10 for 11s", "*:*:* for 1s", "*:*:0/0.5 for 600ms",
            "*:0/25 for 35min", "hourly for 1h", "0/2:00 for 2h",
            "Mon,Wed,Fri *:*:* for 49h",
        ]
        for window in short {
            #expect(
                warnings(handler("HoldDuring=\(window)")) == [
                    "HoldDuring=\(window) is never over: all that comes waits for ever"
                ])
        }
        let fine = [
            "HoldDuring=*:*:0/10 for 9s", "HoldDuring=*:*:* for 999ms", "NotDuring=1..23:* for 1min",
            "NotDuring=*:0..58 for 1min", "HoldDuring=*-02..12-* *:* for 2min", "HoldDuring=Mon,Fri *:* for 49h",
            "HoldDuring=2027-*-* *:* for 1min",
            "NotDuring=*-*-* 00:00 for 23h", "NotDuring=Mon..Sat 00:00 for 24h", "HoldDuring=*:0/10 for 9min",
            "NotDuring=Mon..Fri *:0/10 for 11min", "NotDuring=*-*-02..31 00:00 for 1d",
        ]
        for window in fine { #expect(warnings(handler(window)).isEmpty, "\(window)") }
    }

    /// Looked at for as long as is reasonable, and then nothing is said.
    @Test func manyEndlessWindowsDoNotTakeForEver() {
        let sections = (0..<200).map { "[Handler h\($0)]\nLog=h\nNotDuring=*:*:* for 2s\n" }.joined()
        let names = (0..<200).map { "h\($0)" }.joined(separator: " ")
        let found = warnings("[Custom c]\nHandler=\(names)\n\(sections)")
        #expect((1..<200).contains(found.count), "\(found.count)")
        let pairs = sections.replacing("*:*:* for 2s", with: "*:*:0/2 for 1s\nNotDuring=*:*:1/2 for 1s")
        #expect(warnings("[Custom c]\nHandler=\(names)\n\(pairs)").isEmpty)
    }
}
