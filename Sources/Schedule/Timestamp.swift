/// An instant of the wall clock, written as RFC 3339 in UTC: `2026-11-20T18:04:05.123456Z`.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Since 1970-01-01T00:00:00Z, without leap seconds.
    package var microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// The first instant of 1970 and the last of 9999: what can be written.
    package static let earliest = Timestamp(microseconds: 0)
    package static let latest = Timestamp(microseconds: 253_402_300_799_999_999)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }
}

extension Timestamp: CustomStringConvertible {
    /// Always with six digits of fraction; an instant outside of `earliest...latest` is written as the nearer of the
    /// two.
    package var description: String {
        let instant = min(max(self, .earliest), .latest).microseconds
        let (seconds, fraction) = instant.quotientAndRemainder(dividingBy: 1_000_000)
        let (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSinceEpoch: Int(days))
        // In one piece: every event is told with its time.
        return String(unsafeUninitializedCapacity: 27) { buffer in
            var end = 0
            func put(_ number: Int, _ width: Int, then separator: Unicode.Scalar) {
                var rest = number
                for position in (end..<end + width).reversed() {
                    buffer[position] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                buffer[end + width] = UInt8(ascii: separator)
                end += width + 1
            }
            put(date.year, 4, then: "-")
            put(date.month, 2, then: "-")
            put(date.day, 2, then: "T")
            put(Int(second) / 3600, 2, then: ":")
            put(Int(second) / 60 % 60, 2, then: ":")
            put(Int(second) % 60, 2, then: ".")
            put(Int(fraction), 6, then: "Z")
            return end
        }
    }
}

extension Timestamp {
    /// Why a text is not a timestamp.
    package enum ParseError: Error, Hashable, Sendable {
        /// Not `YYYY-MM-DDTHH:MM:SS[.FRACTION](Z|+HH:MM|-HH:MM)`; the byte, counted from 0, where it goes wrong.
        case malformed(offset: Int)
        /// No such day or time of day, such as 02-30 or 24:00.
        case noSuchTime
        /// Before 1970 or after 9999.
        case outOfRange
    }

    /// Reads `2026-11-20T18:04:05Z` with any number of fraction digits (those below the microsecond are cut off), or
    /// with an offset such as `+02:00` in place of the `Z`.
    package init(parsing text: some StringProtocol) throws(ParseError) {
        var reader = Reader(bytes: Array(text.utf8))
        let date = CivilDate(
            year: try reader.number(4), month: try reader.number(2, after: "-"), day: try reader.number(2, after: "-"))
        let hour = try reader.number(2, after: "T")
        let minute = try reader.number(2, after: ":")
        let second = try reader.number(2, after: ":")
        let fraction = try reader.fraction()
        let offset = try reader.offset()
        guard date.isValid, hour < 24, minute < 60, second < 60 else { throw .noSuchTime }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
        let instant = Timestamp(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
        guard (.earliest ... .latest).contains(instant) else { throw .outOfRange }
        self = instant
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func number(_ width: Int, after separator: Unicode.Scalar? = nil) throws(ParseError) -> Int {
            if let separator { try expect(separator) }
            var value = 0
            for _ in 0..<width {
                guard let digit = digit() else { throw .malformed(offset: position) }
                value = value * 10 + digit
            }
            return value
        }

        /// In microseconds.
        mutating func fraction() throws(ParseError) -> Int {
            guard take(".") else { return 0 }
            guard var value = digit() else { throw .malformed(offset: position) }
            value *= 100_000
            var unit = 10_000
            while let digit = digit() {
                value += digit * unit
                unit /= 10
            }
            return value
        }

        /// East of UTC, in minutes; the end of the text.
        mutating func offset() throws(ParseError) -> Int {
            var minutes = 0
            if !take("Z") {
                let isWest = take("-")
                if !isWest { try expect("+") }
                let hours = try number(2)
                minutes = try number(2, after: ":")
                guard hours < 24, minutes < 60 else { throw .noSuchTime }
                minutes = (hours * 60 + minutes) * (isWest ? -1 : 1)
            }
            guard position == bytes.count else { throw .malformed(offset: position) }
            return minutes
        }

        private mutating func digit() -> Int? {
            guard position < bytes.count else { return nil }
            let value = Int(bytes[position]) - Int(UInt8(ascii: "0"))
            guard (0...9).contains(value) else { return nil }
            position += 1
            return value
        }

        private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
            position += 1
            return true
        }

        private mutating func expect(_ scalar: Unicode.Scalar) throws(ParseError) {
            guard take(scalar) else { throw .malformed(offset: position) }
        }
    }
}
