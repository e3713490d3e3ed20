import Glibc
import LinuxSystem
import ProgramKit
import Testing

@testable import Systemd

@Suite("Journal", .ownThreadChain) struct JournalTests {
    @Test func anEntryIsFieldsOfAnyBytes() {
        var entry = JournalEntry("two\nlines", priority: .warning)
        entry.add("WATCHD_SOURCE", [0xFF, 0x0A])
        #expect(
            entry.fields
                == ["MESSAGE=two\nlines", "PRIORITY=4", "SYSLOG_IDENTIFIER=watchd"].map { Array($0.utf8) }
                + [Array("WATCHD_SOURCE=".utf8) + [0xFF, 0x0A]])
        #expect(JournalEntry.Priority.allCases.map(\.rawValue) == Array(0...7))
    }

    @Test func onlyNamesThatJournaldKeepsAreFieldNames() {
        for name in ["MESSAGE", "A", "X_1", String(repeating: "A", count: 64)] {
            #expect(JournalEntry.isFieldName(name))
        }
        for name in ["", "_A", "1A", "message", "A=B", "A B", "Ä", String(repeating: "A", count: 65)] {
            #expect(!JournalEntry.isFieldName(name))
        }
    }

    @Test func theStreamIsRecognizedByDeviceAndInode() {
        #expect(Journal.isStream(Array("8:17".utf8), device: 8, inode: 17))
        for stream in ["", "8", "8:", "8:170", "8:17\n", "17:8"] {
            #expect(!Journal.isStream(Array(stream.utf8), device: 8, inode: 17))
        }
    }

    @Test func standardErrorIsTheJournalIfItIsThatVeryFile() async {
        await #expect(processExitsWith: .success) {
            unsetenv("JOURNAL_STREAM")
            precondition(!Journal.isStandardError())
            let status = try Linux.fstat(2)
            setenv("JOURNAL_STREAM", "\(status.device):\(status.inode)", 1)
            precondition(Journal.isStandardError())
            setenv("JOURNAL_STREAM", "\(status.device):\(status.inode + 1)", 1)
            precondition(!Journal.isStandardError())
        }
    }

    @Test func withoutAJournalSendingDoesNothing() throws {
        try Journal.send(JournalEntry("watchd's tests", priority: .debug, identifier: "watchd-tests"))
    }
}
