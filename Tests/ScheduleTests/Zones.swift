import LinuxSystem
import Schedule

/// The rules of the machine's time zones.
enum Zones {
    static func rules(_ name: String) throws -> TimeZoneRules {
        name == "UTC" ? .utc : try TimeZoneRules(tzif: try Linux.readFile("/usr/share/zoneinfo/\(name)"))
    }

    /// What an expression must know, for somebody in a zone; names are those of files.
    static func names(_ local: TimeZoneRules) -> CalendarExpression.ZoneNames {
        CalendarExpression.ZoneNames(local: local) { name in
            !name.hasPrefix("/") && !name.contains(".") && (try? rules(name)) != nil
        }
    }

    /// The elapses after a base, µs since the epoch.
    static func elapses(
        _ schedule: some CalendarSchedule, _ count: Int, after base: Int64, in rules: TimeZoneRules,
        _ daylightSaving: DaylightSaving = .run
    ) -> [Int64] {
        var result: [Int64] = []
        while result.count < count,
            let next = schedule.nextElapse(after: result.last ?? base, in: rules, daylightSaving: daylightSaving)
        {
            result.append(next)
        }
        return result
    }
}

extension CalendarExpression {
    /// For somebody in UTC, or in another zone.
    init(_ text: String, in local: TimeZoneRules = .utc) throws {
        try self.init(parsing: text, zones: Zones.names(local))
    }

    /// The rules for a question of somebody in a zone.
    func rules(local: TimeZoneRules) throws -> TimeZoneRules { try zoneName.map(Zones.rules) ?? local }
}

/// `2026-03-29 01:00:00` in UTC as µs since the epoch.
func utc(_ text: String) throws -> Int64 {
    try Timestamp(parsing: text.replacing(" ", with: "T") + "Z").microseconds
}
