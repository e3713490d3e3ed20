import LinuxSystem
import ProgramKit
import SeedKit
import Store
import Testing

/// What the log of SQLite looks like (`fileformat2.html#walformat`).
private enum LogFormat {
    static let header = 32
    /// A frame: its header and a page.
    static let frame = 24 + 4096
}

@Suite("Store, after a crash") struct StoreCrashTests {
    @Test func aCutLogGivesWholeCommits() throws {
        for seed in Seeds.range(1) {
            try Folder.with { folder in
                var random = SeededGenerator(seed: seed)
                let (states, database, log) = try commits(folder, seed: seed)
                var last = 0
                for count in cuts(of: log.count, &random) {
                    let state = try reopen(database, Array(log[..<count]))
                    // Never fewer than with less of the log; the first that fits, as a commit may change nothing.
                    let next = (last..<states.count).first { states[$0] == state }
                    #expect(next != nil, "seed \(seed): \(count) bytes of the log give no whole commit")
                    last = next ?? last
                }
                #expect(states[last] == states.last, "seed \(seed)")
            }
        }
    }

    /// While the log is moved into the file, any part of any page may have been written.
    @Test func aHalfMovedLogGivesEverything() throws {
        for seed in Seeds.range(1) {
            try Folder.with { folder in
                var random = SeededGenerator(seed: seed)
                let (states, database, log) = try commits(folder, seed: seed)
                for _ in 0..<20 {
                    let mixed = mix(database, log, &random)
                    #expect(try reopen(mixed, log) == states.last, "seed \(seed)")
                }
            }
        }
    }

    /// Random bytes at the end: what the file system may show of a log after loss of power.
    @Test func aLogWithABadEndGivesWholeCommits() throws {
        for seed in Seeds.range(1) {
            try Folder.with { folder in
                var random = SeededGenerator(seed: seed)
                let (states, database, log) = try commits(folder, seed: seed)
                for _ in 0..<20 {
                    var bad = log
                    let start = LogFormat.header + random.upTo(log.count - LogFormat.header - 1)
                    for index in start..<min(bad.count, start + 1 + random.upTo(5000)) {
                        bad[index] = UInt8(random.upTo(255))
                    }
                    let state = try reopen(database, bad)
                    #expect(states.contains(state), "seed \(seed), bad from \(start)")
                }
            }
        }
    }

    /// The states after every commit, the first one before any, and the files as they stand after the last, with the
    /// store still open.
    private func commits(
        _ folder: Folder, seed: UInt64
    ) throws -> (states: [StoreModel], database: [UInt8], log: [UInt8]) {
        try Store.open(folder).close()
        let store = try Store.open(folder)
        var changes = RandomChanges(seed: seed)
        var states = [StoreModel()]
        for _ in 0..<15 {
            let commit = changes.commit(upTo: 8)
            try store.commit(commit)
            states.append(states[states.count - 1])
            states[states.count - 1].apply(commit)
        }
        // Attempts are seen beside a record only.
        for index in states.indices {
            let known = states[index].history
            states[index].attempts = states[index].attempts.filter { known[$0.key] != nil }
        }
        return (states, folder.bytes(Folder.database), folder.bytes(Folder.log))
    }

    /// All ends of frames, and some places in between.
    private func cuts(of count: Int, _ random: inout SeededGenerator) -> [Int] {
        let ends = Array(stride(from: LogFormat.header, through: count, by: LogFormat.frame))
        #expect(ends.last == count)
        var cuts = [0, 1, 31] + ends
        for end in ends.dropLast() {
            cuts += [end + random.upTo(23), end + 24 + random.upTo(4095), end + LogFormat.frame - 1]
        }
        return cuts.sorted()
    }

    /// The file with some sectors of pages that stand in the log.
    private func mix(_ database: [UInt8], _ log: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var mixed = database
        for frame in stride(from: LogFormat.header, to: log.count, by: LogFormat.frame) where random.chance(50) {
            let number = log[frame..<frame + 4].reduce(0) { $0 << 8 | Int($1) }
            let page = (number - 1) * 4096
            if mixed.count < page + 4096 { mixed += [UInt8](repeating: 0, count: page + 4096 - mixed.count) }
            for sector in stride(from: 0, to: 4096, by: 512) where random.chance(70) {
                let start = frame + 24 + sector
                mixed.replaceSubrange(page + sector..<page + sector + 512, with: log[start..<start + 512])
            }
        }
        return mixed
    }

    private func reopen(_ database: [UInt8], _ log: [UInt8]) throws -> StoreModel {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try folder.put(Folder.database, database)
            try folder.put(Folder.log, log)
            let store = try Store.open(folder)
            let contents = store.takeContents()
            #expect(contents.setAside == nil)
            var state = StoreModel(contents)
            let reader = try HistoryReader.open(folder)
            for row in try reader.all() {
                let found = try #require(try reader.record(row.id))
                state.history[row.id] = found.row
                if !found.attempts.isEmpty { state.attempts[row.id] = found.attempts }
            }
            return state
        }
    }
}
