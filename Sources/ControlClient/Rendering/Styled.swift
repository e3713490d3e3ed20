import LinuxSystem
import Schedule

/// One line of text for a terminal, parts of it coloured.
///
/// Everything that is printed goes through this type, and it escapes what could move the cursor, change the terminal or
/// reverse the reading order: a file name, a reason or the output of a command never reaches the terminal as it is.
struct Styled: Equatable {
    enum Colour: String {
        case plain = ""
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    private struct Span: Equatable {
        var text: String
        var colour: Colour
    }

    private var spans: [Span]

    /// - Parameter text: anything; it becomes one line.
    init(_ text: some StringProtocol, _ colour: Colour = .plain) {
        spans = [Span(text: Self.escape(text), colour: colour)]
    }

    /// Text of several lines, tabs as blanks.
    static func block(_ text: String) -> [Styled] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { Styled($0.replacing("\t", with: "    ")) }
    }

    /// How many columns of a terminal it takes.
    var width: Int { spans.reduce(0) { $0 + Self.width($1.text) } }

    static func + (left: Styled, right: Styled) -> Styled {
        var result = left
        result.spans += right.spans
        return result
    }

    /// At most `width` columns (at least 1), with `…` for what is cut off.
    func cut(to width: Int) -> Styled {
        guard self.width > width else { return self }
        var result = self
        var room = max(width, 1) - 1
        result.spans = []
        for span in spans {
            var part = Span(text: "", colour: span.colour)
            for scalar in span.text.unicodeScalars {
                room -= Self.width(scalar)
                guard room >= 0 else {
                    // The rest of a cut number would be another number.
                    while part.text.last?.isNumber == true { part.text.removeLast() }
                    part.text += "…"
                    result.spans.append(part)
                    return result
                }
                part.text.unicodeScalars.append(scalar)
            }
            result.spans.append(part)
        }
        return result
    }

    /// As many lines of at most `width` columns (at least 2) as it takes, broken between words where there are any.
    func wrapped(to width: Int) -> [Styled] {
        let width = max(width, 2)
        var rest = spans.flatMap { span in span.text.unicodeScalars.map { (scalar: $0, colour: span.colour) } }[...]
        var lines: [Styled] = []
        repeat {
            var room = width
            var end = rest.startIndex
            while end < rest.endIndex, room >= Self.width(rest[end].scalar) {
                room -= Self.width(rest[end].scalar)
                end += 1
            }
            if end < rest.endIndex, let blank = rest[...end].lastIndex(where: { $0.scalar == " " }),
                blank > rest.startIndex
            {
                end = blank
            }
            var line = Styled("")
            for (scalar, colour) in rest[..<end] {
                if line.spans.last?.colour != colour { line.spans.append(Span(text: "", colour: colour)) }
                line.spans[line.spans.endIndex - 1].text.unicodeScalars.append(scalar)
            }
            lines.append(line)
            rest = rest[end...].drop { $0.scalar == " " }
        } while !rest.isEmpty
        return lines
    }

    func padded(to width: Int, right: Bool = false) -> Styled {
        let space = Styled(String(repeating: " ", count: max(0, width - self.width)))
        return right ? space + self : self + space
    }

    /// With the terminal's escape sequences if it is to be `coloured`; without blanks at its end.
    func rendered(coloured: Bool) -> String {
        var spans = self.spans
        while let last = spans.indices.last {
            let trimmed = spans[last].text.reversed().drop { $0 == " " }.reversed()
            spans[last].text = String(trimmed)
            guard trimmed.isEmpty else { break }
            spans.removeLast()
        }
        return spans.reduce(into: "") { result, span in
            let isColoured = coloured && span.colour != .plain && !span.text.isEmpty
            result += isColoured ? "\u{1b}[\(span.colour.rawValue)m\(span.text)\u{1b}[0m" : span.text
        }
    }
}

extension Styled {
    /// Control characters and invisible formatting as `\n`, `\x1b`, `\u{202e}`.
    static func escape(_ text: some StringProtocol) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case " "..."~": result.append(scalar)
            case "\n": result += "\\n".unicodeScalars
            case "\t": result += "\\t".unicodeScalars
            case _ where scalar.isUnprintable:
                let digits = String(scalar.value, radix: 16)
                let isByte = scalar.isASCII
                result += (isByte ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{\(digits)}").unicodeScalars
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    private static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

    /// Columns of one scalar: 0 for what combines with the one before, 2 for East Asian wide ones (UAX #11) and
    /// pictures.
    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
