import LinuxSystem
import ProgramKit
import SeedKit
import Store
import Testing

@Suite("Store, damaged") struct StoreDamageTests {
    /// Of a file that holds what `content` says.
    private struct Example {
        var model = StoreModel()
        var database: [UInt8]
        var log: [UInt8]
    }

    /// - Parameter isClosed: all stands in the file, and nothing in the log.
    private func example(isClosed: Bool) throws -> Example {
        try Folder.with { folder in
            var changes: [StoreChange] = [.mark(name: "ids", value: [1]), .mark(name: "once/h", value: [2])]
            for id in UInt64(1)...200 {
                changes += [.put(operation(id)), .record(record(1000 + id, id % 5 == 0 ? "failed" : "done"))]
                if id % 10 == 0 { changes.append(.append(id: id, events: [UInt8](repeating: 7, count: 500))) }
                changes.append(.hold(source: "signal/\(id % 3)", events: Array("held \(id)".utf8), replacing: false))
            }
            var model = StoreModel()
            model.apply(changes)
            let store = try Store.open(folder)
            for change in changes { try store.commit([change]) }
            if isClosed { store.close() }
            return Example(
                model: model, database: folder.bytes(Folder.database), log: folder.bytes(Folder.log))
        }
    }

    /// Opens files that may be damaged: it must work, then and afterwards; what it says must have been there.
    @discardableResult
    private func open(
        _ database: [UInt8], _ log: [UInt8], _ example: Example, _ place: String, exact: Bool = true
    ) throws -> StoreContents {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try folder.put(Folder.database, database)
            if !log.isEmpty { try folder.put(Folder.log, log) }
            var store: Store? = try Store.open(folder)
            let contents = try #require(store?.takeContents())
            if exact { compare(contents, example.model, place) }
            #expect((contents.setAside != nil) == (folder.damagedFiles.count == 1), "\(place)")
            if contents.setAside != nil {
                #expect(folder.bytes("state/\(folder.damagedFiles[0])") == database, "\(place)")
                #expect(!contents.wasClosed, "\(place)")
            }
            let expected = StoreModel(contents)
            try use(&store, folder, expected, place)
            return contents
        }
    }

    /// Operations that are there are whole.
    private func compare(_ contents: StoreContents, _ model: StoreModel, _ place: String) {
        for row in contents.operations {
            var known = model.operations[row.id]
            known?.appended = row.appended
            #expect(known == row, "\(place)")
        }
        for held in contents.held {
            let known = Set(model.held.first { $0.source == held.source }?.events ?? [])
            #expect(known.isSuperset(of: held.events), "\(place)")
        }
        for (name, value) in contents.marks { #expect(model.marks[name] == value, "\(place)") }
    }

    /// Works as any other; if damage shows up only now, it works from the next opening on.
    private func use(_ store: inout Store?, _ folder: Folder, _ expected: StoreModel, _ place: String) throws {
        var known = expected
        for attempt in 0..<3 {
            do throws(StoreError) {
                try store?.commit([.put(operation(9999)), .record(record(9998)), .remove(id: 5)])
                break
            } catch {
                guard case .damaged = error else { throw error }
                #expect(attempt < 2, "\(place): it stays damaged")
                store = nil
                let opened = try Store.open(folder)
                let contents = opened.takeContents()
                #expect(contents.setAside != nil, "\(place)")
                known = StoreModel(contents)
                store = opened
            }
        }
        store?.close()
        known.apply([.put(operation(9999)), .remove(id: 5)])
        let again = try Store.contents(folder)
        #expect(StoreModel(again).contents == known.contents && again.setAside == nil, "\(place)")
    }

    @Test func aFileThatWasEmptiedIsNoNewOne() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            try store.commit([.put(operation(1))])
            store.close()
            try folder.put(Folder.database, [])
            #expect(!folder.exists(Folder.log))
            var again: Store? = try Store.open(folder)
            let contents = try #require(again?.takeContents())
            #expect(contents.setAside != nil && !contents.wasClosed && contents.operations.isEmpty)
            #expect(folder.damagedFiles.count == 1)
            again = nil
            #expect(try Store.open(folder).takeContents().setAside == nil, "it is told once")
        }
    }

    @Test func aFileThatIsGoneIsNamedOnce() throws {
        try Folder.with { folder in
            let store = try Store.open(folder)
            #expect(!store.takeContents().wasRemoved, "the first one")
            try store.commit([.put(operation(1))])
            store.close()
            try Linux.unlink(folder[Folder.database])
            var again: Store? = try Store.open(folder)
            let contents = try #require(again?.takeContents())
            #expect(contents.wasRemoved && !contents.wasClosed && contents.setAside == nil)
            again = nil
            #expect(try !Store.open(folder).takeContents().wasRemoved)
        }
    }

    @Test func anEmptyFileInAFolderThatNeverHadAStoreIsANewOne() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try folder.put(Folder.database, [])
            #expect(try Store.open(folder).takeContents().setAside == nil)
            #expect(folder.damagedFiles.isEmpty)
        }
    }

    @Test func aFileCutAtAnyPageIsOpened() throws {
        let example = try example(isClosed: true)
        for count in stride(from: 0, through: example.database.count, by: 4096) {
            let contents = try open(Array(example.database[..<count]), [], example, "\(count) bytes")
            if count == example.database.count { #expect(StoreModel(contents) == example.model.contents) }
            // From the page after the first tables on, there is something to be taken over.
            if count > 0, count < example.database.count { #expect(contents.setAside != nil, "\(count) bytes") }
        }
    }

    @Test func aFileCutBesideItsLogIsOpened() throws {
        let example = try example(isClosed: false)
        #expect(!example.log.isEmpty)
        for count in stride(from: 0, through: example.database.count, by: 4096) {
            try open(Array(example.database[..<count]), example.log, example, "\(count) bytes, whole log")
        }
    }

    @Test func aLogCutAtAnyPageIsOpened() throws {
        let example = try example(isClosed: false)
        let step = max(4096, example.log.count / 40 / 4096 * 4096)
        for count in stride(from: 0, through: example.log.count, by: step) {
            let contents = try open(example.database, Array(example.log[..<count]), example, "log of \(count) bytes")
            #expect(contents.setAside == nil, "log of \(count) bytes")
        }
    }

    @Test func onePageOfOperationsCostsOnlyItsRows() throws {
        let example = try example(isClosed: true)
        let words = Array("state 100".utf8)
        let place = try #require(
            example.database.indices.first { example.database[$0...].starts(with: words) })
        var database = example.database
        let page = place / 4096 * 4096
        for index in page..<page + 4096 { database[index] = 0xFF }
        let contents = try open(database, [], example, "page \(page / 4096)")
        #expect(contents.setAside != nil)
        #expect((100..<200).contains(contents.operations.count))
        #expect(contents.operations.first?.id == 1 && contents.operations.last?.id == 200)
        #expect(contents.marks == example.model.marks)
        #expect(contents.held.map(\.events.count).reduce(0, +) == 200)
        #expect(contents.lastRecorded == 1200)
    }

    @Test func randomBytesAnywhereNeverStopIt() throws {
        let example = try example(isClosed: true)
        for seed in Seeds.range(20, long: 200) {
            var random = SeededGenerator(seed: seed)
            var database = example.database
            for _ in 0...random.upTo(3) {
                let start = random.upTo(database.count - 1)
                for index in start..<min(database.count, start + 1 + random.upTo(2000)) {
                    database[index] = UInt8(random.upTo(255))
                }
            }
            // Bytes of a row say nothing of themselves: what stands there may be other than it was.
            try open(database, [], example, "seed \(seed)", exact: false)
        }
    }

    @Test func whatIsNoStoreIsSetAside() throws {
        let example = try example(isClosed: true)
        let zeros = [UInt8](repeating: 0, count: 20_000)
        for other in [zeros, Array("What is this?\n".utf8), [0], Array("SQLite format 3\0".utf8)] {
            let contents = try open(other, [], example, "\(other.count) bytes")
            #expect(contents.setAside != nil && contents.operations.isEmpty, "\(other.count) bytes")
        }
    }

    @Test func theNextDamagedFileGetsANameOfItsOwn() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            for count in 1...3 {
                try folder.put(Folder.database, Array("What is this?\n".utf8))
                #expect(try Store.contents(folder).setAside != nil)
                #expect(folder.damagedFiles.count == count)
            }
        }
    }

    /// A crash in the middle of the replacement.
    @Test func aReplacementIsFinishedByTheNext() throws {
        let example = try example(isClosed: true)
        try Folder.with { folder in
            try folder.makeFolder("state")
            // Not complete, as the damaged one still stands there.
            try folder.put("state/watchd.db.new", [1, 2, 3])
            try folder.put(Folder.database, example.database)
            #expect(StoreModel(try Store.contents(folder)) == example.model.contents)
            // Complete, as nothing stands there but a log that belongs to the damaged one.
            try Linux.rename(folder[Folder.database], to: folder["state/watchd.db.new"])
            try folder.put(Folder.log, example.log + [1])
            #expect(StoreModel(try Store.contents(folder)) == example.model.contents)
        }
    }

    @Test func theCheckFindsWhatNobodyHasReadYet() throws {
        let example = try example(isClosed: true)
        try Folder.with { folder in
            try folder.makeFolder("state")
            var database = example.database
            let words = Array("events 1100".utf8)
            let place = try #require(database.indices.first { database[$0...].starts(with: words) })
            let page = place / 4096 * 4096
            for index in page..<page + 4096 { database[index] = 0xFF }
            try folder.put(Folder.database, database)
            var store: Store? = try Store.open(folder)
            #expect(store?.takeContents().setAside == nil)
            let reader = try HistoryReader.open(folder)
            #expect(try reader.check() != nil)
            store = nil
            let contents = try Store.contents(folder)
            #expect(contents.setAside != nil)
            #expect(StoreModel(contents) == example.model.contents)
            // The same reader sees the new file.
            #expect(try reader.check() == nil)
            #expect(try reader.all().isEmpty)
        }
    }
}
