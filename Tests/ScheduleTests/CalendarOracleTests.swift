import FoundationEssentials
import Schedule
import Testing

/// Every case of `Oracle/calendar.json`, recorded from systemd's own tools (its `meta` names them).
@Suite("Calendar expressions and systemd")
struct CalendarOracleTests {
    struct Oracle: Decodable {
        struct Meta: Decodable {
            var bases: [String: Base]
        }

        struct Base: Decodable {
            var zone: String
            /// Microseconds since the epoch.
            var instant: Int64

            private enum CodingKeys: String, CodingKey {
                case zone = "tz"
                case instant = "base_usec"
            }
        }

        struct Case: Decodable {
            var expr: String
            var valid: Bool
            var normalized: String?
            var elapses: [String: [Int64]]?
        }

        var meta: Meta
        var cases: [Case]
    }

    private static func oracle() throws -> Oracle {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let data = try Data(contentsOf: folder.appendingPathComponent("Oracle/calendar.json"))
        return try JSONDecoder().decode(Oracle.self, from: data)
    }

    @Test func whatIsAcceptedAndItsNormalFormAreTheSame() throws {
        let cases = try Self.oracle().cases
        #expect(cases.count == 331)
        for item in cases {
            let expression = try? CalendarExpression(item.expr)
            #expect((expression != nil) == item.valid, "\(item.expr)")
            #expect(expression?.description == item.normalized, "\(item.expr)")
            if let expression {
                #expect(try CalendarExpression(expression.description) == expression, "\(item.expr)")
            }
        }
    }

    @Test func withSkipEveryElapseIsTheSame() throws {
        let differences = try differences(.skip)
        #expect(differences.isEmpty, "\(differences)")
    }

    @Test func withRunEveryElapseIsTheSameButWhereTheClocksAreChanged() throws {
        let found = try differences(.run)
        #expect(found == Self.better)
    }

    /// The expressions that differ, and at which bases. `Sun *-3-25..31 02:30` has no recorded elapses in Berlin: there
    /// systemd ends in an "infinite loop".
    private func differences(_ daylightSaving: DaylightSaving) throws -> [String: Set<String>] {
        let oracle = try Self.oracle()
        var differences: [String: Set<String>] = [:]
        for (name, base) in oracle.meta.bases {
            let local = try Zones.rules(base.zone)
            for item in oracle.cases where item.valid {
                guard let expected = item.elapses?[name] else { continue }
                let expression = try CalendarExpression(item.expr, in: local)
                let rules = try expression.rules(local: local)
                let elapses = Zones.elapses(expression, 5, after: base.instant, in: rules, daylightSaving)
                if elapses != expected { differences[item.expr, default: []].insert(name) }
            }
        }
        return differences
    }

    /// Where `DaylightSaving=run` does better. In spring systemd leaves out what is in the gap (in Dublin even what
    /// comes after it on that day); in autumn it is silent for the whole second pass, which `run` uses for what
    /// repeats. In `berlin-fold-1st` systemd runs `Sun *-10~07/1 02:30`, whose first pass is still to come, in the
    /// second.
    private static let better: [String: Set<String>] = [
        "*-*-* *:00": ["berlin-autumn", "berlin-fold-1st"],
        "*-*-1/3 *:0/20": ["berlin-fold-1st"],
        "*-03-29 02:00..03:00 Europe/Berlin": ["berlin-spring", "dublin-spring", "newyork-spring", "utc-2026"],
        "*-11-01 0..2:0/30": ["newyork-spring"],
        "*:0..30/10": ["berlin-fold-1st"],
        "*:0/15": ["berlin-fold-1st"],
        "*:00:00": ["berlin-autumn", "berlin-fold-1st"],
        "*:10:*": ["berlin-fold-1st"],
        "*:15 America/New_York": ["newyork-spring"],
        "*:30/10": ["berlin-fold-1st"],
        "0..23:00": ["berlin-autumn", "berlin-fold-1st"],
        "01:02:03.400000": ["dublin-spring"],
        "01:30": ["dublin-spring"],
        "02:59:59": ["berlin-spring", "newyork-spring"],
        "1..3:00": ["berlin-autumn", "berlin-fold-1st", "dublin-spring"],
        "1..4:30": ["berlin-autumn", "berlin-fold-1st", "berlin-spring", "dublin-spring", "newyork-spring"],
        "1:*:0/20": ["dublin-spring"],
        "1:0/10": ["dublin-spring"],
        "1:2:3.4": ["dublin-spring"],
        "2026-03-08 02:30": ["newyork-spring"],
        "22..23,0..2:00": ["berlin-autumn", "berlin-fold-1st", "berlin-spring", "newyork-spring"],
        "2:*:0/20": ["berlin-spring", "newyork-spring"],
        "2:0/15": ["berlin-autumn", "berlin-fold-1st", "berlin-spring", "newyork-spring"],
        "HOURLY": ["berlin-autumn", "berlin-fold-1st"],
        "Sat,Sun *-*-1/3 *:0/20": ["berlin-fold-1st"],
        "Sun *-10~07/1 02:30": ["berlin-fold-1st"],
        "Sun 02:30": ["berlin-spring", "newyork-spring"],
        "Sun 2026-03-29 02:30": ["berlin-spring"],
    ]
}
