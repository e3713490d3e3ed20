import CSystemd
package import LinuxSystem

/// The lines that a unit has written to the journal (`sd-journal(3)`), and what the manager says of its start. Reading
/// maps files and may wait for a disk: not for `watchd.core`.
package struct JournalReader: Sendable {
    /// The lines of one unit.
    package struct Lines: Sendable {
        /// The end of what was written, each line with its newline.
        package var end: [UInt8] = []
        /// Bytes in all.
        package var total = 0
        /// Why the manager could not start a process of it, as it says it.
        package var startFailure: String?
    }

    /// “Process could not be executed” (`sd-messages.h`).
    private static let spawnFailed = "641257651c1b4ec9a8624d7a40a9e1e7"

    private let unit: String
    private let scope: Bus.Scope
    /// Of one run of the unit, where it is known.
    private let invocation: String?

    package init(unit: String, scope: Bus.Scope, invocation: String?) {
        (self.unit, self.scope) = (unit, scope)
        self.invocation = invocation?.isEmpty == true ? nil : invocation
    }

    /// The field with the name of the unit. Of a user's process that is gone by the time journald reads its line, the
    /// manager's word is not taken, but the identifier is: that of a run there is the name of its unit.
    static func unitField(_ scope: Bus.Scope) -> String { scope == .user ? "SYSLOG_IDENTIFIER" : "_SYSTEMD_UNIT" }

    /// Output of services whose word counts.
    static func matches(_ scope: Bus.Scope) -> [String] {
        ["_TRANSPORT=stdout"] + (scope == .user ? ["_UID=\(Linux.effectiveUserID)"] : [])
    }

    private var prefix: String { scope == .user ? "USER_" : "" }

    /// - Parameters:
    ///   - kept: bytes of the end that are wanted.
    ///   - patience: milliseconds for which journald may write what it has, if it is waited for.
    /// - Throws: EACCES: none of the journal's files may be read.
    package func read(kept: Int, patience: Int32? = nil) throws(SystemError) -> Lines {
        let journal = try Self.open(patience)
        defer { sd_journal_close(journal) }
        var lines = Lines()
        match(journal, Self.matches(scope) + ["\(Self.unitField(scope))=\(unit)"])
        // Of a user's unit the journal has that of the manager, where the process is gone.
        forEach(journal, scope == .system ? "_SYSTEMD_INVOCATION_ID" : nil) { lines.add($0, kept: kept) }
        sd_journal_flush_matches(journal)
        match(journal, ["\(prefix)UNIT=\(unit)", "MESSAGE_ID=\(Self.spawnFailed)"])
        forEach(journal, "\(prefix)INVOCATION_ID") { message in
            // The last one names the step.
            let text = String(decoding: message, as: UTF8.self)
            lines.startFailure = text.hasPrefix("\(unit): ") ? String(text.dropFirst(unit.count + 2)) : text
        }
        return lines
    }

    /// The lines that the processes of one run of any unit have written, in whatever way.
    ///
    /// - Parameters:
    ///   - since: wall clock, microseconds.
    ///   - kept: bytes of the end that are wanted.
    ///   - patience: milliseconds for which journald may write what it has.
    /// - Throws: EACCES: none of the journal's files may be read.
    package static func lines(
        of unit: String, scope: Bus.Scope, invocation: String, since: Int64, kept: Int, patience: Int32
    ) throws(SystemError) -> Lines {
        let journal = try open(patience)
        defer { sd_journal_close(journal) }
        sd_journal_add_match(journal, "\(scope == .user ? "_SYSTEMD_USER_UNIT" : "_SYSTEMD_UNIT")=\(unit)", 0)
        var lines = Lines()
        guard sd_journal_seek_realtime_usec(journal, UInt64(max(0, since))) >= 0 else { return lines }
        while sd_journal_next(journal) > 0 {
            // A process that is gone before journald reads its line has none (Systemd.md, fact 48).
            let found = field("_SYSTEMD_INVOCATION_ID", of: journal)
            guard found == nil || found == Array(invocation.utf8) else { continue }
            if let message = field("MESSAGE", of: journal) { lines.add(message, kept: kept) }
        }
        return lines
    }

    /// How a job ended, as the manager has told the journal, and the run of its unit then; `nil`: there is no word.
    ///
    /// - Parameters:
    ///   - job: its object on the bus.
    ///   - since: wall clock, microseconds.
    ///   - patience: milliseconds for which journald may write what it has.
    /// - Throws: EACCES: none of the journal's files may be read.
    package static func result(
        ofJob job: String, scope: Bus.Scope, since: Int64, patience: Int32
    ) throws(SystemError) -> JobEnd? {
        let match = "JOB_ID=\(job.split(separator: "/").last ?? "")"
        var end: JobEnd?
        try forEachWord(of: scope, match, since, patience) { journal in
            // Of a restart this is the end of its stop (Systemd.md, fact 47).
            guard field("JOB_TYPE", of: journal) != Array("restart".utf8),
                let result = field("JOB_RESULT", of: journal)
            else { return }
            let invocation = field(scope == .user ? "USER_INVOCATION_ID" : "INVOCATION_ID", of: journal)
            end = JobEnd(
                result: String(decoding: result, as: UTF8.self),
                invocation: invocation.map { String(decoding: $0, as: UTF8.self) })
        }
        return end
    }

    /// The end of a job.
    package struct JobEnd: Sendable {
        /// `done`, `failed`, `canceled`, …
        package var result: String
        package var invocation: String?
    }

    /// “The unit has entered the failed state” and “has successfully entered the dead state” (`sd-messages.h`).
    private static let (unitFailed, unitSucceeded) =
        ("d9b373ed55a64feb8242e02dbe79a49c", "7ad2d189f7e94e70a38c781354912448")

    /// `Result` of a run of a unit, as the manager has told the journal at its end; `nil`: there is no word.
    ///
    /// - Parameters:
    ///   - since: wall clock, microseconds.
    ///   - patience: milliseconds for which journald may write what it has.
    /// - Throws: EACCES: none of the journal's files may be read.
    package static func result(
        ofInvocation invocation: String, scope: Bus.Scope, since: Int64, patience: Int32
    ) throws(SystemError) -> String? {
        let match = "\(scope == .user ? "USER_" : "")INVOCATION_ID=\(invocation)"
        var result: String?
        try forEachWord(of: scope, match, since, patience) { journal in
            switch field("MESSAGE_ID", of: journal).map({ String(decoding: $0, as: UTF8.self) }) {
            case unitSucceeded: result = "success"
            case unitFailed:
                result = field("UNIT_RESULT", of: journal).map { String(decoding: $0, as: UTF8.self) } ?? "failed"
            default: break
            }
        }
        return result
    }

    /// Calls with the journal at each line of the manager that has a field.
    private static func forEachWord(
        of scope: Bus.Scope, _ match: String, _ since: Int64, _ patience: Int32, _ body: (OpaquePointer) -> Void
    ) throws(SystemError) {
        let journal = try open(patience)
        defer { sd_journal_close(journal) }
        let manager = scope == .system ? ["_PID=1"] : ["_COMM=systemd", "_UID=\(Linux.effectiveUserID)"]
        for match in manager + [match] { sd_journal_add_match(journal, match, 0) }
        guard sd_journal_seek_realtime_usec(journal, UInt64(max(0, since))) >= 0 else { return }
        while sd_journal_next(journal) > 0 { body(journal) }
    }

    private static func open(_ patience: Int32?) throws(SystemError) -> OpaquePointer {
        // Only root may wait for journald.
        let isWritten = patience.map { patience in (try? JournalSync.wait(atMost: patience)) != nil } ?? true
        var journal: OpaquePointer?
        // Of this machine only.
        let result = sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY))
        guard result >= 0, let journal else { throw SystemError(call: "sd_journal_open", errno: Errno(-result)) }
        // Files that may not be read are passed over in silence.
        guard sd_journal_has_runtime_files(journal) > 0 || sd_journal_has_persistent_files(journal) > 0 else {
            sd_journal_close(journal)
            throw SystemError(call: "sd_journal_open", detail: "all files", errno: .accessDenied)
        }
        sd_journal_set_data_threshold(journal, 0)
        if !isWritten { settle(journal) }
        return journal
    }

    /// Waits for the end of what journald writes: a tenth of a second after the last of it, and a second at most.
    private static func settle(_ journal: OpaquePointer) {
        for _ in 0..<10 where sd_journal_wait(journal, 100_000) == 0 { return }
    }

    private func match(_ journal: OpaquePointer, _ fields: [String]) {
        for field in fields { sd_journal_add_match(journal, field, 0) }
    }

    private func forEach(_ journal: OpaquePointer, _ identifier: String?, _ body: ([UInt8]) -> Void) {
        guard sd_journal_seek_head(journal) >= 0 else { return }
        while sd_journal_next(journal) > 0 {
            // What was written before the manager's word came there has none.
            if let identifier, let invocation, let found = Self.field(identifier, of: journal),
                found != Array(invocation.utf8)
            {
                continue
            }
            if let message = Self.field("MESSAGE", of: journal) { body(message) }
        }
    }

    static func field(_ name: String, of journal: OpaquePointer) -> [UInt8]? {
        var start: UnsafeRawPointer?
        var count = 0
        guard sd_journal_get_data(journal, name, &start, &count) >= 0, let start else { return nil }
        // `NAME=VALUE`, which stays the journal's.
        return Array(UnsafeRawBufferPointer(start: start, count: count).dropFirst(name.utf8.count + 1))
    }
}

extension JournalReader.Lines {
    fileprivate mutating func add(_ message: [UInt8], kept: Int) {
        end += message + [UInt8(ascii: "\n")]
        total += message.count + 1
        if end.count > 2 * kept { end.removeFirst(end.count - kept) }
    }
}
