extension CalendarExpression {
    /// The knowledge of time zones that reading an expression takes.
    package struct ZoneNames: Sendable {
        /// `tzname[0]` and `tzname[1]` of the local zone; in that order they are tried.
        package var standardAbbreviation: String
        package var daylightAbbreviation: String
        /// Whether the time-zone database has a zone of that name.
        package var isKnown: @Sendable (String) -> Bool

        package init(local: TimeZoneRules, isKnown: @escaping @Sendable (String) -> Bool) {
            standardAbbreviation = local.standardAbbreviation
            daylightAbbreviation = local.daylightAbbreviation
            self.isKnown = isKnown
        }
    }

    /// Why a text is not a calendar expression, and which part of it.
    package struct ParseError: Error, Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case empty
            /// Neither a weekday, nor a shorthand, nor the beginning of a date or time.
            case unknownWord
            /// There is no such zone in the time-zone database.
            case unknownZone
            /// `Fri..Mon`: it runs from Monday to Sunday.
            case backwardsWeekdays
            /// A weekday was expected here.
            case notAWeekday
            /// A number or `*` was expected here.
            case notANumber
            /// `2026`, `7`: neither a date nor a time.
            case incomplete
            /// The rest of the text belongs to nothing.
            case unexpected
            /// A number that the field does not have.
            case outOfRange(Field)
            /// More than 2 147 483 647, in microseconds where it is of seconds.
            case tooLarge
            /// `5..3`.
            case backwardsRange
            /// `/0`.
            case stepIsZero
            /// After it the field has ended: it would never repeat.
            case stepTooLarge(Field)
            /// In a list of days counted from the end of the month, the later ones have narrower bounds: this last day.
            case tooFarFromEnd(Int)
            /// More than `mostElements` in one field.
            case tooManyElements
        }

        package enum Field: Hashable, Sendable {
            case year, month, day, dayFromEnd, hour, minute, second
        }

        package var reason: Reason
        /// Bytes of the text, counted from 0; empty at its end.
        package var range: Range<Int>

        package init(_ reason: Reason, _ range: Range<Int>) {
            self.reason = reason
            self.range = range
        }
    }

    /// Reads an expression as `systemd.time(7)` has it. Expressions that systemd 252 accepts are accepted, those it
    /// refuses are refused.
    package init(parsing text: some StringProtocol, zones: ZoneNames) throws(ParseError) {
        var parser = CalendarParser(bytes: Array(text.utf8))
        self = try parser.parse(zones)
    }
}

extension CalendarExpression.ParseError: CustomStringConvertible {
    /// A sentence for a person, without its full stop.
    package var description: String {
        switch reason {
        case .empty: "a calendar expression is missing, such as “Mon..Fri 02:30” or “daily”"
        case .unknownWord: "this is no weekday, date, time or shorthand such as “daily”"
        case .unknownZone: "there is no time zone of this name"
        case .backwardsWeekdays: "a range of weekdays goes from Monday towards Sunday"
        case .notAWeekday: "a weekday was expected here, such as “Mon” or “Monday”"
        case .notANumber: "a number or “*” was expected here"
        case .incomplete: "a date has two or three parts (“*-12-24”), a time two or three (“02:30”)"
        case .unexpected: "nothing of the kind can stand here"
        case .outOfRange(let field): "\(field.name) is \(field.bounds)"
        case .tooLarge: "this number is too large for any field"
        case .backwardsRange: "a range goes from the smaller number to the larger one"
        case .stepIsZero: "a repetition needs a step above 0"
        case .stepTooLarge(let field): "with this step it would never repeat: \(field.name) is \(field.bounds)"
        case .tooFarFromEnd(let last):
            "in this place of a list, a day counted from the end of the month is 1 to \(last)"
        case .tooManyElements: "there are too many elements in this list"
        }
    }
}

extension CalendarExpression.ParseError.Field {
    var bounds: String {
        switch self {
        case .year: "1970 to 2199"
        case .month: "1 to 12"
        case .day: "1 to 31"
        case .dayFromEnd: "1 to 28"
        case .hour: "0 to 23"
        case .minute: "0 to 59"
        case .second: "0 to 59.999999"
        }
    }

    var name: String {
        switch self {
        case .year: "a year"
        case .month: "a month"
        case .day: "a day"
        case .dayFromEnd: "a day counted from the end of the month"
        case .hour: "an hour"
        case .minute: "a minute"
        case .second: "a second"
        }
    }

    /// In microseconds for seconds.
    var values: ClosedRange<Int> {
        switch self {
        case .year: 1970...2199
        case .month: 1...12
        case .day: 1...31
        case .dayFromEnd: 1...28
        case .hour: 0...23
        case .minute: 0...59
        case .second: 0...59_999_999
        }
    }
}
