/// Reads a calendar expression; where its behaviour is peculiar, it is that of `calendar_spec_from_string()` of systemd
/// 252.
struct CalendarParser {
    typealias ParseError = CalendarExpression.ParseError

    /// A chain such as `1,5..7/2`; no elements: `*`.
    struct Chain {
        /// Each with the bytes that it stands in.
        var elements: [(component: CalendarComponent, range: Range<Int>)] = []
        var isSeconds = false
    }

    var bytes: [UInt8]
    var position = 0
    var fields = CalendarFields()

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse(_ zones: CalendarExpression.ZoneNames) throws(ParseError) -> CalendarExpression {
        let zone = takeZone(zones)
        if bytes.isEmpty { throw error(.empty) }
        if let shorthand = CalendarFields.shorthand(bytes) { return CalendarExpression(shorthand, zone: zone) }
        try parseWeekdays()
        if peek() == UInt8(ascii: "@") {
            try parseTimestamp()
            return CalendarExpression(fields, zone: .utc)
        }
        try parseDate()
        try parseTime()
        return CalendarExpression(fields, zone: zone)
    }

    func error(_ reason: ParseError.Reason, _ range: Range<Int>? = nil) -> ParseError {
        ParseError(reason, range ?? position..<bytes.count)
    }

    /// For something that cannot stand here: the word that begins here.
    func unexpected() -> ParseError {
        let blank = UInt8(ascii: " ")
        let start = bytes[position...].firstIndex { $0 != blank } ?? bytes.count
        let end = bytes[start...].firstIndex(of: blank) ?? bytes.count
        guard start < end else { return error(.unexpected) }
        let isLast = end == bytes.count && position < start
        return ParseError(isLast && bytes[start].isLetter ? .unknownZone : .unexpected, start..<end)
    }

    /// A word in the place of a number is most often a zone that does not exist.
    func expectedNumber() -> ParseError {
        let isWord = position > 0 && bytes[position - 1] == UInt8(ascii: " ") && peek()?.isLetter ?? false
        guard isWord else { return error(.notANumber) }
        let end = wordEnd(from: position)
        return error(end == bytes.count ? .unknownZone : .unexpected, position..<end)
    }

    func peek(_ ahead: Int = 0) -> UInt8? {
        position + ahead < bytes.count ? bytes[position + ahead] : nil
    }

    func isAt(_ scalar: Unicode.Scalar, _ ahead: Int = 0) -> Bool { peek(ahead) == UInt8(ascii: scalar) }

    /// Whether one of them is here, or the end.
    func isAtEnd(or scalars: String) -> Bool { peek().map { scalars.utf8.contains($0) } ?? true }

    mutating func skipBlanks() { while isAt(" ") { position += 1 } }
}

// MARK: - Zone

extension CalendarParser {
    /// Cuts the zone off the end.
    mutating func takeZone(_ zones: CalendarExpression.ZoneNames) -> CalendarExpression.Zone {
        if takeLast("UTC") { return .utc }
        let abbreviations = [(zones.standardAbbreviation, false), (zones.daylightAbbreviation, true)]
        for (name, isDaylightSaving) in abbreviations where !name.isEmpty && takeLast(name) {
            return .abbreviation(name, isDaylightSaving: isDaylightSaving)
        }
        guard let blank = bytes.lastIndex(of: UInt8(ascii: " ")),
            let name = String(validating: bytes[(blank + 1)...], as: UTF8.self), !name.isEmpty, zones.isKnown(name)
        else { return .local }
        bytes.removeSubrange(blank...)
        return .named(name)
    }

    /// A last word, whatever its case.
    mutating func takeLast(_ word: String) -> Bool {
        let start = bytes.count - word.utf8.count
        guard start > 0, bytes[start - 1] == UInt8(ascii: " "), bytes[start...].equalsIgnoringCase(word) else {
            return false
        }
        bytes.removeSubrange((start - 1)...)
        return true
    }
}

// MARK: - Weekdays

extension CalendarParser {
    mutating func parseWeekdays() throws(ParseError) {
        /// The first of a range whose last is to come.
        var first: (day: Int, start: Int)?
        var isFirst = true
        while true {
            let start = position
            guard let day = takeWeekday() else {
                if isFirst {
                    try checkBeginning()
                    return
                }
                throw unexpectedWeekday()
            }
            guard isAtEnd(or: " ,-.") else {
                throw error(.notAWeekday, start..<wordEnd(from: start))
            }
            if let (firstDay, firstStart) = first {
                guard firstDay <= day else { throw error(.backwardsWeekdays, firstStart..<position) }
                for between in firstDay...day { fields.weekdays |= 1 << UInt8(between) }
            }
            fields.weekdays |= 1 << UInt8(day)
            if isAtEnd(or: " ") {
                skipBlanks()
                return
            }
            if isAt(",") {
                first = nil
                position += 1
            } else {
                guard first == nil, isAt("-") || isAt(".", 1) else { throw unexpectedWeekday() }
                position += isAt("-") ? 1 : 2
                first = (day, start)
            }
            if isAtEnd(or: " ") {
                guard first == nil else { throw error(.notAWeekday, position..<position) }
                skipBlanks()
                return
            }
            isFirst = false
        }
    }

