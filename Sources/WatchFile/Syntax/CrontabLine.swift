import Schedule

/// A line of crontab(5) in a watch file: when, and what.
enum CrontabLine {
    /// The sections and keys that mean the same; `nil`: it is no such line.
    static func translation(_ line: SourceText) -> String? {
        let words = line.words
        guard let first = words.first, words.count > 1 else { return nil }
        if let key = macros[first.string] { return timer(key, command(words, after: 1, in: line)) }
        guard words.count > 5, first.bytes.first.map({ $0.isDigit || $0 == UInt8(ascii: "*") }) ?? false else {
            return nil
        }
        let fields = words.prefix(5).map(\.string).joined(separator: " ")
        guard (try? CronExpression(parsing: fields)) != nil else { return nil }
        return timer("OnCron=\(fields)", command(words, after: 5, in: line))
    }

    private static func timer(_ key: String, _ keys: [String]) -> String {
        "[Timer NAME], and below it \(([key] + keys.dropLast()).joined(separator: ", ")) and \(keys.last ?? "")"
    }

    /// `Exec=`, behind the `User=` that a line of `/etc/crontab` has. Cron gives each line to a shell.
    private static func command(_ words: [SourceText], after count: Int, in line: SourceText) -> [String] {
        let user = words[count].string
        let hasUser = users.contains(user) && words.count > count + 1
        let rest = line[words[count + (hasUser ? 1 : 0)].bytes.startIndex..<line.bytes.endIndex]
        let needsShell = rest.bytes.contains { shellCharacters.contains($0) } && !rest.bytes.contains(UInt8(ascii: "'"))
        let text = rest.shown.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%")
        return (hasUser && user != "root" ? ["User=\(user)"] : [])
            + ["Exec=" + (needsShell ? "/bin/sh -c '\(text)'" : text)]
    }

    /// Accounts of Debian that crontabs name.
    private static let users: Set<String> = [
        "root", "www-data", "nobody", "daemon", "backup", "mail", "postgres", "mysql", "git",
    ]
    private static let shellCharacters = Set("|&;<>$*`".utf8)

    private static let macros = [
        "@reboot": "OnBootSec=0", "@hourly": "OnCalendar=hourly", "@daily": "OnCalendar=daily",
        "@midnight": "OnCalendar=daily", "@weekly": "OnCalendar=weekly", "@monthly": "OnCalendar=monthly",
        "@yearly": "OnCalendar=yearly", "@annually": "OnCalendar=yearly",
    ]
}
