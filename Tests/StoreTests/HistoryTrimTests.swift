import ProgramKit
import SeedKit
import Store
import Testing

@Suite("Store, forgetting") struct HistoryTrimTests {
    @Test func whatTheLimitsAllowStays() throws {
        for seed in Seeds.range(8) {
            try Folder.with { folder in
                var changes = RandomChanges(seed: seed)
                var model = StoreModel()
                let store = try Store.open(folder)
                let limits = HistoryLimits(
                    records: changes.random.upTo(80), age: Int64(200 + changes.random.upTo(2000)))
                for round in 0..<40 {
                    var commit = (0..<changes.random.upTo(30)).map { _ in StoreChange.record(changes.record()) }
                    if let row = model.history.values.min(by: { $0.id < $1.id }), changes.random.chance(30) {
                        commit.append(.settle(id: row.id, by: nil))
                    }
                    try store.commit(commit)
                    model.apply(commit)
                    guard changes.random.chance(40) else { continue }
                    let now = (model.newest.first?.ended ?? 0) + 5
                    let kept = model.kept(limits, now: now)
                    while try store.trim(limits, now: now) {}
                    model.history = model.history.filter { kept.contains($0.key) }
                    let left = try HistoryReader.open(folder).all().map(\.id)
                    let expected = model.newest.map(\.id)
                    let tooMany = left.filter { !expected.contains($0) }
                    let missing = expected.filter { !left.contains($0) }
                    #expect(left == expected, "seed \(seed), round \(round): too many \(tooMany), not \(missing)")
                }
            }
        }
    }

    @Test func aCallForgetsAFewHundredOnly() throws {
        try Folder.with { folder in
            let before = try Store.open(folder)
            try before.commit((1...3000).map { .record(record($0)) })
            before.close()
            let store = try Store.open(folder)
            let limits = HistoryLimits(records: 100, age: .max)
            #expect(try store.trim(limits, now: 0))
            let left = try HistoryReader.open(folder).all().count
            #expect((2500..<3000).contains(left))
            var calls = 1
            while try store.trim(limits, now: 0) { calls += 1 }
            #expect(try HistoryReader.open(folder).all().map(\.id) == (2901...3000).reversed())
            #expect(calls < 20)
        }
    }

    @Test func forgettingKeepsUpWithWhatComes() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let limits = HistoryLimits(records: 50, age: .max)
            for round in 0..<10 {
                let first = UInt64(round) * 1000 + 1
                try store.commit((first..<first + 1000).map { .record(record($0)) })
                _ = try store.trim(limits, now: 0)
            }
            #expect(try HistoryReader.open(folder).all().count < 2500)
        }
    }

    @Test func withoutAHistoryOnlyTheLastOnesOfAHandlerAreWritten() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            var rows = (1...500).map { record(UInt64($0)) }
            rows[100].result = "failed"
            rows[200].attempt = 2
            try store.commit(rows.map { .record($0) }, keeping: HistoryLimits(records: 0, age: .max))
            let written = try HistoryReader.open(folder).all().map(\.id)
            #expect(written == (491...500).reversed() + [201, 101])
            while try store.trim(HistoryLimits(records: 0, age: .max), now: 0) {}
            #expect(try HistoryReader.open(folder).all().map(\.id) == (491...500).reversed() + [101])
        }
    }

    @Test func aLongHistoryIsCountedInSlices() throws {
        try Folder.with { folder in
            let before = try Store.open(folder)
            try before.commit((1...30_000).map { .record(record($0)) })
            before.close()
            let store = try Store.open(folder)
            let limits = HistoryLimits(records: 29_000, age: .max)
            #expect(try store.trim(limits, now: 0))
            // What comes and goes meanwhile is counted too.
            try store.commit((30_001...30_500).map { .record(record($0)) } + [.record(record(5))])
            #expect(try HistoryReader.open(folder).all().count == 30_500)
            while try store.trim(limits, now: 0) {}
            #expect(try HistoryReader.open(folder).all().count == 29_000)
        }
    }

    @Test func whatBelongsToARecordGoesWithIt() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.attempt(AttemptRow(operation: 1, attempt: 1, ended: 1))])
            try store.commit((1...40).map { .record(record($0)) })
            #expect(try HistoryReader.open(folder).record(1)?.attempts.count == 1)
            while try store.trim(HistoryLimits(records: 10, age: .max), now: 0) {}
            #expect(try HistoryReader.open(folder).record(1) == nil)
            try store.commit([.record(record(1))])
            #expect(try HistoryReader.open(folder).record(1)?.attempts.isEmpty == true)
        }
    }

    @Test func attemptsOfWhatIsKnownNoMoreAreForgotten() throws {
        try Folder.with { folder in
            var store: Store? = try Store.open(folder)
            let attempts = (1...200).map { StoreChange.attempt(AttemptRow(operation: $0, attempt: 1, ended: 1)) }
            try store?.commit(attempts + [.put(operation(7)), .record(record(8))])
            store = nil
            let opened = try Store.open(folder)
            while try opened.trim(HistoryLimits(records: 10, age: .max), now: 0) {}
            try opened.commit((1...200).map { .record(record($0)) })
            let reader = try HistoryReader.open(folder)
            let known = try (1...200).filter { try reader.record($0)?.attempts.isEmpty == false }
            #expect(known == [7, 8])
        }
    }

    @Test func ofOutputTheEndIsKept() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            var row = record(1)
            row.output = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try store.commit([.record(row)])
            let kept = try #require(try HistoryReader.open(folder).record(1)?.row.output)
            #expect(kept == Array(row.output?.suffix(65_536) ?? []))
        }
    }

    @Test func theOldestOutputsGoFirst() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let output = [UInt8](repeating: 1, count: 65_536)
            for id in UInt64(1)...1040 {
                var row = record(id)
                row.output = output
                try store.commit([.record(row)])
            }
            let limits = HistoryLimits(records: 10_000, age: .max)
            while try store.trim(limits, now: 0) {}
            let reader = try HistoryReader.open(folder)
            let with = try (1...1040).filter { try reader.record($0)?.row.output != nil }
            // 64 MiB are 1024 of them.
            #expect(with == Array(17...1040))
            #expect(try !store.trim(limits, now: 0))
        }
    }
}
