/// A template, and where each of its specifiers stands.
struct TemplateText {
    struct Located {
        var specifier: Specifier
        var text: SourceText
    }

    var template: Template
    var specifiers: [Located]

    /// Finds the specifiers of a word; `nil` after an error.
    init?(_ word: Word, _ problems: inout Problems) {
        var parser = TemplateParser(word: word)
        guard parser.parse(&problems) else { return nil }
        template = Template(parts: parser.parts)
        specifiers = parser.specifiers
    }
}

private struct TemplateParser {
    let word: Word
    private(set) var parts: [Template.Part] = []
    private(set) var specifiers: [TemplateText.Located] = []
    private var literal: [UInt8] = []
    private var position = 0

    init(word: Word) { self.word = word }

    /// Tells about every specifier that is none; `false` if there was one.
    mutating func parse(_ problems: inout Problems) -> Bool {
        var isValid = true
        while position < word.letters.count {
            let letter = word.letters[position]
            if letter.byte != UInt8(ascii: "%") || letter.isEscaped {
                literal.append(letter.byte)
                position += 1
            } else if !specifier(&problems) {
                isValid = false
            }
        }
        flush()
        return isValid
    }

    private mutating func specifier(_ problems: inout Problems) -> Bool {
        let start = position
        let next = position + 1 < word.letters.count ? word.letters[position + 1].byte : 0
        if next == UInt8(ascii: "{") { return named(&problems) }
        position = min(position + 2, word.letters.count)
        let text = word.source(of: start..<position)
        if next == UInt8(ascii: "%") {
            literal.append(next)
        } else if let specifier = Specifier.byLetter[Unicode.Scalar(next)] {
            append(specifier, at: text)
        } else if (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(next) {
            append(.capture(Int(next - UInt8(ascii: "0"))), at: text)
        } else if next == UInt8(ascii: "@") {
            problems.error("%@ stands for many words: only a whole word of a command can be %@", at: text)
            return false
        } else {
            refuse(text, &problems)
            return false
        }
        return true
    }

    private func refuse(_ text: SourceText, _ problems: inout Problems) {
        let letter = text.string.dropFirst().lowercased()
        let suggestion = letter.unicodeScalars.first.flatMap { Specifier.byLetter[$0] }?.spelling
        problems.error(
            "unknown specifier \(text.shown); a percent sign itself is %%", at: text, suggestion: suggestion)
    }

    private mutating func named(_ problems: inout Problems) -> Bool {
        let start = position
        guard let end = word.letters[start...].firstIndex(where: { $0.byte == UInt8(ascii: "}") }) else {
            position = word.letters.count
            problems.error("%{ without }; a percent sign itself is %%", at: word.source(of: start..<start + 2))
            return false
        }
        position = end + 1
        let name = String(decoding: word.letters[start + 2..<end].map(\.byte), as: UTF8.self)
        let text = word.source(of: start..<position)
        if let specifier = Specifier.named(name) {
            append(specifier, at: text)
            return true
        }
        let nearest = problems.nearest(to: name, among: Specifier.byName.keys.sorted() + ["acquired:NAME"])
        problems.error("unknown specifier \(text.shown)", at: text, suggestion: nearest.map { "%{\($0)}" })
        return false
    }

    private mutating func append(_ specifier: Specifier, at text: SourceText) {
        flush()
        parts.append(.specifier(specifier))
        specifiers.append(.init(specifier: specifier, text: text))
    }

    private mutating func flush() {
        guard !literal.isEmpty else { return }
        parts.append(.literal(literal))
        literal = []
    }
}
