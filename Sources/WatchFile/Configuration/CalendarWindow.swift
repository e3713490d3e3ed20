package import Schedule

/// `CALENDAR for SPAN`: from each elapse on for so long. Windows may overlap.
package struct CalendarWindow: Hashable, Sendable, CustomStringConvertible {
    package var calendar: CalendarExpression
    /// From `spans.lowerBound` to `spans.upperBound`.
    package var span: TimeSpan

    package init(calendar: CalendarExpression, span: TimeSpan) {
        self.calendar = calendar
        self.span = span
    }

    /// What is shorter is never met, and what is longer is no window.
    package static let spans = TimeSpan.milliseconds(1)...TimeSpan.seconds(31_557_600)

    package var description: String { "\(calendar) for \(span)" }
}

/// `NotDuring=`, `HoldDuring=`, of a handler or of everything that a source starts.
package struct CalendarWindows: Hashable, Sendable {
    /// What comes then is skipped.
    package var notDuring: [CalendarWindow] = []
    /// What comes then waits until it is over.
    package var holdDuring: [CalendarWindow] = []

    package init(notDuring: [CalendarWindow] = [], holdDuring: [CalendarWindow] = []) {
        self.notDuring = notDuring
        self.holdDuring = holdDuring
    }

    package var isEmpty: Bool { notDuring.isEmpty && holdDuring.isEmpty }
}
