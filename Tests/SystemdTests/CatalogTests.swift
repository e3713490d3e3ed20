import LinuxSystem
import ProgramKit
import Systemd
import Testing

/// `systemd/watchd.catalog` beside `MessageID`.
@Suite("Catalog", .ownThread) struct CatalogTests {
    /// An entry: the lines from `-- ID` to the next one.
    private struct Entry {
        var id: String
        var lines: [String]
    }

    private static func entries() throws -> [Entry] {
        let lines = try Repository.text("systemd/watchd.catalog").split(
            separator: "\n", omittingEmptySubsequences: false)
        var entries: [Entry] = []
        for line in lines {
            if line.hasPrefix("-- ") {
                entries.append(Entry(id: String(line.dropFirst(3)), lines: []))
            } else if !entries.isEmpty {
                entries[entries.count - 1].lines.append(String(line))
            }
        }
        return entries
    }

    @Test func everyMessageHasOneEntry() throws {
        let ids = try Self.entries().map(\.id)
        #expect(ids.count == MessageID.allCases.count)
        #expect(Set(ids) == Set(MessageID.allCases.map(\.rawValue)))
    }

    @Test func idsAreRandomOnesInLowerCase() {
        for id in MessageID.allCases.map({ Array($0.rawValue.utf8) }) {
            #expect(id.count == 32)
            #expect(id.allSatisfy { "0123456789abcdef".utf8.contains($0) })
            // Version 4 (RFC 9562).
            #expect(id.count == 32 && id[12] == UInt8(ascii: "4") && "89ab".utf8.contains(id[16]))
        }
    }

    @Test func anEntryHasItsHeadAndAText() throws {
        for entry in try Self.entries() {
            #expect(entry.lines.first?.hasPrefix("Subject: ") == true, "\(entry.id)")
            #expect(entry.lines.dropFirst().prefix(2) == ["Defined-By: watchd", ""], "\(entry.id)")
            #expect(entry.lines.count > 4 && !entry.lines[3].isEmpty, "\(entry.id)")
            #expect(entry.lines.allSatisfy { $0.count <= 120 }, "\(entry.id)")
        }
    }

    /// journalctl would print the name of a field that an entry does not have.
    @Test func onlyFieldsThatEachMessageHasAreUsed() throws {
        let operation: Set = [
            "WATCHD_HANDLER", "WATCHD_SOURCE", "WATCHD_QUEUE", "WATCHD_OPERATION", "WATCHD_ATTEMPT", "WATCHD_RESULT",
        ]
        for entry in try Self.entries() {
            let id = try #require(MessageID(rawValue: entry.id))
            let known: Set<String> =
                switch id {
                case .ready, .stopping, .stopped, .reloaded, .reloadRefused, .lastConfiguration, .storeFailing,
                    .storeWorking:
                    []
                case .operationDone, .operationFailed, .attemptFailed, .operationCancelled, .operationSkipped,
                    .operationDropped, .operationSuperseded, .operationAnnulled:
                    operation
                case .operationRedelivered: operation.subtracting(["WATCHD_RESULT"])
                case .deliveryRefused: ["WATCHD_HANDLER", "WATCHD_SOURCE", "WATCHD_RESULT"]
                case .handlerAdopted: ["WATCHD_HANDLER", "WATCHD_OPERATION", "WATCHD_ATTEMPT", "OBJECT_PID"]
                case .sourceFailed, .sourceArmedAgain: ["WATCHD_SOURCE"]
                }
            let text = entry.lines.joined(separator: "\n").split(separator: "@", omittingEmptySubsequences: false)
            #expect(text.count % 2 == 1, "\(entry.id)")
            let used = Set(text.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) })
            #expect(used.isSubset(of: known), "\(id): \(used.subtracting(known))")
        }
    }
}
