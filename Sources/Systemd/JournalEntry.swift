/// One entry of the journal: fields with values of any bytes (`systemd.journal-fields(7)`).
package struct JournalEntry: Hashable, Sendable {
    /// The levels of `syslog(3)`, most urgent first.
    package enum Priority: Int, CaseIterable, Sendable {
        case emergency, alert, critical, error, warning, notice, info, debug
    }

    /// `NAME=VALUE` each, as `sd_journal_sendv(3)` takes them.
    package private(set) var fields: [[UInt8]]

    package init(_ message: String, priority: Priority, identifier: String = "watchd") {
        fields = []
        add("MESSAGE", message)
        add("PRIORITY", "\(priority.rawValue)")
        add("SYSLOG_IDENTIFIER", identifier)
    }

    /// Adds a field: capital letters, digits and `_`, a letter first, at most 64 of them. Journald would drop any other
    /// without a word.
    package mutating func add(_ name: String, _ value: [UInt8]) {
        precondition(Self.isFieldName(name), "\(name) is no name of a journal field")
        fields.append(Array(name.utf8) + [UInt8(ascii: "=")] + value)
    }

    package mutating func add(_ name: String, _ value: String) { add(name, Array(value.utf8)) }

    static func isFieldName(_ name: String) -> Bool {
        guard let first = name.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return false }
        return name.utf8.count <= 64
            && name.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "_")
            }
    }
}
