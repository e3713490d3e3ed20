/// The identity of a process, and its surroundings: values of `systemd.exec(5)`.
extension ValueReader {
    /// As a path is not spelled: `WorkingDirectory=~`.
    static let home = [UInt8(ascii: "~")]
    /// LOGIN_NAME_MAX without the final NUL (`limits.h`).
    private static let longestName = 255

    /// A name as `useradd(8)` and name services know them, or a number. -1, which leaves an id as it is, is none, and
    /// what 16 bits make of it is none either.
    func account(_ word: SourceText, _ problems: inout Problems) -> String? {
        let string = word.string
        if word.bytes.allSatisfy(\.isDigit) {
            if let number = UInt32(string), number != .max, number != UInt32(UInt16.max) { return "\(number)" }
            refuse(&problems, "is not the number of a user or a group", at: word)
            return nil
        }
        let forbidden = word.bytes.contains { $0.isWhiteSpace || ":/,%".utf8.contains($0) }
        guard !forbidden, word.bytes.first != UInt8(ascii: "-"), word.bytes.count <= Self.longestName,
            string != ".", string != ".."
        else {
            refuse(&problems, "is neither a name nor a number", at: word)
            return nil
        }
        return string
    }

    /// The name of a file, as `LoadCredential=` of `systemd.exec(5)` gives one.
    func credential(_ word: SourceText, _ problems: inout Problems) -> String? {
        let string = word.string
        if word.bytes.contains(UInt8(ascii: "/")) {
            refuse(
                &problems,
                "is a path: it is the name of a credential of watchd's unit, as LoadCredential=NAME:PATH has it",
                at: word)
        } else if string == "." || string == ".." || word.bytes.contains(UInt8(ascii: ":")) {
            refuse(&problems, "is no name of a credential", at: word)
        } else if word.bytes.count > Self.longestName {
            refuse(&problems, "has more than \(Self.longestName) bytes, as no name of a credential has", at: word)
        } else {
            return string
        }
        return nil
    }

    /// Before the name of a group.
    static let groupPrefix = "group:"

    /// `users`, or `group:NAME`.
    func submitters(_ problems: inout Problems) -> QueueDefinition.Submitters? {
        if text.string == "users" { return .users }
        guard text.bytes.starts(with: Self.groupPrefix.utf8), text.bytes.count > Self.groupPrefix.utf8.count else {
            refuse(
                &problems, "is not one of users, group:NAME",
                suggestion: problems.nearest(to: text.string, among: ["users"]))
            return nil
        }
        let name = text[text.bytes.startIndex + Self.groupPrefix.utf8.count..<text.bytes.endIndex]
        return account(name, &problems).map { .group($0) }
    }

    /// An absolute path, or `~`.
    func folder(_ problems: inout Problems) -> [UInt8]? {
        text.bytes.elementsEqual(Self.home) ? Self.home : PathValue.read(text, key: key, &problems)
    }

    /// `PATH`, or `-PATH`.
    func environmentFile(_ problems: inout Problems) -> EnvironmentFile? {
        let isOptional = text.bytes.first == UInt8(ascii: "-")
        let path = isOptional ? text[text.bytes.startIndex + 1..<text.bytes.endIndex].trimmed : text
        guard !path.isEmpty else {
            problems.error("\(key.name)=- needs a path", at: text)
            return nil
        }
        if let glob = path.bytes.firstIndex(where: { "*?[".utf8.contains($0) }) {
            problems.error(
                "\(path[glob..<glob + 1].shown) in \(key.name)= is not supported by this version; as part of a name it "
                    + "is \\x\(String(path.bytes[glob], radix: 16))", at: path[glob..<glob + 1])
            return nil
        }
        return PathValue.read(path, key: key, &problems).map { EnvironmentFile(path: $0, isOptional: isOptional) }
    }

    func variableName(_ word: SourceText, _ problems: inout Problems) -> String? {
        if word.bytes.contains(UInt8(ascii: "=")) {
            refuse(&problems, "is an assignment: that is Environment=; here stand names alone", at: word)
            return nil
        }
        return EnvironmentValue.isName(word.bytes, at: word, &problems) ? word.string : nil
    }
}
