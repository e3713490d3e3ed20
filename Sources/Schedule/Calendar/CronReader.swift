/// Reads the five fields of crontab(5).
struct CronReader {
    typealias ParseError = CronExpression.ParseError

    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Where the words are; blanks and tabs are between them.
    var words: [Range<Int>] {
        var words: [Range<Int>] = []
        var start: Int?
        for index in 0...bytes.count {
            let isBlank = index == bytes.count || bytes[index] == 0x20 || bytes[index] == 0x09
            if isBlank, let first = start { words.append(first..<index) }
            start = isBlank ? nil : start ?? index
        }
        return words
    }

    func read() throws(ParseError) -> CronFields {
        let words = words
        guard let first = words.first else { throw ParseError(.empty, bytes.count..<bytes.count) }
        if bytes[first.lowerBound] == UInt8(ascii: "@") {
            if words.count > 1 { throw ParseError(.tooManyFields, words[1].lowerBound..<bytes.count) }
            return try shorthand(first)
        }
        let kinds = ParseError.Field.allCases
        if words.count > kinds.count {
            throw ParseError(.tooManyFields, words[kinds.count].lowerBound..<words[words.count - 1].upperBound)
        }
        if words.count < kinds.count { throw ParseError(.missingFields(words.count), bytes.count..<bytes.count) }
        var fields = CronFields()
        fields.minutes = try list(words[0], .minute)
        fields.hours = try list(words[1], .hour)
        fields.days = try list(words[2], .day)
        fields.months = try list(words[3], .month)
        fields.weekdays = Self.weekdays(try list(words[4], .weekday))
        fields.daysBeginWithStar = bytes[words[2].lowerBound] == UInt8(ascii: "*")
        fields.weekdaysBeginWithStar = bytes[words[4].lowerBound] == UInt8(ascii: "*")
        return fields
    }

    private func shorthand(_ word: Range<Int>) throws(ParseError) -> CronFields {
        let zero = [CalendarComponent(0)]
        let one = [CalendarComponent(1)]
        switch String(decoding: bytes[word], as: UTF8.self).lowercased() {
        case "@hourly": return CronFields(minutes: zero)
        case "@daily", "@midnight": return CronFields(minutes: zero, hours: zero)
        case "@weekly": return CronFields(minutes: zero, hours: zero, weekdays: 1 << 6)
        case "@monthly": return CronFields(minutes: zero, hours: zero, days: one)
        case "@yearly", "@annually": return CronFields(minutes: zero, hours: zero, days: one, months: one)
        case "@reboot": throw ParseError(.reboot, word)
        default: throw ParseError(.unknownShorthand, word)
        }
    }

    /// Empty: all values.
    private func list(_ word: Range<Int>, _ field: ParseError.Field) throws(ParseError) -> [CalendarComponent] {
        var components: [CalendarComponent] = []
        var start = word.lowerBound
        while true {
            let end = bytes[start..<word.upperBound].firstIndex(of: UInt8(ascii: ",")) ?? word.upperBound
            guard components.count < CalendarExpression.mostElements else {
                throw ParseError(.tooManyElements, start..<word.upperBound)
            }
            components.append(try element(start..<end, field))
            if end == word.upperBound { break }
            start = end + 1
        }
        let isAll = field != .weekday && components.contains(CalendarComponent(field.values))
        return isAll ? [] : components
    }

    private func element(_ range: Range<Int>, _ field: ParseError.Field) throws(ParseError) -> CalendarComponent {
        let slash = bytes[range].firstIndex(of: UInt8(ascii: "/"))
        let values = range.lowerBound..<(slash ?? range.upperBound)
        var component: CalendarComponent
        if values.count == 1, bytes[values.lowerBound] == UInt8(ascii: "*") {
            component = CalendarComponent(field.values)
        } else if let dash = bytes[values].firstIndex(of: UInt8(ascii: "-")) {
            let first = try value(values.lowerBound..<dash, field)
            var last = try value(dash + 1..<values.upperBound, field)
            // At its end a week has a Sunday too.
            if field == .weekday, last == 0, first > 0 { last = 7 }
            guard first <= last else { throw ParseError(.backwardsRange, values) }
            component = CalendarComponent(first...last)
        } else {
            component = CalendarComponent(try value(values, field))
            if slash != nil { throw ParseError(.stepWithoutRange, range) }
        }
        if let slash {
            component.step = try number(slash + 1..<range.upperBound, field)
            if component.step == 0 { throw ParseError(.stepIsZero, slash..<range.upperBound) }
        }
        return component
    }

    private func value(_ range: Range<Int>, _ field: ParseError.Field) throws(ParseError) -> Int {
        if let name = field.names.firstIndex(where: { bytes[range].equalsIgnoringCase($0) }) {
            return name + field.values.lowerBound
        }
        let value = try number(range, field)
        guard field.values.contains(value) else { throw ParseError(.outOfRange(field), range) }
        return value
    }

    /// At most 9999; what is larger is too large everywhere.
    private func number(_ range: Range<Int>, _ field: ParseError.Field) throws(ParseError) -> Int {
        var value = 0
        for byte in bytes[range] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                throw ParseError(.notAValue(field), range)
            }
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 9999)
        }
        if range.isEmpty { throw ParseError(.notAValue(field), range) }
        return value
    }

    private static func weekdays(_ components: [CalendarComponent]) -> UInt8 {
        components.reduce(0) { bits, component in
            let last = component.step > 0 ? component.stop ?? component.start : component.start
            return stride(from: component.start, through: last, by: max(component.step, 1))
                .reduce(bits) { $0 | 1 << UInt8(($1 + 6) % 7) }
        }
    }
}

extension CalendarComponent {
    fileprivate init(_ values: ClosedRange<Int>) {
        self.init(values.lowerBound, through: values.upperBound, step: 1)
    }
}
