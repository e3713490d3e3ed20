import LinuxSystem
import ProgramKit
import SeedKit
import Store
import Testing

@Suite("Store, forgetting") struct HistoryTrimTests {
    @Test func whatTheLimitsAllowStays() throws {
        for seed in Seeds.range(4, long: 40) {
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
            var attempt = AttemptRow(operation: 1, attempt: 1, ended: 1, output: [1, 2])
            attempt.usage = UsageRow(isOfProcess: false, memory: 4096)
            try store.commit([.attempt(attempt)])
            var first = record(1)
            first.usage = UsageRow(isOfProcess: true, processor: 9)
            try store.commit([.record(first)] + (2...40).map { .record(record($0)) })
            let reader = try HistoryReader.open(folder)
            let found = try reader.record(1)
            #expect(found?.row.usage == first.usage && found?.attempts.map(\.usage) == [attempt.usage])
            #expect(try reader.record(1)?.attempts.count == 1)
            #expect(try reader.output(of: 1, attempt: 1) == [1, 2])
            while try store.trim(HistoryLimits(records: 10, age: .max), now: 0) {}
            #expect(try reader.record(1) == nil)
            #expect(try reader.output(of: 1, attempt: 1) == nil)
            try store.commit([.record(record(1))])
            #expect(try HistoryReader.open(folder).record(1)?.attempts.isEmpty == true)
            #expect(try HistoryReader.open(folder).record(1)?.row.usage == nil)
        }
    }

