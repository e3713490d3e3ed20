import CSystemd
import Glibc
package import LinuxSystem

/// The lines that units write to the journal from now on (`sd-journal(3)`). It maps files and may wait for a disk:
/// confined to a context of its own, which is not `watchd.core`.
package final class JournalTail {
    package struct Line: Sendable {
        package var unit: String
        package var bytes: [UInt8]
    }

    private let journal: OpaquePointer
    private let field: String
    private let matches: [String]
    /// Wall clock, microseconds.
    private let since: UInt64
    /// The newest entry that was read.
    private var cursor: String?
    /// The first entry that comes may be the one of the cursor.
    private var isRepositioned = false

    /// - Parameter since: wall clock, microseconds; the lines from then on are read.
    package init(_ scope: Bus.Scope, since: Int64) throws(SystemError) {
        var opened: OpaquePointer?
        let result = sd_journal_open(&opened, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard result >= 0, let opened else { throw SystemError(call: "sd_journal_open", errno: Errno(-result)) }
        journal = opened
        (field, matches) = (JournalReader.unitField(scope), JournalReader.matches(scope))
        self.since = UInt64(max(0, since))
        sd_journal_set_data_threshold(journal, 0)
    }

    deinit { sd_journal_close(journal) }

    /// Readable when something has been written, by anybody; the tail's own. Negative: it cannot be waited for.
    package var descriptor: Int32 { sd_journal_get_fd(journal) }

    /// From now on the lines of these units are read.
    package func follow(_ units: [String]) {
        sd_journal_flush_matches(journal)
        // Those of one field are alternatives.
        for match in matches + units.map({ "\(field)=\($0)" }) { sd_journal_add_match(journal, match, 0) }
        if let cursor {
            sd_journal_seek_cursor(journal, cursor)
            isRepositioned = true
        } else {
            sd_journal_seek_realtime_usec(journal, since)
        }
    }

    /// The lines that have come; as many as the limit, if there may be more.
    package func read(atMost limit: Int) -> [Line] {
        sd_journal_process(journal)
        var lines: [Line] = []
        while lines.count < limit, sd_journal_next(journal) > 0 {
            defer { isRepositioned = false }
            if isRepositioned, let cursor, sd_journal_test_cursor(journal, cursor) > 0 { continue }
            guard let unit = JournalReader.field(field, of: journal),
                let message = JournalReader.field("MESSAGE", of: journal)
            else { continue }
            lines.append(Line(unit: String(decoding: unit, as: UTF8.self), bytes: message))
        }
        if !lines.isEmpty { takeCursor() }
        return lines
    }

    private func takeCursor() {
        var text: UnsafeMutablePointer<CChar>?
        guard sd_journal_get_cursor(journal, &text) >= 0, let text else { return }
        cursor = String(cString: text)
        free(text)
    }
}
