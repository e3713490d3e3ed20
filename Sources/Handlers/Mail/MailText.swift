import Schedule

/// Text as mail carries it: headers (RFC 5322, RFC 2047) and a body (RFC 2045).
enum MailText {
    /// Bytes of a line of text (RFC 5322, 2.1.1: at most 998).
    private static let longestLine = 900
    /// Bytes of a line in quoted-printable, with its soft end (RFC 2045, 6.7).
    private static let longestQuotedLine = 76
    /// Bytes of text in one encoded word: with its frame it has at most 75 (RFC 2047, 2).
    private static let longestWord = 45

    // MARK: Headers

    /// Text of a header: printable ASCII as it is, anything else in encoded words. Control characters, line ends among
    /// them, become spaces.
    static func unstructured(_ text: String) -> String {
        let plain = String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
        guard plain.utf8.contains(where: { $0 >= 0x80 }) || plain.contains("=?") else { return plain }
        var words: [[UInt8]] = [[]]
        for character in plain.unicodeScalars {
            let bytes = Array(String(character).utf8)
            if words[words.count - 1].count + bytes.count > longestWord { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?UTF-8?B?\(base64($0))?=" }.joined(separator: "\n ")
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.enumerated().reduce(0) { $0 | Int($1.element) << (16 - 8 * $1.offset) }
            for place in 0..<4 {
                let isFilled = place <= group.count
                result.append(isFilled ? letters[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The name of a machine or user as it may stand in a header: others than `A-Za-z0-9.-_` become `-`.
    static func domain(_ name: [UInt8]) -> String {
        let letters = name.prefix(255).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                byte
            default: UInt8(ascii: "-")
            }
        }
        return letters.isEmpty ? "localhost" : String(decoding: letters, as: UTF8.self)
    }

    /// `Tue, 24 Nov 2026 07:19:48 +0000` (RFC 5322, 3.3).
    static func date(_ time: Int64) -> String {
        let text = Timestamp(microseconds: time).description
        let fields = text.prefix { $0 != "T" }.split(separator: "-")
        let days = Int(max(0, time) / 86_400_000_000)
        let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months[(Int(fields[1]) ?? 1) - 1]
        return "\(names[days % 7]), \(fields[2]) \(month) \(fields[0]) \(text.dropFirst(11).prefix(8)) +0000"
    }

    // MARK: The body

    /// The lines of what a program wrote: any end of a line ends one, and other control characters are replaced.
    static func lines(_ bytes: some Sequence<UInt8>) -> [String] {
        let text = String(decoding: Array(bytes), as: UTF8.self).replacing("\r\n", with: "\n").replacing(
            "\r", with: "\n")
        let clean = text.unicodeScalars.map { isControl($0) && $0 != "\n" && $0 != "\t" ? "\u{FFFD}" : $0 }
        var lines = String(String.UnicodeScalarView(clean)).split(separator: "\n", omittingEmptySubsequences: false)
        while lines.last?.isEmpty ?? false { lines.removeLast() }
        return lines.map(String.init)
    }

    /// As it is, where every line is short enough; else in quoted-printable.
    static func encoded(_ text: String) -> (encoding: String, text: [UInt8]) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.contains(where: { $0.count > longestLine }) {
            return ("quoted-printable", Array(lines.map { quoted(Array($0)) }.joined(separator: [UInt8(ascii: "\n")])))
        }
        return (text.utf8.contains { $0 >= 0x80 } ? "8bit" : "7bit", Array(text.utf8))
    }

    private static func quoted(_ line: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var (result, width): ([UInt8], Int) = ([], 0)
        for (index, byte) in line.enumerated() {
            let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain = isSpace ? index + 1 < line.count : (33...126).contains(byte) && byte != UInt8(ascii: "=")
            let shown = isPlain ? [byte] : [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            if width + shown.count >= longestQuotedLine {
                result += [UInt8(ascii: "="), UInt8(ascii: "\n")]
                width = 0
            }
            result += shown
            width += shown.count
        }
        return result
    }
}
