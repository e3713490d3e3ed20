import Schedule

/// Warns of what only a shell would understand, in a command that none reads: `echo a > b`, `cd /srv`, `rm /tmp/*`.
///
/// Each rule rather misses a mistake than blames a command that is right: text in single quotes is meant as it stands,
/// the words that a shell or an interpreter of the command reads as its program are its own, and a pattern is looked for
/// only behind programs that take the names of files. Of a command, the first finding is told.
struct ShellSyntax {
    private let text: SourceText
    private let items: [CommandText.Item]
    private let key: String
    /// Words that a program of the command reads as code.
    private let code: Set<Int>

    private init(text: SourceText, items: [CommandText.Item], key: String, code: Set<Int>) {
        (self.text, self.items, self.key, self.code) = (text, items, key, code)
    }

    private init(_ text: SourceText, _ items: [CommandText.Item], _ key: Key) {
        self.init(text: text, items: items, key: key.name, code: Set(CodeCheck.codeIndices(in: items)))
    }

    static func warn(_ text: SourceText, _ items: [CommandText.Item], key: Key, _ problems: inout Problems) {
        let syntax = ShellSyntax(text, items, key)
        guard let finding = syntax.ofProgram ?? syntax.ofWords else { return }
        problems.warning(finding.sentence, at: finding.place)
    }

    /// The sentence with the line to write in place of a command that begins with an assignment.
    static func assignment(_ text: SourceText, _ items: [CommandText.Item], key: Key) -> String? {
        ShellSyntax(text, items, key).ofAssignment?.sentence
    }

    private struct Finding {
        var place: SourceText
        var sentence: String
    }

    /// It is told of as a word of shells, or as an assignment.
    static func isShell(_ program: String) -> Bool { builtins.contains(program) || assigned(program) != nil }

    // MARK: The first word

    private var ofAssignment: Finding? {
        let first = items[0].text
        guard let name = Self.assigned(first.string),
            let program = items.firstIndex(where: { Self.assigned($0.text.string) == nil })
        else { return nil }
        let assignments = items[..<program].map(\.text.string).joined(separator: " ")
        let rest = text[items[program].text.bytes.startIndex..<text.bytes.endIndex].string
        let isFound = items[program].isLiteral && Self.isFound(items[program].text.string)
        let isExpanded = items[..<program].contains { QuotedText($0.text.bytes).expansion != nil }
        let needsShell = key == "Command" || isExpanded || !isFound || hasSyntax(from: program)
        let line = needsShell ? shellLine : "Environment=\(assignments) and \(key)=\(rest)"
        return Finding(place: first, sentence: "\(name)= is taken for the name of a program; write \(line)")
    }

    private var ofProgram: Finding? {
        if let assignment = ofAssignment { return assignment }
        let first = items[0].text
        guard Self.builtins.contains(first.string) else { return nil }
        return Finding(
            place: first,
            sentence: "\(first.string) is no program but a word of shells; write \(folderLine ?? shellLine)")
    }

    private static let builtins: Set<String> = [
        "cd", "pushd", "source", ".", "export", "unset", "set", "shopt", "ulimit", "umask", "eval", "exec", "trap",
        "if",
        "for", "while", "until", "case", "[[", "{", "alias", "declare", "local",
    ]

    /// `NAME` of `NAME=value`.
    private static func assigned(_ word: String) -> Substring? {
        guard let equals = word.firstIndex(of: "="), isName(word[..<equals].utf8) else { return nil }
        return word[..<equals]
    }

