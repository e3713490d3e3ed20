import Schedule
import Testing
import WatchFile

@testable import Engine

/// Timers of the calendar around the hours at which clocks are changed, each in a zone with a trap of its own.
@Suite("Timers where the clocks are changed")
struct DaylightSavingTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var zone: String
        /// POSIX rules of it.
        var rules: String
        /// When the clocks are changed: seconds since the epoch.
        var time: Int64
        /// A time of the day that the change leaves out, or brings twice.
        var touched: String
        /// Its elapses within a day of the change, in minutes from it.
        var run: [Int64]
        var skip: [Int64]

        var testDescription: String { "\(zone) at \(time)" }
    }

    private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
    private static let newYork = "EST5EDT,M3.2.0,M11.1.0"
    /// Half an hour.
    private static let lordHowe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
    /// Winter is what is saved there.
    private static let dublin = "IST-1GMT0,M10.5.0,M3.5.0/1"

    /// As it was until 2019: at midnight, so that a day began at 01:00.
    private static let saoPaulo = "<-03>3<-02>,M11.1.0/0,M2.3.0/0"

    static let changes = [
        Change(
            zone: "Europe/Berlin", rules: berlin, time: 1_806_195_600, touched: "02:30", run: [-1410, 0, 1410],
            skip: [-1410, 1410]),
        Change(
            zone: "Europe/Berlin", rules: berlin, time: 1_824_944_400, touched: "02:30", run: [-30], skip: [-30]),
        Change(
            zone: "America/New_York", rules: newYork, time: 1_805_007_600, touched: "02:30", run: [-1410, 0, 1410],
            skip: [-1410, 1410]),
        Change(
            zone: "America/New_York", rules: newYork, time: 1_825_567_200, touched: "01:30", run: [-30], skip: [-30]),
        Change(
            zone: "Australia/Lord_Howe", rules: lordHowe, time: 1_822_491_000, touched: "02:15",
            run: [-1425, 0, 1425], skip: [-1425, 1425]),
        Change(
            zone: "Australia/Lord_Howe", rules: lordHowe, time: 1_806_764_400, touched: "01:45", run: [-15],
            skip: [-15]),
        Change(
            zone: "Europe/Dublin", rules: dublin, time: 1_806_195_600, touched: "01:30", run: [-1410, 0, 1410],
            skip: [-1410, 1410]),
        Change(
            zone: "Europe/Dublin", rules: dublin, time: 1_824_944_400, touched: "01:30", run: [-30], skip: [-30]),
        Change(
            zone: "America/Sao_Paulo", rules: saoPaulo, time: 1_825_556_400, touched: "00:00", run: [0, 1380],
            skip: [1380]),
        Change(
            zone: "America/Sao_Paulo", rules: saoPaulo, time: 1_834_624_800, touched: "23:30", run: [-30], skip: [-30]),
    ]

    /// Minutes from the change of all elapses within a day of it.
    private func elapses(
        _ change: Change, _ expression: String, _ daylightSaving: DaylightSaving, isLocal: Bool
    ) throws -> [Int64] {
        let rules = try TimeZoneRules(posix: change.rules)
        let zones = isLocal ? ZoneTable(local: rules) : ZoneTable(named: [change.zone: rules])
        let names = CalendarExpression.ZoneNames(local: zones.local) { zones.named[$0] != nil }
        let calendar = try CalendarExpression(
            parsing: isLocal ? expression : "\(expression) \(change.zone)", zones: names)
        let timer = SourceDefinition.timer("t", to: "h", every: nil).timing {
            ($0.calendars, $0.daylightSaving) = ([calendar], daylightSaving)
        }
        let start = (change.time - 86_400) * 1_000_000 + 1
        let fixture = EngineFixture(
            .of(handlers: [.exec("h", overlap: .parallel)], sources: [timer], zones: zones),
            at: Moment(realtime: start, boottime: 1_000_000, monotonic: 1_000_000))
        fixture.advance(seconds: 2 * 86_400 - 1)
        return fixture.events.map { ($0.event.time / 1_000_000 - change.time) / 60 }
    }

    @Test(arguments: changes, [false, true])
    func aFixedTimeFiresOnceOrIsLeftOut(change: Change, isLocal: Bool) throws {
        #expect(try elapses(change, change.touched, .run, isLocal: isLocal) == change.run)
        #expect(try elapses(change, change.touched, .skip, isLocal: isLocal) == change.skip)
    }

    @Test(arguments: changes)
    func aRepeatingTimeFiresInBothPassesAndSkipsNoHour(change: Change) throws {
        let all = Array(stride(from: Int64(-1410), to: 1440, by: 30))
        #expect(try elapses(change, "*:0/30", .run, isLocal: true) == all)
    }

    // MARK: Samoa

    /// From 30 December 2011 at midnight, 10:00 UTC, the clocks showed the 31st.
    private static let lostDay: Int64 = 1_325_239_200

    /// A zone file of the second version: before, after, and one change between them.
    private static func apia() throws -> TimeZoneRules {
        func bytes(_ number: Int64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
        }
        func header(_ changes: Int64, _ types: Int64, _ names: Int64) -> [UInt8] {
            Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
                + [0, 0, 0, changes, types, names].flatMap { bytes($0, 4) }
        }
        let old = header(0, 1, 4) + bytes(0, 4) + [0, 0] + Array("UTC\0".utf8)
        let new =
            header(1, 2, 8) + bytes(lostDay, 8) + [1] + bytes(-10 * 3600, 4) + [1, 0] + bytes(14 * 3600, 4) + [1, 4]
            + Array("-10\0+14\0".utf8) + Array("\n\n".utf8)
        return try TimeZoneRules(tzif: old + new)
    }

    /// Minutes from the change of all elapses from three days before it to three days after it.
    private func elapses(inApia expression: String, _ daylightSaving: DaylightSaving) throws -> [Int64] {
        let zones = ZoneTable(local: try Self.apia())
        let names = CalendarExpression.ZoneNames(local: zones.local) { _ in false }
        let calendar = try CalendarExpression(parsing: expression, zones: names)
        let timer = SourceDefinition.timer("t", to: "h", every: nil).timing {
            ($0.calendars, $0.daylightSaving) = ([calendar], daylightSaving)
        }
        let start = (Self.lostDay - 3 * 86_400) * 1_000_000 + 1
        let fixture = EngineFixture(
            .of(handlers: [.exec("h", overlap: .parallel)], sources: [timer], zones: zones),
            at: Moment(realtime: start, boottime: 1_000_000, monotonic: 1_000_000))
        fixture.advance(seconds: 6 * 86_400 - 1)
        return fixture.events.map { ($0.event.time / 1_000_000 - Self.lostDay) / 60 }
    }

    /// The calendar has a day less in these six: with `run` what fell on it comes when it would have begun.
    @Test(arguments: [
        ("12:00", [-3600, -2160, -720, 0, 720, 2160, 3600], [-3600, -2160, -720, 720, 2160, 3600]),
        ("00:00", [-2880, -1440, 0, 1440, 2880], [-2880, -1440, 0, 1440, 2880]),
        ("*-12-30 12:00", [0], []), ("Fri 12:00", [0], []), ("Sat 12:00", [720], [720]),
    ])
    func aLostDayCostsNoRunAndIsLeftOutWithSkip(expression: String, run: [Int64], skip: [Int64]) throws {
        #expect(try elapses(inApia: expression, .run) == run)
        #expect(try elapses(inApia: expression, .skip) == skip)
    }

    // MARK: Abbreviations

    /// In the hour in which the clocks show what they have shown before, a timer of summer time is over.
    @Test(arguments: ["*:*", "*:0/30", "02:30"], DaylightSaving.allCases)
    func aTimerOfAnAbbreviationGoesForwardOnly(expression: String, daylightSaving: DaylightSaving) throws {
        let zones = ZoneTable(local: try TimeZoneRules(posix: Self.berlin))
        let names = CalendarExpression.ZoneNames(local: zones.local) { _ in false }
        let calendar = try CalendarExpression(parsing: "\(expression) CEST", zones: names)
        let timer = SourceDefinition.timer("t", to: "h", every: nil).timing {
            ($0.calendars, $0.daylightSaving) = ([calendar], daylightSaving)
        }
        let change: Int64 = 1_824_944_400
        for begin in stride(from: change - 5400, through: change + 5400, by: 600) {
            let fixture = EngineFixture(
                .of(handlers: [.exec("h", overlap: .parallel)], sources: [timer], zones: zones),
                at: Moment(realtime: begin * 1_000_000 + 1, boottime: 1_000_000, monotonic: 1_000_000))
            fixture.advance(seconds: 3 * 3600)
            let times = fixture.events.map { $0.event.time / 1_000_000 }
            #expect(times == Set(times).sorted() && times.allSatisfy { $0 > begin }, "from \(begin - change): \(times)")
        }
    }
}
