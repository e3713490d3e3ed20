/// When something is due in the five fields of crontab(5): `30 2 * * mon-fri`, `@daily`.
///
/// It is what calendar expressions say, in other words: one of them, or two where both the day of the month and the day
/// of the week are restricted, for then one of the two is enough. Always in the local zone.
package struct CronExpression: Hashable, Sendable {
    /// The text's own words, one blank between two.
    package let description: String
    /// It elapses when one of these does; one or two.
    package let calendarExpressions: [CalendarExpression]
    /// When both elapse, if there are two.
    private let common: CalendarExpression?

    init(_ fields: CronFields, description: String) {
        self.description = description
        var both = CalendarFields()
        (both.minutes, both.hours, both.months) = (fields.minutes, fields.hours, fields.months)
        (both.days, both.weekdays) = (fields.days, fields.weekdays)
        let isBothRestricted = !fields.daysBeginWithStar && !fields.weekdaysBeginWithStar
        guard isBothRestricted else {
            calendarExpressions = [CalendarExpression(both, zone: .local)]
            common = nil
            return
        }
        var (byDay, byWeekday) = (both, both)
        byDay.weekdays = 0
        byWeekday.days = []
        calendarExpressions = [byDay, byWeekday].map { CalendarExpression($0, zone: .local) }
        common = CalendarExpression(both, zone: .local)
    }
}

/// The fields as they are read; of the days also whether they begin with `*`, as `*/2` does.
struct CronFields {
    var minutes: [CalendarComponent] = []
    var hours: [CalendarComponent] = []
    var days: [CalendarComponent] = []
    var months: [CalendarComponent] = []
    /// Bit 0 is Monday; 0 means all.
    var weekdays: UInt8 = 0
    var daysBeginWithStar = true
    var weekdaysBeginWithStar = true
}

extension CronExpression: CalendarSchedule {
    package var zoneName: String? { nil }

    package func nextElapse(
        after base: Int64, in rules: TimeZoneRules, daylightSaving: DaylightSaving = .run
    ) -> Int64? {
        calendarExpressions.reduce(nil) { nearest, expression in
            let next = expression.nextElapse(after: base, in: rules, daylightSaving: daylightSaving)
            guard let next, let nearest else { return nearest ?? next }
            return min(next, nearest)
        }
    }

    package func newestElapses(
        after base: Int64, through end: Int64, limit: Int = Self.mostCaughtUp, in rules: TimeZoneRules,
        daylightSaving: DaylightSaving = .run
    ) -> NewestElapses {
        func newest(_ expression: CalendarExpression) -> NewestElapses {
            expression.newestElapses(
                after: base, through: end, limit: limit, in: rules, daylightSaving: daylightSaving)
        }
        let parts = calendarExpressions.map(newest)
        var instants = Array(Set(parts.flatMap(\.instants))).sorted()
        instants.removeFirst(max(0, instants.count - limit))
        let count = parts.reduce(0) { $0 + $1.count } - (common.map(newest)?.count ?? 0)
        return NewestElapses(instants: instants, count: max(count, instants.count))
    }
}