    private static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, !first.isDigit else { return false }
        return bytes.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
    }

    /// For `cd /srv && make all`, where the rest needs no shell.
    private var folderLine: String? {
        guard key == "Exec", items[0].text.string == "cd", items.count > 3, items[1].isLiteral,
            items[1].text.bytes.first == UInt8(ascii: "/"), items[2].text.string == "&&"
        else { return nil }
        let (first, folder) = (items[3], items[1].text.string)
        guard !folder.contains(where: { "'\"\\".contains($0) }),
            first.isLiteral, let program = Self.program(first.text.string, in: folder), Self.isFound(program),
            !hasSyntax(from: 3)
        else { return nil }
        let arguments = text[first.text.bytes.endIndex..<text.bytes.endIndex].string
        return "WorkingDirectory=\(folder) and \(key)=\(program)\(arguments)"
    }

    /// `./refresh.sh` of a folder with its whole path; `nil`: only a shell finds it.
    private static func program(_ word: String, in folder: String) -> String? {
        guard word.contains("/"), !word.hasPrefix("/") else { return word }
        let parts = word.split(separator: "/").filter { $0 != "." }
        guard !parts.contains(".."), !"'\"\\".contains(where: word.contains), !parts.isEmpty else { return nil }
        return (folder.hasSuffix("/") ? String(folder.dropLast()) : folder) + "/" + parts.joined(separator: "/")
    }

    /// Whether the command that begins with this word needs a shell.
    private func hasSyntax(from index: Int) -> Bool {
        let rest = Array(items[index...])
        let command = text[rest[0].text.bytes.startIndex..<text.bytes.endIndex]
        let code = Set(CodeCheck.codeIndices(in: rest))
        return ShellSyntax(text: command, items: rest, key: key, code: code).ofWords != nil
    }

    /// Whether such a program is found without a shell.
    private static func isFound(_ program: String) -> Bool {
        guard let first = program.first, !"-@:+!|<>&;#'\"\\".contains(first) else { return false }
        return program.contains("/") == program.hasPrefix("/") && !program.hasSuffix("/") && !isShell(program)
    }

    // MARK: The other words

    /// Behind an option it may be its value, as of `cut -d #`.
    private func beginsComment(_ index: Int) -> Bool {
        items[index].text.string == "#" && index < items.count - 1
            && items[index - 1].text.bytes.first != UInt8(ascii: "-")
    }

    private var ofWords: Finding? {
        guard let index = items.indices.first(where: { finding(at: $0) != nil }), let found = finding(at: index) else {
            return nil
        }
        if found == "&", index == items.count - 1 {
            return Finding(
                place: items[index].text,
                sentence: "no shell reads this line, so & is an argument; leave it out: watchd goes on beside a run")
        }
        if found == "#" {
            return Finding(
                place: items[index].text,
                sentence: "a comment needs a line of its own: here # and the words behind it are arguments")
        }
        return Finding(
            place: items[index].text,
            sentence: "no shell reads this line, so \(found) stays as it is; write \(shellLine)")
    }

    /// Programs that expand `$NAME`, or hand words to a shell, themselves.
    private static let expanding: Set<String> = [
        "systemd-run", "tmux", "screen", "xdotool", "make", "gmake", "ninja", "just", "envsubst", "expect",
    ]

    /// The part of a word that only a shell understands.
    private func finding(at index: Int) -> String? {
        guard index > 0, !code.contains(index) else { return nil }
        let word = items[index].text
        if !Self.expanding.contains(name(of: items[0])), let found = QuotedText(word.bytes).expansion { return found }
        // In quotes it is meant as it stands.
        guard !word.bytes.contains(where: { "'\"\\".utf8.contains($0) }) else { return nil }
        if Self.operators.contains(word.string) || Self.isRedirection(word.bytes) { return word.shown }
        if word.bytes.last == UInt8(ascii: ";"), word.bytes.count > 1, index < items.count - 1 { return ";" }
        if word.bytes.starts(with: "~/".utf8) || beginsComment(index) { return word.shown }
        return isPattern(index) ? word.shown : nil
    }

    private static let operators: Set<String> = [
        "|", "||", "|&", "&&", "&", ">", ">>", "<", "<<", "<<<", "1>", "2>", "2>>", "&>", "&>>", ">&", "2>&1", "1>&2",
        ">&2", ">&1",
    ]

    /// `>/var/log/x`, `2>>/dev/null`, `</etc/passwd`.
    private static func isRedirection(_ word: ArraySlice<UInt8>) -> Bool {
        let target = word.drop { "12&".utf8.contains($0) }
        guard word.count - target.count <= 1, let sign = target.first, "<>".utf8.contains(sign) else { return false }
        return target.drop { $0 == sign }.first == UInt8(ascii: "/")
            && target.prefix { $0 == sign }.count <= (sign == UInt8(ascii: ">") ? 2 : 1)
    }

    // MARK: Patterns

    private func isPattern(_ index: Int) -> Bool {
        let word = items[index].text.bytes
        guard word.contains(UInt8(ascii: "*")), word.first != UInt8(ascii: "-") else { return false }
        let program = name(of: items[0])
        if Self.takingFiles.contains(program) { return true }
        guard Self.takingPaths.contains(program), word.first == UInt8(ascii: "/") else { return false }
        return !["--exclude", "--include", "--filter", "-f"].contains(items[index - 1].text.string)
            && !items.contains { $0.text.string == "--wildcards" }
    }

    /// Their operands are names of files, and never patterns.
    private static let takingFiles: Set<String> = [
        "cat", "chgrp", "chmod", "chown", "cp", "du", "head", "ln", "ls", "md5sum", "mv", "rm", "rmdir", "sha256sum",
        "shred", "sort", "stat", "tail", "touch", "wc", "bzip2", "gunzip", "gzip", "xz", "zcat", "zstd",
    ]
    /// Those of which a path is one.
    private static let takingPaths: Set<String> = ["tar", "rsync", "scp", "zip"]

    private func name(of item: CommandText.Item) -> String {
        String(decoding: item.prefix.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    // MARK: Corrections

    /// A longer one would hide the sentence.
    private static let longestLine = 240

    /// `Exec=/bin/sh -c 'convert "$1" >/srv/out' sh %p`: no event may become a part of the program's text.
    private var shellLine: String {
        var (program, arguments) = ("", [String]())
        var end = text.bytes.startIndex
        let foreign = items.filter { $0.foreignText != nil }
        let usual = "\(key)=/bin/sh -c '…'" + (foreign.isEmpty ? "" : ", with \(foreign[0].text.shown) as an argument")
        for item in foreign {
            let word = item.text
            let sign = word.bytes.prefix { "12&<>".utf8.contains($0) }
            let isEverything = item.word == .everything
            guard !isEverything || foreign.count == 1, sign.isEmpty || sign.contains(where: { "<>".utf8.contains($0) })
            else { return usual }
            program += text[end..<word.bytes.startIndex + sign.count].string
            arguments.append(word[word.bytes.startIndex + sign.count..<word.bytes.endIndex].string)
            program += isEverything ? "\"$@\"" : "\"$\(arguments.count)\""
            end = word.bytes.endIndex
        }
        program += text[end..<text.bytes.endIndex].string
        // Escapes of a watch file are not those of a shell.
        guard !program.contains("\\"), String(validating: text.bytes, as: UTF8.self) != nil else { return usual }
        let quoted = program.replacing("'", with: "\\'")
        let line = (["\(key)=/bin/sh -c '\(quoted)'"] + (arguments.isEmpty ? [] : ["sh"]) + arguments)
            .joined(separator: " ")
        return line.utf8.count > Self.longestLine || arguments.count > 9 ? usual : line
    }
}

/// A word as it is written, with its quotes.
private struct QuotedText {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// `$HOME`, `${HOME}`, `$(…` or a backtick that no single quotes and no backslash protect.
    var expansion: String? {
        var quote: UInt8?
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "'") where quote != UInt8(ascii: "\""),
                UInt8(ascii: "\"") where quote != UInt8(ascii: "'"):
                quote = quote == nil ? byte : nil
            case UInt8(ascii: "`") where quote == nil: return "`"
            case UInt8(ascii: "$") where quote != UInt8(ascii: "'"):
                if let found = variable(at: index + 1) { return found }
            default: break
            }
            index += 1
        }
        return nil
    }

    /// Names of variables are in capitals, as those of the environment are.
    private func variable(at start: Int) -> String? {
        let rest = bytes[start...]
        if rest.first == UInt8(ascii: "(") { return "$(" }
        let isBraced = rest.first == UInt8(ascii: "{")
        let name = rest.dropFirst(isBraced ? 1 : 0).prefix {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || $0.isDigit || $0 == UInt8(ascii: "_")
        }
        guard name.count > 1, name.first.map({ !$0.isDigit }) ?? false else { return nil }
        if isBraced, name.endIndex == bytes.endIndex || bytes[name.endIndex] != UInt8(ascii: "}") { return nil }
        let text = String(decoding: name, as: UTF8.self)
        return isBraced ? "${\(text)}" : "$\(text)"
    }
}
