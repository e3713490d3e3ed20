import Schedule

/// A line of crontab(5) in a watch file: when, and what.
struct CrontabLine {
    /// `OnCron=30 2 * * *`
    private let time: String
    /// The words behind the time; never empty.
    private let words: [SourceText]
    private let line: SourceText

    /// `nil`: it is no such line.
    init?(_ line: SourceText) {
        let all = line.words
        guard let first = all.first, all.count > 1, String(validating: line.bytes, as: UTF8.self) != nil else {
            return nil
        }
        self.line = line
        if let key = Self.macros[first.string] {
            (time, words) = (key, Array(all.dropFirst()))
            return
        }
        guard all.count > 5, first.bytes.first.map({ $0.isDigit || $0 == UInt8(ascii: "*") }) ?? false else {
            return nil
        }
        let fields = all.prefix(5).map(\.string).joined(separator: " ")
        guard (try? CronExpression(parsing: fields)) != nil else { return nil }
        (time, words) = ("OnCron=\(fields)", Array(all.dropFirst(5)))
    }

    /// The name that stands where a line of `/etc/crontab` has a user, and more behind it.
    var possibleUser: String? {
        guard words.count > 1, let first = words[1].bytes.first, !"-<>|&;".utf8.contains(first) else { return nil }
        return words[0].string
    }

    /// The section and keys that mean the same.
    func translation(hasUser: Bool) -> String {
        let start = words[hasUser ? 1 : 0].bytes.startIndex
        let command = ShellCommand(line[start..<line.bytes.endIndex].string)
        // cron(8) starts a command with the user's environment, in his home folder.
        let user = hasUser ? ["User=\(words[0].string)"] : []
        let keys = [time] + user + ["WorkingDirectory=~"]
        return "[Timer NAME], and below it \(keys.joined(separator: ", ")) and Exec=\(command.exec)"
    }

    private static let macros = [
        "@reboot": "OnBootSec=0", "@hourly": "OnCalendar=hourly", "@daily": "OnCalendar=daily",
        "@midnight": "OnCalendar=daily", "@weekly": "OnCalendar=weekly", "@monthly": "OnCalendar=monthly",
        "@yearly": "OnCalendar=yearly", "@annually": "OnCalendar=yearly",
    ]
}

/// A command of cron, which gives each one to a shell.
private struct ShellCommand {
    /// As the shell gets it.
    private let text: String

    /// Before a percent sign cron takes a backslash away. The first one without it ends the command: what is behind is
    /// its standard input, and each further one there ends a line.
    init(_ text: String) {
        let mark = "\u{0}"
        let parts = text.replacing("\\%", with: mark).split(separator: "%", omittingEmptySubsequences: false)
            .map { String($0).replacing(mark, with: "%") }
        let lines = parts.dropFirst().map { "'" + $0.replacing("'", with: "'\\''") + "'" }
        let command = parts[0].utf8.contains { ";&|".utf8.contains($0) } ? "(\(parts[0]))" : parts[0]
        self.text = lines.isEmpty ? parts[0] : "printf '%s\\n' \(lines.joined(separator: " ")) | \(command)"
    }

    /// The value of `Exec=`: with a shell only where the command needs one.
    var exec: String {
        guard needsShell else { return text.replacing("%", with: "%%") }
        let quoted = text.replacing("\\", with: "\\\\").replacing("'", with: "\\'").replacing("%", with: "%%")
        return "/bin/sh -c '\(quoted)'"
    }

    private var needsShell: Bool {
        let program = String(text.prefix { $0 != " " && $0 != "\t" })
        let isPath = program.utf8.contains(UInt8(ascii: "/"))
        if isPath != program.hasPrefix("/") || program.hasSuffix("/") || ShellSyntax.isShell(program) { return true }
        return "-@:+!'\"".contains(program.first ?? "-") || hasSyntax
    }

    /// More than words, and quotes around them.
    private var hasSyntax: Bool {
        var quote: UInt8?
        var isAtStart = true
        for byte in text.utf8 {
            switch (byte, quote) {
            case (UInt8(ascii: "'"), UInt8(ascii: "'")), (UInt8(ascii: "\""), UInt8(ascii: "\"")): quote = nil
            case (UInt8(ascii: "'"), nil), (UInt8(ascii: "\""), nil): quote = byte
            case (_, UInt8(ascii: "'")): if byte == UInt8(ascii: "\\") { return true }
            case (_, nil): if Self.signs.contains(byte) || isAtStart && "#~".utf8.contains(byte) { return true }
            default: if "$`\\".utf8.contains(byte) { return true }
            }
            isAtStart = byte.isWhiteSpace
        }
        return quote != nil
    }

    private static let signs = Set("|&;<>()$`\\*?[".utf8)
}
