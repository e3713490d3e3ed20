/// The time zones that schedules need, as values: so that nothing pure has to read a file.
package struct ZoneTable: Hashable, Sendable {
    /// Of the machine, or of `TZ`.
    package var local: TimeZoneRules
    /// Those that an expression names.
    package var named: [String: TimeZoneRules]

    package init(local: TimeZoneRules = .utc, named: [String: TimeZoneRules] = [:]) {
        self.local = local
        self.named = named
    }

    /// The rules that a schedule must be given; those of the local zone where it names none.
    package func rules(for schedule: some CalendarSchedule) -> TimeZoneRules {
        schedule.zoneName.flatMap { named[$0] } ?? local
    }
}
