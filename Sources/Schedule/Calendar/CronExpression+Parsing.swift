extension CronExpression {
    /// Why a text is not a line of five fields, and which part of it.
    package struct ParseError: Error, Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case empty
            /// There are fewer than five fields.
            case missingFields(Int)
            /// More than five: a command, a user, or seconds, which have no place here.
            case tooManyFields
            /// `@reboot`: when the machine or the daemon starts is no matter of the calendar.
            case reboot
            /// An `@` that nobody knows.
            case unknownShorthand
            /// A number, a name or `*` was expected here.
            case notAValue(Field)
            case outOfRange(Field)
            /// `5-3`.
            case backwardsRange
            /// Only `*` and ranges have one: not `5/15`.
            case stepWithoutRange
            case stepIsZero
            /// More than `CalendarExpression.mostElements` in one field.
            case tooManyElements
        }

        package enum Field: Hashable, Sendable, CaseIterable {
            case minute, hour, day, month, weekday
        }

        package var reason: Reason
        /// Bytes of the text, counted from 0; empty at its end.
        package var range: Range<Int>

        package init(_ reason: Reason, _ range: Range<Int>) {
            self.reason = reason
            self.range = range
        }
    }

    /// Reads `MINUTE HOUR DAY MONTH WEEKDAY` or a shorthand as crontab(5) has them, names in any case.
    package init(parsing text: some StringProtocol) throws(ParseError) {
        let reader = CronReader(bytes: Array(text.utf8))
        let words = reader.words
        self.init(
            try reader.read(),
            description: words.map { String(decoding: reader.bytes[$0], as: UTF8.self) }.joined(separator: " "))
    }
}

extension CronExpression.ParseError: CustomStringConvertible {
    /// A sentence for a person, without its full stop.
    package var description: String {
        switch reason {
        case .empty: "five fields are missing here, such as “30 2 * * 1-5”: minute, hour, day, month, weekday"
        case .missingFields(let count):
            "there are only \(count) of five fields: minute, hour, day, month, weekday"
        case .tooManyFields: "there are only five fields: minute, hour, day, month, weekday"
        case .reboot: "this is not a time; OnStartupSec=0 or OnBootSec= runs something after a start"
        case .unknownShorthand: "there are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
        case .notAValue(let field): "\(field.phrase) was expected here: \(field.bounds), “*”, a range or a list of them"
        case .outOfRange(let field): "\(field.phrase) is \(field.bounds)"
        case .backwardsRange: "a range goes from the smaller number to the larger one"
        case .stepWithoutRange: "a step needs a range before it, or “*”: “5-59/15”, “*/15”"
        case .stepIsZero: "a repetition needs a step above 0"
        case .tooManyElements: "a list has at most \(CalendarExpression.mostElements) elements"
        }
    }
}

extension CronExpression.ParseError.Field {
    var values: ClosedRange<Int> {
        switch self {
        case .minute: 0...59
        case .hour: 0...23
        case .day: 1...31
        case .month: 1...12
        case .weekday: 0...7
        }
    }

    /// The first is the least value.
    var names: [String] {
        switch self {
        case .minute, .hour, .day: []
        case .month: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        }
    }

    fileprivate var phrase: String {
        switch self {
        case .minute: "a minute"
        case .hour: "an hour"
        case .day: "a day of the month"
        case .month: "a month"
        case .weekday: "a day of the week"
        }
    }

    fileprivate var bounds: String {
        switch self {
        case .minute, .hour, .day: "\(values.lowerBound) to \(values.upperBound)"
        case .month: "1 to 12 or “jan” to “dec”"
        case .weekday: "0 to 7 (0 and 7 are Sunday) or “sun” to “sat”"
        }
    }
}
