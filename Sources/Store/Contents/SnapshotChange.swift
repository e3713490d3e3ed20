/// A change of what a source is known to have handled below a root.
package struct SnapshotChange: Sendable {
    package enum Content: Sendable {
        /// Nothing is known of it any more, and it is not complete.
        case begin
        /// It is complete, with what is known of the root itself.
        case complete(about: [UInt8])
        /// Paths below the root, relative to it; `nil`: nothing stands there.
        case entries([Entry])
        /// It is gone, with all its paths.
        case forget
    }

    package struct Entry: Equatable, Sendable {
        package var path: [UInt8]
        package var state: [UInt8]?
        /// It counts only where nothing is known of the path.
        package var isWeak: Bool

        package init(path: [UInt8], state: [UInt8]?, isWeak: Bool = false) {
            self.path = path
            self.state = state
            self.isWeak = isWeak
        }
    }

    /// `path/uploads`.
    package var source: String
    package var root: [UInt8]
    package var content: Content

    package init(source: String, root: [UInt8], _ content: Content) {
        self.source = source
        self.root = root
        self.content = content
    }

    func write(_ database: Database) throws(StoreError) {
        switch content {
        case .forget:
            guard let id = try id(database) else { return }
            try removeEntries(id, database)
            try database.run("DELETE FROM path_root WHERE id = ?1") { $0.bind(1, id) }
        case .begin:
            let id = try madeID(database)
            try removeEntries(id, database)
            try database.run("UPDATE path_root SET about = NULL WHERE id = ?1") { $0.bind(1, id) }
        case .complete(let about):
            let id = try madeID(database)
            try database.run("UPDATE path_root SET about = ?2 WHERE id = ?1") {
                $0.bind(1, id)
                $0.bind(2, about)
            }
        case .entries(let entries):
            let id = try madeID(database)
            for entry in entries { try write(entry, id, database) }
        }
    }

    private func write(_ entry: Entry, _ id: Int64, _ database: Database) throws(StoreError) {
        guard let state = entry.state else {
            return try database.run("DELETE FROM path_entry WHERE root = ?1 AND path = ?2") {
                $0.bind(1, id)
                $0.bind(2, entry.path)
            }
        }
        let insertion: StaticString =
            entry.isWeak
            ? "INSERT OR IGNORE INTO path_entry (root, path, state) VALUES (?1, ?2, ?3)"
            : "REPLACE INTO path_entry (root, path, state) VALUES (?1, ?2, ?3)"
        try database.run(insertion) {
            $0.bind(1, id)
            $0.bind(2, entry.path)
            $0.bind(3, state)
        }
    }

    private func removeEntries(_ id: Int64, _ database: Database) throws(StoreError) {
        try database.run("DELETE FROM path_entry WHERE root = ?1") { $0.bind(1, id) }
    }

    private func id(_ database: Database) throws(StoreError) -> Int64? {
        var id: Int64?
        try database.run("SELECT id FROM path_root WHERE source = ?1 AND root = ?2") {
            $0.bind(1, source)
            $0.bind(2, root)
        } rows: {
            id = $0.number(0)
        }
        return id
    }

    private func madeID(_ database: Database) throws(StoreError) -> Int64 {
        if let id = try id(database) { return id }
        try database.run("INSERT INTO path_root (source, root) VALUES (?1, ?2)") {
            $0.bind(1, source)
            $0.bind(2, root)
        }
        guard let id = try id(database) else {
            throw .damaged(path: database.path, detail: "a row of path_root is not found behind its writing")
        }
        return id
    }
}
