import LinuxSystem
import ProgramKit
import Store
import Testing
import WatchFile

@testable import Daemon
@testable import Engine

@Suite("Store writer") struct StoreWriterTests {
    private func ended(_ id: UInt64) -> StoreWrite {
        var view = OperationView(
            id: id, handler: "h", queue: "q", origin: .source(.init(.custom, "c")), state: .finished, result: .done,
            events: [], entries: 1, deliveries: 1, depth: 0, submitted: 1, attempt: 1)
        view.ended = Linux.now(.realtime)
        view.output = [UInt8](repeating: 1, count: 60_000)
        return .ended(view)
    }

    /// All comes at once, in a commit or two; the rest is done while nothing is written.
    @Test func theHistoryIsTrimmedThoughNothingMoreIsWritten() throws {
        try Folder.with { folder in
            let settings = DaemonSettings(keepHistoryBytes: 1 << 20)
            let writer = StoreWriter(nil, folder: folder.path.pathBytes, settings: settings) { _, _ in }
            for id in UInt64(1)...1000 {
                writer.write(.init(sequence: id, mayBeDropped: true, writes: [ended(id)]), isUrgent: id == 1000)
            }
            try wait(for: "the history to be trimmed, \(writer.historyBytes.map { "\($0)" } ?? "not counted")") {
                writer.historyBytes.map { $0 <= 1 << 20 } ?? false
            }
            writer.close { _ in }
        }
    }
}
