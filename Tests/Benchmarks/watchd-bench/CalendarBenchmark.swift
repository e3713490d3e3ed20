import LinuxSystem
import Schedule
import TimeZoneFiles

/// The next elapse of calendar expressions, one after the other, in a zone that changes its clocks.
struct CalendarBenchmark {
    struct Settings {
        var rounds = 5
        /// Elapses of a round, for each expression.
        var elapses = 10_000
    }

    /// What people write, and what they had better not.
    enum Kind: String, Encodable {
        case common, rare, never
    }

    static let zone = "Europe/Berlin"
    static let expressions: [(text: String, kind: Kind)] = [
        ("minutely", .common), ("hourly", .common), ("daily", .common), ("weekly", .common), ("monthly", .common),
        ("*-*-* 02:30", .common), ("*:0/15", .common), ("Mon..Fri 08:00", .common), ("*-*-01 04:00:00", .common),
        ("Sun *-*~07/1 03:00", .common), ("*-*~01 23:59", .common), ("Fri *-*-13", .rare), ("Mon *-02-29", .rare),
        ("*-02-30", .never), ("2001-01-01", .never),
    ]
    /// 2026-01-01, µs.
    private static let start: Int64 = 1_767_225_600_000_000

    let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    func run() throws(Failure) -> CalendarResult {
        let machine = Machine()
        let database = TimeZoneDatabase()
        let rules: TimeZoneRules
        do throws(TimeZoneFileError) {
            rules = try database.rules(named: Self.zone)
        } catch {
            throw Failure(message: "\(Self.zone): \(error)")
        }
        var rows: [CalendarResult.Row] = []
        for (text, kind) in Self.expressions {
            guard let expression = try? CalendarExpression(parsing: text, zones: database.names(local: rules)) else {
                throw Failure(message: "“\(text)” is no calendar expression")
            }
            for daylightSaving in DaylightSaving.allCases {
                let times = (0..<settings.rounds).map { _ in time(expression, rules, daylightSaving) }
                rows.append(
                    .init(expression: text, kind: kind, daylightSaving: daylightSaving.rawValue, times: Rounds(times)))
            }
        }
        return CalendarResult(machine: machine, rounds: settings.rounds, elapses: settings.elapses, rows: rows)
    }

    /// Nanoseconds of a processor for one elapse. One that does not come again is asked for from the start.
    private func time(
        _ expression: CalendarExpression, _ rules: TimeZoneRules, _ daylightSaving: DaylightSaving
    ) -> Double {
        var base = Self.start
        let began = Linux.threadTime
        for _ in 0..<settings.elapses {
            base = expression.nextElapse(after: base, in: rules, daylightSaving: daylightSaving) ?? Self.start
        }
        return Double(Linux.threadTime - began) / Double(settings.elapses)
    }
}
