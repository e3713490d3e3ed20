extension TimeSpan {
    /// Why a text is not a time span, and which part of it.
    package struct ParseError: Error, Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            /// Nothing but white space.
            case empty
            /// A number was expected here.
            case notANumber
            /// `5.` and the like.
            case missingFraction
            /// A number is followed by something that is no unit.
            case unknownUnit
            case negative
            case tooLarge
            /// `infinity` stands alone or not at all.
            case notAlone
        }

        package var reason: Reason
        /// Bytes of the text, counted from 0; empty at its end.
        package var range: Range<Int>

        package init(_ reason: Reason, _ range: Range<Int>) {
            self.reason = reason
            self.range = range
        }
    }

    /// Reads a span as `systemd.time(7)` has it: numbers with units, added up (`1h 30min`, `2.5s`, `90`, `infinity`).
    ///
    /// A number without a unit means seconds; fractions are cut off at the microsecond. Spans that systemd 252 accepts
    /// are accepted, those it refuses are refused.
    package init(parsing text: some StringProtocol) throws(ParseError) {
        var parser = TimeSpanParser(bytes: Array(text.utf8))
        self = try parser.parse()
    }
}

extension TimeSpan.ParseError: CustomStringConvertible {
    /// A sentence for a person, without its full stop.
    package var description: String {
        switch reason {
        case .empty: "a time span is missing, such as “1h 30min”"
        case .notANumber: "a number was expected here"
        case .missingFraction: "digits were expected after the point"
        case .unknownUnit: "there is no such unit; there are us, ms, s, min, h, d, w, month and y"
        case .negative: "a time span is not negative"
        case .tooLarge: "this is longer than a time span can be"
        case .notAlone: "“infinity” stands alone"
        }
    }
}

/// Follows `parse_time()` of systemd's `time-util.c`, step by step where its behaviour is peculiar.
private struct TimeSpanParser {
    let bytes: [UInt8]
    var position = 0
    var total: UInt64 = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() throws(TimeSpan.ParseError) -> TimeSpan {
        skipWhiteSpace()
        if position == bytes.count { throw error(.empty) }
        if hasPrefix(Self.infinity) {
            position += Self.infinity.count
            skipWhiteSpace()
            guard position == bytes.count else { throw error(.notAlone) }
            return .infinity
        }
        repeat {
            try parseTerm()
            skipWhiteSpace()
        } while position < bytes.count
        return TimeSpan(microseconds: total)
    }

    private mutating func parseTerm() throws(TimeSpan.ParseError) {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { throw error(.negative) }
        let whole = try parseWhole()
        var fraction: Range<Int>?
        if peek == UInt8(ascii: ".") {
            position += 1
            let first = position
            skipDigits()
            if position == first { throw error(.missingFraction) }
            fraction = first..<position
        } else if whole == nil {
            throw error(.notANumber)
        }
        let unit = try parseUnit()
        try add(whole ?? 0, times: unit, from: start)
        // Digit by digit, as systemd does it: the tenth of a unit is cut off each time.
        var tenth = unit / 10
        for digit in bytes[fraction ?? 0..<0] {
            try add(UInt64(digit - UInt8(ascii: "0")), times: tenth, from: start)
            tenth /= 10
        }
    }

    /// The digits before the point; `nil` where there are none (`.5`).
    private mutating func parseWhole() throws(TimeSpan.ParseError) -> UInt64? {
        let start = position
        if peek == UInt8(ascii: "+") { position += 1 }
        let first = position
        skipDigits()
        if position == first {
            position = start
            return nil
        }
        // strtoll() bounds it by the signed maximum.
        guard let value = Int64(String(decoding: bytes[first..<position], as: UTF8.self)) else {
            throw TimeSpan.ParseError(.tooLarge, start..<position)
        }
        return UInt64(value)
    }

    /// The unit's microseconds. `5 5` is two terms, but `5.5.5` is none.
    private mutating func parseUnit() throws(TimeSpan.ParseError) -> UInt64 {
        let end = position
        skipWhiteSpace()
        for unit in Self.units where hasPrefix(unit.name) {
            position += unit.name.count
            return unit.microseconds
        }
        if position == end, position < bytes.count { throw error(.unknownUnit) }
        return TimeSpan.Unit.second
    }

    private mutating func add(_ count: UInt64, times unit: UInt64, from start: Int) throws(TimeSpan.ParseError) {
        let tooLarge = TimeSpan.ParseError(.tooLarge, start..<position)
        if unit > 0, count >= UInt64.max / unit { throw tooLarge }
        let product = count * unit
        if product >= UInt64.max - total { throw tooLarge }
        total += product
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhiteSpace() {
        while let byte = peek, byte == 0x20 || (0x09...0x0d).contains(byte) { position += 1 }
    }

    private mutating func skipDigits() {
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    }

    private func hasPrefix(_ prefix: [UInt8]) -> Bool { bytes[position...].starts(with: prefix) }

    private func error(_ reason: TimeSpan.ParseError.Reason) -> TimeSpan.ParseError {
        TimeSpan.ParseError(reason, position..<bytes.count)
    }

    private static let infinity = Array("infinity".utf8)

    /// Where one name begins another, the longer comes first.
    private static let units: [(name: [UInt8], microseconds: UInt64)] = [
        ("seconds", TimeSpan.Unit.second), ("second", TimeSpan.Unit.second), ("sec", TimeSpan.Unit.second),
        ("s", TimeSpan.Unit.second), ("minutes", TimeSpan.Unit.minute), ("minute", TimeSpan.Unit.minute),
        ("min", TimeSpan.Unit.minute), ("months", TimeSpan.Unit.month), ("month", TimeSpan.Unit.month),
        ("M", TimeSpan.Unit.month), ("msec", TimeSpan.Unit.millisecond), ("ms", TimeSpan.Unit.millisecond),
        ("m", TimeSpan.Unit.minute), ("hours", TimeSpan.Unit.hour), ("hour", TimeSpan.Unit.hour),
        ("hr", TimeSpan.Unit.hour), ("h", TimeSpan.Unit.hour), ("days", TimeSpan.Unit.day),
        ("day", TimeSpan.Unit.day), ("d", TimeSpan.Unit.day), ("weeks", TimeSpan.Unit.week),
        ("week", TimeSpan.Unit.week), ("w", TimeSpan.Unit.week), ("years", TimeSpan.Unit.year),
        ("year", TimeSpan.Unit.year), ("y", TimeSpan.Unit.year), ("usec", 1), ("us", 1),
        // Both signs: U+03BC, the Greek letter, and U+00B5, the micro sign.
        ("\u{3bc}s", 1), ("\u{b5}s", 1),
    ].map { (Array($0.0.utf8), $0.1) }
}
