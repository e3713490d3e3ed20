/// Something that is due by the calendar: a `CalendarExpression` or a `CronExpression`.
package protocol CalendarSchedule: Hashable, Sendable, CustomStringConvertible {
    /// The zone whose rules it must be given; `nil`: those of the local zone.
    var zoneName: String? { get }

    /// When it elapses for the first time after an instant; microseconds since the epoch, strictly after `base`. `nil`:
    /// not until the end of 2199.
    ///
    /// Takes about a microsecond, however far away that is.
    /// - Parameter rules: of the zone that it names, else of the local one.
    func nextElapse(after base: Int64, in rules: TimeZoneRules, daylightSaving: DaylightSaving) -> Int64?

    /// The newest elapses in a span of time, and how many there are in all: computed, whatever the length of the span.
    ///
    /// The count is exact, unless several repetitions of fractions of a second meet in one field: then it may be too
    /// high. With `skip`, a span's elapses are those that do not depend on the base: none in a gap, one where a time
    /// comes twice.
    /// - Parameters:
    ///   - base: microseconds since the epoch; excluded.
    ///   - end: included.
    ///   - limit: how many at most.
    func newestElapses(
        after base: Int64, through end: Int64, limit: Int, in rules: TimeZoneRules, daylightSaving: DaylightSaving
    ) -> NewestElapses
}

extension CalendarSchedule {
    /// How many elapses are caught up at most.
    package static var mostCaughtUp: Int { 1000 }
}

/// The newest elapses of a span of time.
package struct NewestElapses: Hashable, Sendable {
    /// Microseconds since the epoch, ascending.
    package var instants: [Int64]
    /// Those of the whole span, these included.
    package var count: Int
}
