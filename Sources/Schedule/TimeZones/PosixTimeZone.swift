/// The rule of a POSIX TZ string: `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX.1-2017 section 8.3, extended by RFC 8536
/// section 3.3.1: times from -167 to 167 hours).
struct PosixTimeZone: Hashable, Sendable {
    /// A day of any year, and the time of that day.
    struct Day: Hashable, Sendable {
        enum Form: Hashable, Sendable {
            /// `J59`: 1 to 365; the leap day is never counted.
            case julian(Int)
            /// `59`: 0 to 365; the leap day counts.
            case zeroBased(Int)
            /// `M3.5.0`: the month, its first to fourth or (5) last, the day of the week (0 is Sunday).
            case month(Int, week: Int, weekday: Int)
        }

        var form: Form
        /// Seconds after midnight.
        var time: Int

        /// Seconds since the epoch, as if the clocks showed UTC.
        func instant(in year: Int) -> Int {
            let newYear = CivilDate(year: year, month: 1, day: 1).daysSinceEpoch
            let day =
                switch form {
                case .julian(let day): newYear + day - 1 + (CivilDate.isLeap(year) && day >= 60 ? 1 : 0)
                case .zeroBased(let day): newYear + day
                case .month(let month, let week, let weekday): Self.day(year, month, week, weekday)
                }
            return day * 86_400 + time
        }

        private static func day(_ year: Int, _ month: Int, _ week: Int, _ weekday: Int) -> Int {
            let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
            // The epoch was a Thursday. Years before it are not laid out, but for the last.
            let firstWeekday = ((first + 4) % 7 + 7) % 7
            let day = (weekday - firstWeekday + 7) % 7 + (week - 1) * 7
            return first + (day < CivilDate.days(ofMonth: month, in: year) ? day : day - 7)
        }
    }

    var standard: TimeZoneRules.LocalTimeType
    var daylight: TimeZoneRules.LocalTimeType?
    /// From one to the other it is daylight-saving time; without that they mean nothing.
    var begin = Day(form: .month(3, week: 2, weekday: 0), time: 7200)
    var end = Day(form: .month(11, week: 1, weekday: 0), time: 7200)

    /// The changes of a little more than 400 years from an instant on (or from the epoch), ascending; `types` gets the
    /// types of the rule.
    func changes(after last: Int?, types: inout [TimeZoneRules.LocalTimeType]) -> [TimeZoneRules.Change] {
        func kind(_ type: TimeZoneRules.LocalTimeType) -> Int {
            if let known = types.firstIndex(of: type) { return known }
            types.append(type)
            return types.count - 1
        }
        let standardKind = kind(standard)
        guard let daylight else {
            return [TimeZoneRules.Change(instant: last ?? TimeZoneRules.instants.lowerBound, kind: standardKind)]
        }
        let daylightKind = kind(daylight)
        let from = max(last ?? 0, 0)
        let year = CivilDate(daysSinceEpoch: from / 86_400).year
        let changes = (year - 1...year + 402).flatMap { year in
            [
                TimeZoneRules.Change(instant: begin.instant(in: year) - standard.offset, kind: daylightKind),
                TimeZoneRules.Change(instant: end.instant(in: year) - daylight.offset, kind: standardKind),
            ]
        }
        // At one instant the end of one year comes before the beginning of the next: daylight-saving time all year.
        return changes.sorted {
            ($0.instant, $0.kind == daylightKind ? 1 : 0) < ($1.instant, $1.kind == daylightKind ? 1 : 0)
        }.filter { $0.instant > last ?? .min }
    }
}
