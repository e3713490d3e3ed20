extension TimeZoneRules {
    /// Reads a POSIX TZ string: `CET-1CEST,M3.5.0,M10.5.0/3`, `<-03>3`.
    ///
    /// Daylight-saving time without a rule is that of the United States today; glibc has its history too.
    package init(posix text: some StringProtocol) throws(TimeZoneError) {
        let rule = try PosixTimeZone(parsing: Array(text.utf8))
        var types = [rule.standard]
        _ = rule.changes(after: nil, types: &types)
        self.init(types: types, initial: 0, recorded: [], rule: rule)
    }
}

extension PosixTimeZone {
    /// Bytes of a rule.
    static let longest = 512

    init(parsing bytes: [UInt8]) throws(TimeZoneError) {
        guard bytes.count <= Self.longest else { throw .badRule }
        var reader = PosixTimeZoneReader(bytes: bytes)
        guard let rule = reader.read() else { throw .badRule }
        self = rule
    }
}

/// Every step is `nil` where the text is not as it should be.
private struct PosixTimeZoneReader {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func read() -> PosixTimeZone? {
        guard let name = name(), let west = time(hours: 24) else { return nil }
        var rule = PosixTimeZone(
            standard: TimeZoneRules.LocalTimeType(offset: -west, isDaylightSaving: false, abbreviation: name))
        if position == bytes.count { return rule }
        guard let name = self.name() else { return nil }
        var daylight = TimeZoneRules.LocalTimeType(offset: 3600 - west, isDaylightSaving: true, abbreviation: name)
        if position < bytes.count, peek != UInt8(ascii: ",") {
            guard let west = time(hours: 24) else { return nil }
            daylight.offset = -west
        }
        rule.daylight = daylight
        if position == bytes.count { return rule }
        guard take(","), let begin = day(), take(","), let end = day(), position == bytes.count else { return nil }
        (rule.begin, rule.end) = (begin, end)
        return rule
    }

    /// `CET` or `<+03>`, without the brackets.
    private mutating func name() -> String? {
        let isQuoted = take("<")
        let start = position
        while let byte = peek, Self.isLetter(byte) || isQuoted && Self.isSignOrDigit(byte) { position += 1 }
        let name = bytes[start..<position]
        guard name.count >= 3, !isQuoted || take(">") else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// `[+-]hh[:mm[:ss]]`, in seconds.
    private mutating func time(hours limit: Int) -> Int? {
        let isNegative = take("-")
        if !isNegative { _ = take("+") }
        guard let hours = number(), hours <= limit else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where take(":") {
            guard let part = number(), part < 60 else { return nil }
            seconds += part * unit
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func day() -> PosixTimeZone.Day? {
        guard let form = form() else { return nil }
        var day = PosixTimeZone.Day(form: form, time: 7200)
        if take("/") {
            guard let time = time(hours: 167) else { return nil }
            day.time = time
        }
        return day
    }

    private mutating func form() -> PosixTimeZone.Day.Form? {
        if take("J") { return number().flatMap { (1...365).contains($0) ? .julian($0) : nil } }
        guard take("M") else { return number().flatMap { (0...365).contains($0) ? .zeroBased($0) : nil } }
        guard let month = number(), (1...12).contains(month), take("."), let week = number(), (1...5).contains(week),
            take("."), let weekday = number(), (0...6).contains(weekday)
        else { return nil }
        return .month(month, week: week, weekday: weekday)
    }

    /// At most three digits are ever needed.
    private mutating func number() -> Int? {
        let start = position
        var value = 0
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), position - start < 4 {
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            position += 1
        }
        return position > start ? value : nil
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isSignOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }
}
