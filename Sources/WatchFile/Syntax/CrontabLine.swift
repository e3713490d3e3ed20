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

    private static func timer(_ key: String, _ command: String) -> String {
        "[Timer NAME], and below it \(key) and Exec=\(command)"
    }

    private static func command(_ words: [SourceText], after count: Int, in line: SourceText) -> String {
        line[words[count].bytes.startIndex..<line.bytes.endIndex].shown
    }

    private static let macros = [
        "@reboot": "OnBootSec=0", "@hourly": "OnCalendar=hourly", "@daily": "OnCalendar=daily",
        "@midnight": "OnCalendar=daily", "@weekly": "OnCalendar=weekly", "@monthly": "OnCalendar=monthly",
        "@yearly": "OnCalendar=yearly", "@annually": "OnCalendar=yearly",
    ]
}
