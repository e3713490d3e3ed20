extension StoreContents {
    /// Reads everything but the history.
    init(_ database: Database) throws(StoreError) {
        operations = try database.rows(
            "SELECT id, handler, queue, source, state, events FROM operation ORDER BY id", { _ in }, Self.operation)
        // A damaged page may lead back to where it has been.
        let isInOrder = operations.indices.dropFirst().allSatisfy {
            Int64(bitPattern: operations[$0 - 1].id) < Int64(bitPattern: operations[$0].id)
        }
        if !isInOrder { throw .damaged(path: database.path, detail: "operations are not in order") }
        try readAppended(database)
        try readHeld(database)
        try database.run("SELECT name, value FROM mark", rows: { marks[$0.text(0)] = $0.bytes(1) })
        try database.run(
            "SELECT source, root, about FROM path_root WHERE about IS NOT NULL ORDER BY id",
            rows: { snapshots.append(($0.text(0), $0.bytes(1), $0.bytes(2))) })
        // An entry that is not there: the file is new.
        wasClosed = try database.number("SELECT value FROM state WHERE name = 'closed'") != 0
        commits = try database.number("SELECT value FROM state WHERE name = 'commits'") ?? 0
        let recorded = try database.number("SELECT max(id) FROM history") ?? 0
        let earlier = try database.number("SELECT value FROM state WHERE name = 'lastRecorded'") ?? 0
        lastRecorded = UInt64(bitPattern: max(recorded, earlier))
    }

    private static func operation(_ row: Statement) -> OperationRow {
        OperationRow(
            id: row.id(0), handler: row.text(1), queue: row.text(2), source: row.text(3), state: row.bytes(4),
            events: row.bytes(5))
    }

    private mutating func readAppended(_ database: Database) throws(StoreError) {
        // Both are in the order of the operations.
        var index = 0
        try database.run(
            "SELECT operation, events FROM appended ORDER BY operation, id",
            rows: { row in
                let id = row.number(0)
                while index < operations.count, Int64(bitPattern: operations[index].id) < id { index += 1 }
                guard index < operations.count, operations[index].id == row.id(0) else { return }
                operations[index].appended.append(row.bytes(1))
            })
    }

    private mutating func readHeld(_ database: Database) throws(StoreError) {
        var places: [String: Int] = [:]
        try database.run(
            "SELECT source, events FROM held ORDER BY id",
            rows: { row in
                let source = row.text(0)
                if let place = places[source] {
                    held[place].events.append(row.bytes(1))
                } else {
                    places[source] = held.count
                    held.append((source, [row.bytes(1)]))
                }
            })
    }
}
