import LinuxSystem
import Schedule
import Store

/// A long history, written while no daemon has the store: one run every 0.8 s up to now, of ten handlers and one that
/// runs seldom.
struct HistoryFill {
    static let rare = "rare"
    /// One in so many is of the rare handler; one in so many has failed.
    private static let rarity = 100_000
    private static let failures = 97
    private static let spacing: Int64 = 800_000
    private static let recordsPerCommit = 10_000
    /// Above those of the operations that wait.
    private static let firstID: UInt64 = 10_000_000

    let records: Int
    /// Wall clock, µs; an hour ago, so that what the benchmark does is newer.
    private let end = Linux.now(.realtime) / 3_600_000_000 * 3_600_000_000 - 3_600_000_000

    init(records: Int) { self.records = records }

    /// When the record of this number ended, as a client says it.
    func time(of record: Int) -> String { Timestamp(microseconds: ended(record)).description }

    func write(into folder: String) throws {
        let store = try Store(folder: Array(folder.utf8), durability: .crash)
        var next = 0
        while next < records {
            let last = min(records, next + Self.recordsPerCommit)
            try store.commit((next..<last).map { .record(row($0)) })
            next = last
        }
        store.close()
    }

    private func ended(_ record: Int) -> Int64 { end - Int64(records - record) * Self.spacing }

    private func row(_ record: Int) -> HistoryRow {
        let handler = record % Self.rarity == Self.rarity / 2 ? Self.rare : "h\(record % 10)"
        // The rare source fires the first handler too.
        let source = record % Self.rarity == 10 ? Self.rare : handler
        let hasFailed = record % Self.failures == 0
        let ended = ended(record)
        return HistoryRow(
            id: Self.firstID + UInt64(record), handler: handler, queue: "default", source: "path/\(source)",
            result: hasFailed ? "failed" : "done", exitStatus: hasFailed ? 1 : 0, submitted: ended - 20_000,
            started: ended - 10_000, ended: ended, isSettled: hasFailed && record % 2 == 0,
            cause: "/srv/uploads/2026/11/20/image-000000.jpg", events: Self.events, output: Self.output)
    }

    /// As large as those of a path with one change; a list does not read them.
    private static let events = [UInt8](repeating: 1, count: 120)
    private static let output = Array("written /srv/thumbs/image-000000.jpg, 200x200\n".utf8)
}
