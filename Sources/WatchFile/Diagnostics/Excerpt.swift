/// A line of a watch file as a diagnostic shows it, and the line with the caret under it.
struct Excerpt {
    private(set) var line = ""
    private(set) var caret = ""

    /// Columns shown before and after the caret.
    private static let columnsBefore = 60
    private static let columnsAfter = 100

    /// `column` counts bytes from 0 and may be the line's end.
    init(of bytes: [UInt8], from column: Int, length: Int) {
        let column = min(max(column, 0), bytes.count)
        let start = Self.start(of: bytes, before: column)
        if start > 0 { append("…", under: " ") }
        var index = start
        while index < column {
            let cell = Printable.cell(of: bytes[...], at: index)
            append(cell.text, under: cell.text == "\t" ? "\t" : String(repeating: " ", count: cell.width))
            index += cell.length
        }
        appendMarked(bytes, from: index, to: column + max(length, 1))
    }

    private mutating func append(_ text: String, under: String) {
        line += text
        caret += under
    }

    private mutating func appendMarked(_ bytes: [UInt8], from start: Int, to end: Int) {
        caret += "^"
        var index = start
        var width = 0
        while index < bytes.count {
            if width >= Self.columnsAfter {
                line += "…"
                return
            }
            let cell = Printable.cell(of: bytes[...], at: index)
            line += cell.text
            width += cell.width
            if index < end {
                caret += String(repeating: "~", count: index == start ? max(0, cell.width - 1) : cell.width)
            }
            index += cell.length
        }
    }

    /// Where to begin, so that no more than `columnsBefore` stand before the caret; never inside a character.
    private static func start(of bytes: [UInt8], before column: Int) -> Int {
        // An escape has more columns than bytes: what begins this many bytes before is certainly enough.
        var index = max(0, column - 4 * columnsBefore)
        while index > 0, index < column, bytes[index] & 0xC0 == 0x80 { index += 1 }
        var cells: [(start: Int, width: Int)] = []
        while index < column {
            let cell = Printable.cell(of: bytes[...], at: index)
            cells.append((index, cell.width))
            index += cell.length
        }
        var width = 0
        var first = column
        for cell in cells.reversed() {
            width += cell.width
            if width > columnsBefore { return first }
            first = cell.start
        }
        return first
    }
}
