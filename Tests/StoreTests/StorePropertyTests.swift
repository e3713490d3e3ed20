import ProgramKit
import SeedKit
import Store
import Testing

@Suite("Store, random changes") struct StorePropertyTests {
    @Test func itHoldsWhatAPlainValueWouldHold() throws {
        for seed in Seeds.range(5, long: 40) {
            try Folder.with { folder in
                var changes = RandomChanges(seed: seed)
                var model = StoreModel()
                var store: Store? = try Store.open(folder)
                for round in 0..<60 {
                    let commit = changes.commit(upTo: 12)
                    try store?.commit(commit)
                    model.apply(commit)
                    guard changes.random.chance(10) else { continue }
                    let isClosed = changes.random.chance(50)
                    if isClosed { store?.close() }
                    // The lock goes with the last use.
                    store = nil
                    let opened = try Store.open(folder)
                    let contents = opened.takeContents()
                    store = opened
                    #expect(contents.wasClosed == isClosed, "seed \(seed), round \(round)")
                    #expect(StoreModel(contents) == model.contents, "seed \(seed), round \(round)")
                    #expect(contents.lastRecorded == model.history.keys.max() ?? 0, "seed \(seed), round \(round)")
                    try check(model, folder, "seed \(seed), round \(round)", &changes.random)
                }
            }
        }
    }

    private func check(
        _ model: StoreModel, _ folder: Folder, _ place: String, _ random: inout SeededGenerator
    ) throws {
        let reader = try HistoryReader.open(folder)
        for _ in 0..<20 {
            let query = query(model, &random)
            #expect(try reader.page(query) == model.page(query), "\(place), \(query)")
        }
        for row in model.history.values {
            let found = try reader.record(row.id)
            let attempts = try found?.attempts.map { attempt in
                var attempt = attempt
                attempt.output = try reader.output(of: row.id, attempt: attempt.attempt)
                return attempt
            }
            #expect(found?.row == row && attempts == model.attempts[row.id] ?? [], "\(place)")
        }
        let failed = model.newest.reversed().filter { $0.handler == "h1" && $0.result == "failed" && !$0.isSettled }
        let expected = failed.prefix(3).map { row in
            var row = row
            row.output = nil
            return row
        }
        #expect(try reader.failed(handler: "h1", limit: 3) == expected, "\(place)")
        #expect(try reader.check() == nil, "\(place)")
    }

    private func query(_ model: StoreModel, _ random: inout SeededGenerator) -> HistoryQuery {
        var query = HistoryQuery()
        if random.chance(40) { query.handler = "h\(random.upTo(4))" }
        if random.chance(40) { query.source = "path/\(random.upTo(3))" }
        if random.chance(40) {
            query.results = random.pick([["done"], ["failed", "stopped"], ["cancelled"], ["none"]])
        }
        query.isUnsettled = random.chance(20)
        let rows = model.newest
        if !rows.isEmpty {
            if random.chance(30) { query.since = random.pick(rows).ended }
            if random.chance(30) { query.until = random.pick(rows).ended }
            if random.chance(30) {
                let row = random.pick(rows)
                query.after = .init(ended: row.ended, id: row.id)
            }
        }
        query.limit = random.upTo(30)
        return query
    }
}
