/// Names of systemd units, as `systemd.unit(5)` says what they are made of.
extension ValueReader {
    private static let unitTypes = [
        "service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope",
    ]
    private static let globLetters = Set("*?[]!^".utf8)
    private static let otherLetters = Set(":-_.\\@".utf8)

    /// A name with its suffix (`.service` where none is written, as `systemctl` does), or a glob as it is.
    func unit(_ word: SourceText, _ problems: inout Problems) -> String? {
        let letters = Array(word.bytes)
        let isGlob = letters.contains { "*?[".utf8.contains($0) }
        guard letters.allSatisfy({ isUnitLetter($0) || isGlob && Self.globLetters.contains($0) }) else {
            let advice =
                letters.first == UInt8(ascii: "/") ? ": systemd-escape --path --suffix=mount (or device) gives it" : ""
            refuse(&problems, "is not the name of a unit\(advice)", at: word)
            return nil
        }
        guard !isGlob || Self.areBracketsClosed(letters) else {
            refuse(&problems, "has a [ without its ]", at: word)
            return nil
        }
        let name = isGlob ? word.string : suffixed(word, &problems)
        guard let name else { return nil }
        guard name.utf8.count <= UnitEscape.longestName else {
            problems.error("the name of a unit has at most \(UnitEscape.longestName) bytes", at: word)
            return nil
        }
        return name
    }

    /// A name with its suffix; behind the `@` there may be specifiers.
    func unitTemplate(_ word: SourceText, _ problems: inout Problems) -> TemplateText? {
        guard var text = TemplateText(Word(raw: word), &problems) else { return nil }
        guard text.specifiers.isEmpty else {
            guard let parts = instance(text.template.parts, word, &problems) else { return nil }
            text.template.parts = parts
            return text
        }
        if let at = word.bytes.firstIndex(of: UInt8(ascii: "@")),
            at + 1 == word.bytes.endIndex || word.bytes[at + 1] == UInt8(ascii: ".")
        {
            refuse(&problems, "is a template: behind the @ stands an instance, such as %p", at: word)
            return nil
        }
        guard let name = singleUnit(word, &problems) else { return nil }
        text.template = Template(literal: name)
        return text
    }

    /// A name with its suffix, and no glob.
    func singleUnit(_ word: SourceText, _ problems: inout Problems) -> String? {
        guard let name = unit(word, &problems) else { return nil }
        guard !name.utf8.contains(where: { Self.globLetters.contains($0) }) else {
            refuse(&problems, "is a pattern, but it stands for one unit: write its name", at: word)
            return nil
        }
        return name
    }

    private func instance(
        _ parts: [Template.Part], _ word: SourceText, _ problems: inout Problems
    ) -> [Template.Part]? {
        var parts = parts
        guard case .literal(let head) = parts[0], let at = head.firstIndex(of: UInt8(ascii: "@")), at > 0 else {
            refuse(&problems, "has a specifier outside of the instance of a template (NAME@%p.service)", at: word)
            return nil
        }
        for case .literal(let bytes) in parts where !bytes.allSatisfy(isUnitLetter) {
            refuse(&problems, "is not the name of a unit", at: word)
            return nil
        }
        let suffixes = Self.unitTypes.map { Array(".\($0)".utf8) }
        if case .literal(let tail)? = parts.last, suffixes.contains(where: { tail.suffix($0.count) == $0[...] }) {
            return parts
        }
        let suffix = Array(".service".utf8)
        if case .literal(let tail)? = parts.last {
            parts[parts.count - 1] = .literal(tail + suffix)
        } else {
            parts.append(.literal(suffix))
        }
        return parts
    }

    /// As fnmatch(3) with FNM_NOESCAPE, as systemd calls it: a `]` that stands first is a member.
    private static func areBracketsClosed(_ glob: [UInt8]) -> Bool {
        var rest = glob[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "[")) {
            rest = rest[(start + 1)...]
            if let sign = rest.first, "!^".utf8.contains(sign) { rest = rest.dropFirst() }
            guard let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "]")) else { return false }
            rest = rest[(end + 1)...]
        }
        return true
    }

    private func isUnitLetter(_ letter: UInt8) -> Bool {
        letter.isDigit || (0x41...0x5A).contains(letter) || (0x61...0x7A).contains(letter)
            || Self.otherLetters.contains(letter)
    }

    private func suffixed(_ word: SourceText, _ problems: inout Problems) -> String? {
        var name = word.string
        let suffix = name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) }
        if let suffix, !Self.unitTypes.contains(suffix),
            let type = problems.nearest(to: suffix, among: Self.unitTypes)
        {
            refuse(
                &problems, "has the suffix of no kind of unit", at: word,
                suggestion: name.dropLast(suffix.count) + type)
            return nil
        }
        if !Self.unitTypes.contains(suffix ?? "") { name += ".service" }
        let stem = name[..<(name.lastIndex(of: ".") ?? name.endIndex)]
        guard !stem.isEmpty, stem.first != "@" else {
            refuse(&problems, "is not the name of a unit", at: word)
            return nil
        }
        guard stem.last != "@" else {
            refuse(
                &problems, "is a template, which has no state: name an instance, or all as a glob", at: word,
                suggestion: "\(stem)*\(name[stem.endIndex...])")
            return nil
        }
        return name
    }
}
