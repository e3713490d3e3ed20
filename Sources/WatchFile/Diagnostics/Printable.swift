/// Bytes of a watch file as text that is safe to print.
enum Printable {
    /// One thing on the screen: a character, or the escape that stands for it.
    struct Cell {
        var text: String
        /// Bytes of the source.
        var length: Int
        /// Columns on a terminal; a tab counts as one.
        var width: Int
    }

    static func text(_ bytes: [UInt8]) -> String {
        var result = ""
        var index = 0
        while index < bytes.count {
            let cell = cell(of: bytes[...], at: index)
            result += cell.text
            index += cell.length
        }
        return result
    }

    static func cell(of bytes: ArraySlice<UInt8>, at index: Int) -> Cell {
        guard let (scalar, length) = UTF8Scalar.decode(bytes, at: index) else {
            return escaped("\\x" + hexadecimal(UInt32(bytes[index]), 2), length: 1)
        }
        if scalar == "\t" { return Cell(text: "\t", length: 1, width: 1) }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
            let value = scalar.value
            let escape = value < 0x80 ? "\\x" + hexadecimal(value, 2) : "\\u{" + hexadecimal(value, 4) + "}"
            return escaped(escape, length: length)
        case .nonspacingMark, .enclosingMark:
            return Cell(text: String(scalar), length: length, width: 0)
        default:
            return Cell(text: String(scalar), length: length, width: isWide(scalar) ? 2 : 1)
        }
    }

    private static func escaped(_ text: String, length: Int) -> Cell {
        Cell(text: text, length: length, width: text.utf8.count)
    }

    private static func hexadecimal(_ value: UInt32, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The blocks that Unicode's East Asian Width (UAX #11) calls wide or full-width.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
