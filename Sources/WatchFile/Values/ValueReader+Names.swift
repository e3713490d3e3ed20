extension ValueReader {
    /// Names of other sections; whether they exist is checked when all sections are known.
    func names(_ problems: inout Problems) -> [Value.Name]? {
        guard let names = all(text.words, { name($0, &problems) }) else { return nil }
        guard key.isList || names.count == 1 else {
            problems.error("\(key.name)= takes one name", at: names[1].text)
            return nil
        }
        return names
    }

    func emission(_ problems: inout Problems) -> Value.Emission? {
        guard let first = text.words.first, let source = name(first, &problems) else { return nil }
        let rest = text[first.bytes.endIndex..<text.bytes.endIndex].trimmed
        guard !rest.isEmpty else { return Value.Emission(source: source, data: nil) }
        guard let data = TemplateText(Word(raw: rest), &problems) else { return nil }
        if data.specifiers.isEmpty, Int64(rest.string) == nil {
            problems.error("\(rest.shown) is not a number of 64 bits", at: rest)
            return nil
        }
        return Value.Emission(source: source, data: data)
    }

    func name(_ word: SourceText, _ problems: inout Problems) -> Value.Name? {
        if key.name == "Requires", word.bytes.starts(with: HandlerDraft.processPrefix.utf8) {
            problems.error("Requires= starts handlers, and \(word.shown) is none: write After=\(word.shown)", at: word)
            return nil
        }
        guard TextCheck.isName(word.bytes) else {
            problems.error(
                "\(word.shown) is not a name: 1 to \(TextCheck.maximumNameLength) characters of A-Za-z0-9_.-", at: word)
            return nil
        }
        return Value.Name(string: word.string, text: word)
    }

    /// `NAME`, or `process/NAME`.
    func predecessor(_ word: SourceText, _ problems: inout Problems) -> Value.Name? {
        guard word.bytes.starts(with: HandlerDraft.processPrefix.utf8) else { return name(word, &problems) }
        let own = word[word.bytes.startIndex + HandlerDraft.processPrefix.utf8.count..<word.bytes.endIndex]
        guard !own.isEmpty else {
            refuse(&problems, "is without the name of a process", at: word)
            return nil
        }
        return name(own, &problems).map { Value.Name(string: HandlerDraft.processPrefix + $0.string, text: word) }
    }

    /// A word for people and programs, such as `0`, `/dev/ttyUSB0` or `node-3:1`.
    func member(_ word: SourceText, _ problems: inout Problems) -> Value.Name? {
        guard word.bytes.count <= Self.longestMember else {
            refuse(&problems, "is longer than \(Self.longestMember) bytes", at: word)
            return nil
        }
        return Value.Name(string: word.string, text: word)
    }

    private static let longestMember = 128
}
