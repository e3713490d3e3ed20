package import Schedule

/// `CALENDAR for SPAN`: from each elapse on for so long. Windows may overlap.
package struct CalendarWindow: Hashable, Sendable, CustomStringConvertible {
    package let calendar: CalendarExpression
    /// From `spans.lowerBound` to `spans.upperBound`.
    package let span: TimeSpan
    /// On each day it does not close before the last elapse of the day.
    private let isRow: Bool

    package init(calendar: CalendarExpression, span: TimeSpan) {
        self.calendar = calendar
        self.span = span
        isRow = calendar.isRow(within: span)
    }

    /// Shorter windows are never met, and longer ones are no windows.
    package static let spans = TimeSpan.milliseconds(1)...TimeSpan.seconds(31_557_600)

    package var description: String { "\(calendar) for \(span)" }

    /// Until when it is open without a pause, as far as the elapses of a day tell; `nil`: it is not open at that
    /// instant. Wall clock, microseconds.
    ///
    /// - Parameter rules: of the zone of its calendar.
    package func end(at instant: Int64, in rules: TimeZoneRules) -> Int64? {
        let span = Int64(clamping: span.microseconds)
        let begun = calendar.newestElapses(after: instant - span, through: instant, limit: 1, in: rules)
        return begun.instants.last.map { (isRow ? calendar.endOfRow(after: $0, in: rules) : $0) + span }
    }
}

/// `NotDuring=`, `HoldDuring=`, `HoldUntil=`, of a handler or of everything that a source starts.
package struct CalendarWindows: Hashable, Sendable {
    /// Events in these windows are skipped.
    package var notDuring: [CalendarWindow] = []
    /// Events in these windows wait until the window is over.
    package var holdDuring: [CalendarWindow] = []
    /// Events wait until all of these hold.
    package var holdUntil: [HoldCondition] = []

    package init(
        notDuring: [CalendarWindow] = [], holdDuring: [CalendarWindow] = [], holdUntil: [HoldCondition] = []
    ) {
        self.notDuring = notDuring
        self.holdDuring = holdDuring
        self.holdUntil = holdUntil
    }

    package var isEmpty: Bool { notDuring.isEmpty && holdDuring.isEmpty && holdUntil.isEmpty }
}
