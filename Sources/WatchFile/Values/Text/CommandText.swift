/// A command, and where each of its words stands.
struct CommandText {
    struct Item {
        var word: Command.Word
        var text: SourceText
        var specifiers: [TemplateText.Located]

        /// The literal text before the first specifier.
        var prefix: [UInt8] {
            guard case .template(let template) = word, case .literal(let bytes)? = template.parts.first else {
                return []
            }
            return bytes
        }

        var isLiteral: Bool {
            guard case .template = word else { return false }
            return specifiers.isEmpty
        }

        /// Where text stands that whoever caused the event chose.
        var foreignText: SourceText? {
            switch word {
            case .everything: text
            case .template: specifiers.first { $0.specifier.isForeignText }?.text
            }
        }

        /// The first of the word; of `%@` none.
        var foreignSpecifier: Specifier? { specifiers.lazy.map(\.specifier).first(where: \.isForeignText) }
    }

    /// Never empty.
    var items: [Item]

    var command: Command { Command(words: items.map(\.word)) }

    /// `nil` after an error.
    init?(_ text: SourceText, key: Key, _ problems: inout Problems) {
        guard let words = Word.split(text, &problems) else { return nil }
        items = []
        var isValid = true
        for word in words {
            if word.bytes == Array("%@".utf8), !word.letters[0].isEscaped {
                items.append(Item(word: .everything, text: word.text, specifiers: []))
            } else if word.text.bytes.elementsEqual(";".utf8) {
                problems.error(
                    "a lone ; separates nothing: give each command a line of its own; as an argument it is \\;",
                    at: word.text)
                isValid = false
            } else if let template = TemplateText(word, &problems) {
                items.append(
                    Item(word: .template(template.template), text: word.text, specifiers: template.specifiers))
            } else {
                isValid = false
            }
        }
        guard isValid, checkProgram(text, key, &problems) else { return nil }
        ShellSyntax.warn(text, items, key: key, &problems)
    }

    /// The first word: an absolute path, or a name for `PATH`, and nothing that the event brings.
    private func checkProgram(_ text: SourceText, _ key: Key, _ problems: inout Problems) -> Bool {
        guard let first = items.first else { return false }
        if let foreign = first.foreignText {
            problems.error(
                "\(foreign.shown) in the name of the program: an event must not choose what is run", at: foreign)
            return false
        }
        let prefix = first.prefix
        let slash = UInt8(ascii: "/")
        let hasSlash = first.literalParts.contains { $0.contains(slash) }
        if first.isLiteral, prefix.isEmpty {
            problems.error("the name of the program is empty", at: first.text)
        } else if let letter = prefix.first, "-@:+!|".utf8.contains(letter), hasSlash || prefix.count == 1 {
            let sign = Unicode.Scalar(letter)
            problems.error("the prefix \(sign) of \(key.name)= is not supported by this version", at: first.text)
        } else if hasSlash, prefix.first != slash {
            let reason =
                ShellSyntax.assignment(text, items, key: key)
                ?? (prefix.first == UInt8(ascii: "~")
                    ? "no shell reads this line, so ~ stays as it is: give the path in full"
                    : "\(first.text.shown) is neither an absolute path nor a name for PATH")
            problems.error(reason, at: first.text)
        } else if prefix.last == slash, first.isLiteral {
            problems.error("\(first.text.shown) is a folder, not a program", at: first.text)
        } else {
            return true
        }
        return false
    }
}

extension CommandText.Item {
    fileprivate var literalParts: [[UInt8]] {
        guard case .template(let template) = word else { return [] }
        return template.parts.compactMap { if case .literal(let bytes) = $0 { bytes } else { nil } }
    }
}
