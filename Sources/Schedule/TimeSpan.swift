/// A length of time: whole microseconds, or `.infinity`.
package struct TimeSpan: Hashable, Comparable, Sendable {
    /// `UInt64.max` is infinity, as in systemd's `usec_t`.
    package var microseconds: UInt64

    package init(microseconds: UInt64) { self.microseconds = microseconds }

    package static let zero = TimeSpan(microseconds: 0)
    package static let infinity = TimeSpan(microseconds: .max)

    /// Infinity where the microseconds do not fit.
    package static func seconds(_ count: UInt64) -> TimeSpan { of(count, each: 1_000_000) }

    /// Infinity where the microseconds do not fit.
    package static func milliseconds(_ count: UInt64) -> TimeSpan { of(count, each: 1000) }

    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.microseconds < right.microseconds }

    private static func of(_ count: UInt64, each unit: UInt64) -> TimeSpan {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        return overflow ? .infinity : TimeSpan(microseconds: product)
    }
}

extension TimeSpan: CustomStringConvertible {
    /// The span in the units people use, largest first, exact to the microsecond: `1h 30min`, `2.500ms`, `infinity`.
    ///
    /// The same text as `systemd-analyze timespan` prints; read again, it gives the same span.
    package var description: String {
        if self == .infinity { return "infinity" }
        if self == .zero { return "0" }
        var words: [String] = []
        var rest = microseconds
        for unit in Self.humanUnits where rest >= unit.microseconds {
            let (count, remainder) = rest.quotientAndRemainder(dividingBy: unit.microseconds)
            if rest < 60_000_000, remainder > 0 {
                // Below a minute what is left becomes a fraction; the units there are powers of ten.
                let digits = String(unit.microseconds + remainder).dropFirst()
                words.append("\(count).\(digits)\(unit.name)")
                break
            }
            words.append("\(count)\(unit.name)")
            rest = remainder
        }
        return words.joined(separator: " ")
    }

    /// As `description`, and a fraction without the zeros at its end: `2.5ms`.
    package var brief: String {
        let text = description
        guard let point = text.firstIndex(of: "."), let unit = text[point...].firstIndex(where: \.isLetter) else {
            return text
        }
        let digits = text[text.index(after: point)..<unit]
        let kept = digits.lastIndex { $0 != "0" }.map { "." + digits[...$0] } ?? ""
        return text[..<point] + kept + text[unit...]
    }

    private static let humanUnits: [(name: String, microseconds: UInt64)] = [
        ("y", Unit.year), ("month", Unit.month), ("w", Unit.week), ("d", Unit.day), ("h", Unit.hour),
        ("min", Unit.minute), ("s", Unit.second), ("ms", Unit.millisecond), ("us", 1),
    ]

    /// The units of `systemd.time(7)` in microseconds; a month is 30.4375 days, a year 365.25.
    enum Unit {
        static let millisecond: UInt64 = 1000
        static let second = 1000 * millisecond
        static let minute = 60 * second
        static let hour = 60 * minute
        static let day = 24 * hour
        static let week = 7 * day
        static let month = 2_629_800 * second
        static let year = 31_557_600 * second
    }
}
