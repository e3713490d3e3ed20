/// A part of an operand that is not as it should be.
struct TextProblem {
    var text: String
    var sentence: String
    /// Bytes of the text; empty at its end.
    var range: Range<Int>

    /// The sentence, the text, and carets below the part; the text is shortened where it is wider than the terminal.
    func text(width: Int) -> String {
        let head = "“\(Styled.escape(text))”: \(sentence)"
        if text.isEmpty { return head }
        let indent = "    "
        let bytes = Array(text.utf8)
        func escaped(_ range: Range<Int>) -> Styled { Styled(String(decoding: bytes[range], as: UTF8.self)) }
        let whole = 0..<bytes.count
        let range = range.clamped(to: whole)
        var before = escaped(0..<range.lowerBound)
        let part = escaped(range)
        let room = max(width - indent.count, 16)
        var from = 0
        while before.width > room / 2, from < range.lowerBound {
            from += 1
            while from < range.lowerBound, bytes[from] & 0xC0 == 0x80 { from += 1 }
            before = Styled("…") + escaped(from..<range.lowerBound)
        }
        let line = (before + part + escaped(range.upperBound..<bytes.count)).cut(to: room)
        let marks = max(1, min(part.width, room - before.width))
        let carets = String(repeating: " ", count: before.width) + "^" + String(repeating: "~", count: marks - 1)
        return "\(head)\n\(indent)\(line.rendered(coloured: false))\n\(indent)\(carets)"
    }
}
