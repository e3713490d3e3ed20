/// A word of a command, of a list of paths or of assignments, its quotes and escapes already read.
struct Word {
    struct Letter {
        var byte: UInt8
        /// Where it stands in the line of `text`.
        var origin: Int
        /// Written as an escape: never the begin of a specifier, never a glob character.
        var isEscaped: Bool

        var isStar: Bool { byte == UInt8(ascii: "*") && !isEscaped }
    }

    var letters: [Letter]
    /// As written, with quotes.
    var text: SourceText

    var bytes: [UInt8] { letters.map(\.byte) }

    /// Text without quotes and escapes.
    init(raw text: SourceText) {
        letters = text.bytes.indices.map { Letter(byte: text.bytes[$0], origin: $0, isEscaped: false) }
        self.text = text
    }

    fileprivate init(letters: [Letter], text: SourceText) {
        self.letters = letters
        self.text = text
    }

    /// The piece of the file from one letter up to another.
    func source(of range: Range<Int>) -> SourceText {
        guard let first = letters[range].first, let last = letters[range].last else { return text }
        return text[first.origin..<max(first.origin, last.origin) + 1]
    }

    /// Splits as `systemd.service(5)`, "COMMAND LINES", has it: white space separates; `'…'` and `"…"` keep it; escapes
    /// as in C, within quotes and without. `nil` after an error.
    static func split(_ text: SourceText, _ problems: inout Problems) -> [Word]? {
        var splitter = WordSplitter(text: text)
        return splitter.split(&problems)
    }

    /// The whole text as one word: spaces are part of it; it may stand in quotes.
    static func whole(_ text: SourceText, _ problems: inout Problems) -> Word? {
        guard let first = text.bytes.first, first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") else {
            var splitter = WordSplitter(text: text)
            return splitter.unescape(&problems)
        }
        guard let words = split(text, &problems) else { return nil }
        guard words.count == 1 else {
            problems.error("text after the closing quote", at: words[1].text)
            return nil
        }
        return words[0]
    }
}

private struct WordSplitter {
    let text: SourceText
    private var position: Int
    private var letters: [Word.Letter] = []

    init(text: SourceText) {
        self.text = text
        position = text.bytes.startIndex
    }

    mutating func split(_ problems: inout Problems) -> [Word]? {
        var words: [Word] = []
        while true {
            while let byte = peek, byte.isWhiteSpace { position += 1 }
            guard peek != nil else { return words }
            guard let word = word(&problems) else { return nil }
            words.append(word)
        }
    }

    mutating func unescape(_ problems: inout Problems) -> Word? {
        while let byte = peek {
            if byte == UInt8(ascii: "\\") {
                guard escape(&problems) else { return nil }
            } else {
                append(byte)
            }
        }
        return Word(letters: letters, text: text)
    }

    private mutating func word(_ problems: inout Problems) -> Word? {
        let start = position
        letters = []
        if takeSemicolon() { return Word(letters: letters, text: text[start..<position]) }
        var quote: (byte: UInt8, position: Int)?
        while let byte = peek {
            if byte == UInt8(ascii: "\\") {
                guard escape(&problems) else { return nil }
            } else if let open = quote {
                if byte == open.byte {
                    quote = nil
                    position += 1
                } else {
                    append(byte)
                }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = (byte, position)
                position += 1
            } else if byte.isWhiteSpace {
                break
            } else {
                append(byte)
            }
        }
        if let quote {
            problems.error("this quote is not closed", at: text[quote.position..<quote.position + 1])
            return nil
        }
        return Word(letters: letters, text: text[start..<position])
    }

    /// `\;` as a word of its own is a semicolon, as in systemd, where a bare one would separate commands.
    private mutating func takeSemicolon() -> Bool {
        let end = position + 2
        guard text.bytes[position..<min(end, text.bytes.endIndex)].elementsEqual("\\;".utf8),
            end == text.bytes.endIndex || text.bytes[end].isWhiteSpace
        else { return false }
        letters = [.init(byte: UInt8(ascii: ";"), origin: position, isEscaped: true)]
        position = end
        return true
    }

    private var peek: UInt8? { position < text.bytes.endIndex ? text.bytes[position] : nil }

    private mutating func append(_ byte: UInt8) {
        letters.append(.init(byte: byte, origin: position, isEscaped: false))
        position += 1
    }

    private mutating func escape(_ problems: inout Problems) -> Bool {
        guard let escape = Escape(in: text.bytes, at: position) else {
            let range = position..<min(position + 2, text.bytes.endIndex)
            problems.error(
                "unknown or incomplete escape \(text[range].shown); a backslash itself is \\\\", at: text[range])
            return false
        }
        if escape.bytes == [0] {
            problems.error("NUL cannot be part of a path or an argument", at: text[position..<position + escape.length])
            return false
        }
        for byte in escape.bytes { letters.append(.init(byte: byte, origin: position, isEscaped: true)) }
        position += escape.length
        return true
    }
}
