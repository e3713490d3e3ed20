// When something is due by the calendar: `OnCalendar=`, in the language of systemd.time(7).
//
// The accepted expressions, the refused ones and the normal form are those of systemd 252 (`calendarspec.c`). An
// expression knows the name of its zone only; its rules are given to it when it is asked for an instant, so that a
// change of the zone needs no new expression.

/// An expression such as `Mon..Fri *-*-* 02:30:00 Europe/Berlin`.
package struct CalendarExpression: Hashable, Sendable {
    /// The clock that is meant.
    package enum Zone: Hashable, Sendable {
        /// That of the machine, or of whoever asks.
        case local
        case utc
        /// `Europe/Berlin`: a name of the time-zone database.
        case named(String)
        /// One of the two abbreviations of the local zone: while that one is in effect, as systemd has it.
        case abbreviation(String, isDaylightSaving: Bool)
    }

    /// Elements of one field; more are refused.
    package static let mostElements = 241

    package let zone: Zone
    /// Bit 0 is Monday.
    let weekdays: UInt8
    /// Empty means all, here and below; in the normal form.
    let years: [CalendarComponent]
    let months: [CalendarComponent]
    let days: [CalendarComponent]
    let isFromEndOfMonth: Bool
    let hours: [CalendarComponent]
    let minutes: [CalendarComponent]
    /// In microseconds; never empty.
    let seconds: [CalendarComponent]

    let pattern: CivilPattern
    /// Its hours or minutes go on and on (`*`, `0/15`, `8..17`): where the clocks are set back, it is due in both
    /// passes.
    let isRepeating: Bool

    init(_ fields: CalendarFields, zone: Zone) {
        self.zone = zone
        weekdays = fields.weekdays == 0 ? 0x7F : fields.weekdays
        years = fields.years.normalized
        months = fields.months.normalized
        days = fields.days.normalized
        isFromEndOfMonth = fields.isFromEndOfMonth && !days.isEmpty
        hours = fields.hours.normalized
        minutes = fields.minutes.normalized
        seconds = fields.seconds.normalized
        pattern = CivilPattern(
            years: years, months: months, days: days, fromEndOfMonth: isFromEndOfMonth, weekdays: weekdays,
            hours: hours, minutes: minutes, seconds: seconds)
        isRepeating = [hours, minutes].contains { $0.isEmpty || $0.contains { $0.step > 0 } }
    }
}

/// The fields as they are read.
struct CalendarFields {
    var weekdays: UInt8 = 0
    var years: [CalendarComponent] = []
    var months: [CalendarComponent] = []
    var days: [CalendarComponent] = []
    var isFromEndOfMonth = false
    var hours: [CalendarComponent] = []
    var minutes: [CalendarComponent] = []
    var seconds: [CalendarComponent] = [CalendarComponent(0)]
}

extension CalendarExpression: CustomStringConvertible {
    /// The normal form, as `systemd-analyze calendar` prints it; read again, it is the same expression.
    package var description: String {
        let date =
            "\(Self.text(years, width: 4))-\(Self.text(months))\(isFromEndOfMonth ? "~" : "-")\(Self.text(days))"
        let time = "\(Self.text(hours)):\(Self.text(minutes)):\(secondsText)"
        let zone: String? =
            switch self.zone {
            case .local: nil
            case .utc: "UTC"
            case .named(let name): name
            case .abbreviation(let name, _): name
            }
        return [weekdays == 0x7F ? nil : weekdaysText, date, time, zone].compactMap { $0 }.joined(separator: " ")
    }

    /// `Mon..Wed,Sat,Sun`.
    private var weekdaysText: String {
        var runs: [ClosedRange<Int>] = []
        for day in 0..<7 where weekdays & 1 << UInt8(day) != 0 {
            if let last = runs.last, last.upperBound == day - 1 {
                runs[runs.endIndex - 1] = last.lowerBound...day
            } else {
                runs.append(day...day)
            }
        }
        return runs.map { run in
            let (first, last) = (Self.weekdayNames[run.lowerBound], Self.weekdayNames[run.upperBound])
            return run.count == 1 ? first : first + (run.count == 2 ? "," : "..") + last
        }.joined(separator: ",")
    }

    private static func text(_ components: [CalendarComponent], width: Int = 2) -> String {
        if components.isEmpty { return "*" }
        return components.map { component in
            padded(component.start, width) + (component.stop.map { ".." + padded($0, width) } ?? "")
                + (component.step > 0 && !(component.stop != nil && component.step == 1) ? "/\(component.step)" : "")
        }.joined(separator: ",")
    }

    private var secondsText: String {
        let second = 1_000_000
        if seconds == [CalendarComponent(0, step: second)] { return "*" }
        func text(_ microseconds: Int, width: Int) -> String {
            let (whole, fraction) = microseconds.quotientAndRemainder(dividingBy: second)
            return Self.padded(whole, width) + (fraction > 0 ? "." + Self.padded(fraction, 6) : "")
        }
        return seconds.map { component in
            text(component.start, width: 2) + (component.stop.map { ".." + text($0, width: 2) } ?? "")
                + (component.step > 0 && !(component.stop != nil && component.step == second)
                    ? "/" + text(component.step, width: 1) : "")
        }.joined(separator: ",")
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static let weekdayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
}