    @Test func ofAnOperationThatIsTriedWithoutEndTheNewestAttemptsStay() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let attempts = (1...1020).map { attempt in
                AttemptRow(operation: 1, attempt: attempt, ended: 1, output: [UInt8(attempt % 256)])
            }
            try store.commit(attempts.map { .attempt($0) })
            try store.commit([.record(record(1))])
            let reader = try HistoryReader.open(folder)
            #expect(try reader.record(1)?.attempts.map(\.attempt) == Array(21...1020))
            let withOutput = try (900...1020).filter { try reader.output(of: 1, attempt: $0) != nil }
            #expect(withOutput == Array(971...1020))
        }
    }

    @Test func outputsOfEarlierAttemptsGoBeforeAllOthers() throws {
        try Folder.with { folder in
            var store: Store? = try Store.open(folder)
            let output = [UInt8](repeating: 1, count: 10_000)
            let attempts = (1...20).map { AttemptRow(operation: $0, attempt: 1, ended: 1, output: output) }
            try store?.commit(attempts.map { .attempt($0) } + (1...20).map { .record(large($0)) })
            // What is counted is forgotten.
            store = nil
            let again = try Store.open(folder)
            try forget(again, HistoryLimits(records: 1000, age: .max, bytes: 300_000))
            let reader = try HistoryReader.open(folder)
            let kept = try (1...20).filter { try reader.output(of: UInt64($0), attempt: 1) != nil }
            #expect(kept == Array(13...20), "\(kept)")
            #expect(try (1...20).allSatisfy { try reader.record(UInt64($0))?.row.output != nil })
            #expect(try #require(again.historyBytes) <= 300_000)
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

    /// An operation that is tried again and again has no record, and need not be kept.
    @Test func attemptsOfWhatIsTriedAgainStay() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit((1...3).map { .attempt(AttemptRow(operation: 1, attempt: $0, ended: 1)) })
            while try store.trim(HistoryLimits(records: 10, age: .max), now: 0) {}
            try store.commit([.record(record(1))])
            #expect(try HistoryReader.open(folder).record(1)?.attempts.map(\.attempt) == [1, 2, 3])
        }
    }

    /// A retry is not lost because its record was forgotten.
    @Test func aFailureStaysSettledWhenTheRetryIsForgotten() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            var failed = record(1)
            failed.result = "failed"
            try store.commit([.record(failed), .settle(id: 1, by: 2)])
            #expect(try HistoryReader.open(folder).unfinishedRetries().map(\.failed) == [1], "it has not ended")
            try store.commit((2...30).map { .record(record(UInt64($0))) })
            while try store.trim(HistoryLimits(records: 5, age: .max), now: 0) {}
            let reader = try HistoryReader.open(folder)
            #expect(try reader.record(1) != nil && reader.record(2) == nil)
            #expect(try reader.unfinishedRetries().isEmpty)
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

    // MARK: Bytes

    private func large(_ id: UInt64, _ result: String = "done", handler: String = "h", events: Int = 10) -> HistoryRow {
        var row = record(id, result, handler: handler)
        row.output = [UInt8](repeating: UInt8(id & 0xFF), count: 10_000)
        row.events = [UInt8](repeating: 1, count: events)
        return row
    }

    private func forget(_ store: Store, _ limits: HistoryLimits) throws { while try store.trim(limits, now: 0) {} }

    @Test func theOldestOutputsGoFirst() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit((1...100).map { .record(large($0)) })
            let limits = HistoryLimits(records: 1000, age: .max, bytes: 300_000)
            try forget(store, limits)
            let reader = try HistoryReader.open(folder)
            #expect(try reader.all().count == 100)
            let kept = try (1...100).filter { try reader.record(UInt64($0))?.row.output != nil }
            #expect(kept == Array(77...100), "\(kept)")
            #expect(try #require(store.historyBytes) <= 300_000)
        }
    }

    @Test func thenTheOldestRecords() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit((1...100).map { .record(large($0, events: 10_000)) })
            try forget(store, HistoryLimits(records: 1000, age: .max, bytes: 300_000))
            let left = try HistoryReader.open(folder).all().map(\.id)
            #expect(left == (left[left.count - 1]...100).reversed() && (10...20).contains(left.count), "\(left)")
            #expect(try #require(store.historyBytes) <= 300_000)
        }
    }

    /// Of every handler some records stay, and what failed waits for somebody: they lose what is large.
    @Test func whatStaysLosesItsOutputAndItsEvents() throws {
        try Folder.with { folder in
            var store: Store? = try Store.open(folder)
            let rows = (1...50).map { large($0, $0 % 2 == 0 ? "failed" : "done", handler: "h\($0)", events: 10_000) }
            try store?.commit(rows.map { .record($0) })
            // What is counted is forgotten.
            store = nil
            let again = try Store.open(folder)
            try forget(again, HistoryLimits(records: 1000, age: .max, bytes: 100_000))
            #expect(try HistoryReader.open(folder).all().count == 50)
            #expect(try #require(again.historyBytes) <= 100_000)
            try again.commit([.record(large(51))])
            try forget(again, HistoryLimits(records: 1000, age: .max, bytes: 100_000))
            #expect(try HistoryReader.open(folder).record(51)?.row.output != nil)
        }
    }

    /// More comes with each commit than a mebibyte, which is what was once counted at a time.
    @Test func whatIsLargeIsCountedThoughMoreComesEachTime() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let limits = HistoryLimits(records: 100_000, age: .max, bytes: 4 << 20)
            for round in UInt64(0)..<10 {
                try store.commit((1...200).map { .record(large(round * 200 + $0)) })
                _ = try store.trim(limits, now: 0)
            }
            #expect(try #require(store.historyBytes) <= 4 << 20)
        }
    }

    @Test func theFileDoesNotGrowWithWhatIsForgotten() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            let limits = HistoryLimits(records: 100_000, age: .max, bytes: 1 << 20)
            for round in UInt64(0)..<40 {
                try store.commit((1...20).map { .record(large(round * 20 + $0)) })
                _ = try store.trim(limits, now: 0)
            }
            let bytes = try Linux.lstat(folder[Folder.database]).size
            #expect(bytes < 3 << 20, "\(bytes) of \(800 * 10_000)")
        }
    }
}
