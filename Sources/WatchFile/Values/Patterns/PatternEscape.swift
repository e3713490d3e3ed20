/// A backslash and a letter or digit that other regular expressions know and those of POSIX do not: glibc takes it for
/// the letter, and within `[…]` for both.
struct PatternEscape {
    var byte: UInt8
    var isInBrackets: Bool

    /// The escapes that regex(7) leaves open and glibc defines, outside of `[…]`: `\w`, `\W`, `\s`, `\S`, `\b`, `\B`.
    private static let known = Array("wWsSbB".utf8)

    /// `nil`: what stands behind the backslash is a sign, or glibc knows it.
    init?(_ byte: UInt8, isInBrackets: Bool) {
        let isLetter = (0x61...0x7A).contains(byte | 0x20)
        guard isLetter || byte.isDigit, isInBrackets || !Self.known.contains(byte) else { return nil }
        self.byte = byte
        self.isInBrackets = isInBrackets
    }

    /// Why it is refused, and what to write in its place.
    var refusal: String {
        let sign = String(UnicodeScalar(byte))
        guard isInBrackets else { return "\\\(sign) is not known, and would be a plain \(sign): write \(place(sign))" }
        let place =
            member.map { ": write \($0) within the brackets" } ?? "; where both are meant, put the backslash last"
        return "within […] a backslash is a plain character, so that \\\(sign) is a backslash or \(sign)\(place)"
    }

    private func place(_ sign: String) -> String {
        switch sign {
        case "d": "[0-9]"
        case "D": "[^0-9]"
        case "h", "t": "[[:blank:]]"
        case "H": "[^[:blank:]]"
        case "f", "n", "r", "R", "v": "[[:space:]]"
        case "a", "c", "e": "[[:cntrl:]]"
        case "A": "^"
        case "z", "Z": "$"
        case "N": "."
        case "p", "P": "a class such as [[:alpha:]]"
        case "E", "Q": "a backslash before each sign"
        case "o", "u", "U", "x": "the character itself"
        default: "\(sign) if that is meant"
        }
    }

    private var member: String? {
        switch byte {
        case UInt8(ascii: "d"): "0-9"
        case UInt8(ascii: "w"): "[:alnum:]_"
        case UInt8(ascii: "h"), UInt8(ascii: "t"): "[:blank:]"
        case UInt8(ascii: "s"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "v"): "[:space:]"
        default: nil
        }
    }
}
