import Schedule

extension ValueReader {
    /// The longest span but `infinity`: a hundred years, so that adding one to an instant never overflows.
    static let maximumSpan = TimeSpan.seconds(100 * 31_557_600)

    func flag(_ problems: inout Problems) -> Bool? {
        switch text.string {
        case "yes", "true", "on", "1": return true
        case "no", "false", "off", "0": return false
        default:
            refuse(
                &problems, "is neither yes nor no",
                suggestion: problems.nearest(to: text.string, among: ["yes", "no", "true", "false", "on", "off"]))
            return nil
        }
    }

    func number(in range: ClosedRange<Int>, _ problems: inout Problems) -> Int? {
        guard text.bytes.allSatisfy(\.isDigit) else {
            refuse(&problems, "is not a whole number")
            return nil
        }
        return check(Int(text.string), in: range, &problems)
    }

    /// `nil` in the inner optional: `infinity`.
    func limit(in range: ClosedRange<Int>, _ problems: inout Problems) -> Int?? {
        if text.string == "infinity" { return .some(nil) }
        guard text.bytes.allSatisfy(\.isDigit) else {
            refuse(
                &problems, "is neither a whole number nor infinity",
                suggestion: problems.nearest(to: text.string, among: ["infinity"]))
            return nil
        }
        return check(Int(text.string), in: range, &problems).map { .some($0) }
    }

    func size(in range: ClosedRange<Int>, _ problems: inout Problems) -> Int? {
        let shifts: [UInt8: Int] = [UInt8(ascii: "K"): 10, UInt8(ascii: "M"): 20, UInt8(ascii: "G"): 30]
        let shift = text.bytes.last.flatMap { shifts[$0] }
        let digits = text.bytes.dropLast(shift == nil ? 0 : 1)
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            refuse(&problems, "is not a size: a number of bytes, perhaps with K, M or G behind it")
            return nil
        }
        let product = Int(String(decoding: digits, as: UTF8.self))?.multipliedReportingOverflow(by: 1 << (shift ?? 0))
        return check(product.flatMap { $0.overflow ? nil : $0.partialValue }, in: range, &problems)
    }

    /// Octal digits of permission bits, as chmod(1) has them.
    func mode(_ problems: inout Problems) -> Int? {
        guard (1...4).contains(text.bytes.count), text.bytes.allSatisfy(\.isDigit),
            let mode = Int(text.string, radix: 8), (0...0o777).contains(mode)
        else {
            refuse(&problems, "is not an access mode from 0000 to 0777")
            return nil
        }
        return mode
    }

    func span(_ rule: SpanRule, _ problems: inout Problems) -> TimeSpan? {
        do throws(TimeSpan.ParseError) {
            return check(try TimeSpan(parsing: text.string), rule, &problems)
        } catch {
            let start = text.bytes.startIndex
            let place = start + error.range.lowerBound
            // The parser takes “5 sek” for 5 s and a number that is none.
            let word = text.bytes[..<place].reversed().prefix { !$0.isDigit && !$0.isWhiteSpace }.count
            let isUnit = error.reason == .notANumber && place > start && text.bytes[place...].first?.isLetter ?? false
            let marked = text[(isUnit ? place - word : place)..<start + error.range.upperBound]
            refuseSpan(isUnit ? .unknownUnit : error.reason, at: marked, &problems)
            return nil
        }
    }

    private func refuseSpan(_ reason: TimeSpan.ParseError.Reason, at marked: SourceText, _ problems: inout Problems) {
        let unit = marked.trimmed.bytes.prefix { !$0.isDigit && !$0.isWhiteSpace }
        let explanation =
            switch reason {
            case .empty: "it is empty"
            case .notANumber: "a number is expected here"
            case .missingFraction: "digits are expected after the point"
            case .unknownUnit: "unknown unit"
            case .negative: "it is negative"
            case .tooLarge: "it is too large"
            case .notAlone: "nothing can follow infinity"
            }
        let suggestion =
            reason == .unknownUnit
            ? problems.nearest(to: String(decoding: unit, as: UTF8.self), among: Self.unitNames) : nil
        problems.error(
            "\(key.name)=\(text.shown) is not a time span: \(explanation)", at: marked.isEmpty ? text : marked,
            suggestion: suggestion)
    }

    private static let unitNames = [
        "us", "ms", "s", "sec", "second", "seconds", "min", "minute", "minutes", "h", "hour", "hours", "d", "day",
        "days",
        "w", "week", "weeks",
    ]

    private func check(_ span: TimeSpan, _ rule: SpanRule, _ problems: inout Problems) -> TimeSpan? {
        let shortest = TimeSpan.milliseconds(1)
        if span != .infinity, span > Self.maximumSpan {
            refuse(&problems, "is longer than 100 years; infinity means no limit")
            return nil
        }
        switch rule {
        case .any: return span
        case .finite where span == .infinity: refuse(&problems, "has no end")
        case .finite: return span
        case .limit where span == .zero: refuse(&problems, "leaves no time; infinity means no limit")
        case .limit: return span
        case .period where span == .infinity, .delay where span == .infinity: refuse(&problems, "never comes")
        case .delay where span == .zero: return shortest
        case .period where span < shortest, .delay where span < shortest: refuse(&problems, "is shorter than 1ms")
        case .period, .delay: return span
        }
        return nil
    }

    private func check(_ number: Int?, in range: ClosedRange<Int>, _ problems: inout Problems) -> Int? {
        if let number, range.contains(number) { return number }
        refuse(&problems, "is not in \(range.lowerBound) to \(range.upperBound)")
        return nil
    }
}