    mutating func takeWeekday() -> Int? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        for (day, name) in names.enumerated() {
            for length in [name.utf8.count, 3] {
                let word = bytes[position...].prefix(length)
                guard word.equalsIgnoringCase(name.prefix(length)) else { continue }
                position += length
                return day
            }
        }
        return nil
    }

    /// A word that begins with a letter and is no weekday is an error.
    func checkBeginning() throws(ParseError) {
        guard let byte = peek(), byte != UInt8(ascii: "*"), byte != UInt8(ascii: "@"), !byte.isDigit else { return }
        let end = wordEnd(from: 0)
        if end < bytes.count, CalendarFields.shorthand(Array(bytes[..<end])) != nil {
            let last = bytes[(end + 1)...]
            let isName = last.first?.isLetter ?? false && !last.contains(UInt8(ascii: " "))
            throw error(isName ? .unknownZone : .unexpected, end + (isName ? 1 : 0)..<bytes.count)
        }
        throw error(byte == UInt8(ascii: " ") ? .unexpected : .unknownWord, 0..<max(end, 1))
    }

    func unexpectedWeekday() -> ParseError { error(.notAWeekday, position..<wordEnd(from: position)) }

    func wordEnd(from start: Int) -> Int { bytes[start...].firstIndex(of: UInt8(ascii: " ")) ?? bytes.count }
}

// MARK: - Date and time

extension CalendarParser {
    /// `@1763654645`: one instant, in UTC. The number is one of `strtoul(3)`.
    mutating func parseTimestamp() throws(ParseError) {
        let start = position
        position += 1
        while let byte = peek(), byte == 0x20 || (0x09...0x0d).contains(byte) { position += 1 }
        let isNegative = isAt("-")
        if isNegative || isAt("+") { position += 1 }
        let first = position
        while peek()?.isDigit ?? false { position += 1 }
        guard position > first else { throw error(.notANumber) }
        let range = start..<position
        guard position == bytes.count else { throw error(.unexpected) }
        let value = Int(String(decoding: bytes[first..<position], as: UTF8.self))
        guard let value, !isNegative || value == 0, value <= 7_258_118_399 else {
            throw error(.outOfRange(.year), range)
        }
        let date = CivilDate(daysSinceEpoch: value / 86_400)
        fields.years = [CalendarComponent(date.year)]
        fields.months = [CalendarComponent(date.month)]
        fields.days = [CalendarComponent(date.day)]
        fields.hours = [CalendarComponent(value / 3600 % 24)]
        fields.minutes = [CalendarComponent(value / 60 % 60)]
        fields.seconds = [CalendarComponent(value % 60 * 1_000_000)]
    }

    /// The date, if what stands here is one: else the position is as before.
    mutating func parseDate() throws(ParseError) {
        if position == bytes.count { return }
        let start = position
        let first = try parseChain()
        if isAt(":") {
            position = start
            return
        }
        guard isAt("-") || isAt("~") else {
            throw position == bytes.count ? error(.incomplete, start..<position) : unexpected()
        }
        var isFromEnd = isAt("~")
        position += 1
        let second = try parseChain()
        if isAtEnd(or: " ") {
            fields.months = try components(first, .month)
            fields.days = try components(second, isFromEnd ? .dayFromEnd : .day)
        } else {
            guard !isFromEnd, isAt("-") || isAt("~") else { throw unexpected() }
            isFromEnd = isAt("~")
            position += 1
            let third = try parseChain()
            guard isAtEnd(or: " ") else { throw unexpected() }
            fields.years = try components(first, .year)
            fields.months = try components(second, .month)
            fields.days = try components(third, isFromEnd ? .dayFromEnd : .day)
        }
        fields.isFromEndOfMonth = isFromEnd
        skipBlanks()
    }

    /// Without a time it is midnight.
    mutating func parseTime() throws(ParseError) {
        if position == bytes.count {
            (fields.hours, fields.minutes) = ([CalendarComponent(0)], [CalendarComponent(0)])
            return
        }
        let start = position
        let hours = try parseChain()
        guard isAt(":") else { throw position == bytes.count ? error(.incomplete, start..<position) : unexpected() }
        position += 1
        let minutes = try parseChain()
        fields.hours = try components(hours, .hour)
        fields.minutes = try components(minutes, .minute)
        if position == bytes.count { return }
        guard isAt(":") else { throw unexpected() }
        position += 1
        let seconds = try parseChain(isSeconds: true)
        guard position == bytes.count else { throw unexpected() }
        fields.seconds = try components(seconds, .second)
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}

extension Collection<UInt8> {
    /// For ASCII.
    func equalsIgnoringCase(_ text: some StringProtocol) -> Bool {
        func lower(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return elementsEqual(text.utf8) { lower($0) == lower($1) }
    }
}
