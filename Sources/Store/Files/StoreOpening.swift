import LinuxSystem

/// The way to an open store. At each point a crash may come: the next opening goes on from there.
struct StoreOpening {
    let files: StoreFiles
    let durability: Store.Durability
    let migrations: [String]
    /// A store was open in this folder before.
    let wasUsed: Bool
    /// So many commits it was given, as far as that is known.
    let commitsMade: Int64

    func run() throws(StoreError) -> (Database, StoreContents) {
        try finishReplacement()
        let wasThere = files.exists(files.database)
        let size = try files.prepareDatabase()
        let isEmptied = size == 0 && wasThere && wasUsed
        let isRemoved = !wasThere && wasUsed
        if !isEmptied, try isPlausible(size), !files.exists(files.suspicion) {
            do throws(StoreError) {
                var (database, contents) = try open()
                if isRemoved {
                    (contents.wasRemoved, contents.wasClosed) = (true, false)
                } else if contents.commits < commitsMade {
                    (contents.missing, contents.wasClosed) = (Int(commitsMade - contents.commits), false)
                }
                return (database, contents)
            } catch {
                guard case .damaged = error else { throw error }
            }
        }
        let aside = try replace()
        var (database, contents) = try open()
        contents.setAside = aside
        contents.wasClosed = false
        return (database, contents)
    }

    /// SQLite takes a file that is shorter than any page for a new one, and throws the log away that stands beside it.
    private func isPlausible(_ size: Int64) throws(StoreError) -> Bool {
        if size > 0 { return size >= 512 }
        return try files.status(files.log).map { $0.size == 0 } ?? true
    }

    private func open() throws(StoreError) -> (Database, StoreContents) {
        let database = try Database(files.database)
        // Before anything is written: it may be of a newer version.
        _ = try database.version(knowing: migrations.count)
        if database.isReadOnly { throw .readOnly(path: files.database) }
        try database.configure(durability)
        try database.migrate(migrations)
        let contents = try StoreContents(database)
        try database.run("REPLACE INTO state VALUES ('closed', 0)")
        return (database, contents)
    }

    // MARK: Damaged files

    /// Makes a new file of what can be read, sets the damaged one aside, and puts the new one in its place. Returns
    /// where the damaged one is.
    private func replace() throws(StoreError) -> [UInt8] {
        try makeReplacement()
        let aside = files.asideName(at: Linux.now(.realtime))
        try files.rename(files.database, aside)
        try setLogAside(aside)
        try finishReplacement()
        return aside
    }

    private func makeReplacement() throws(StoreError) {
        try? Linux.unlink(files.replacement)
        try files.touch(files.replacement)
        let replacement = try Database(files.replacement)
        // It counts only when it is complete: so it needs no journal.
        try replacement.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL")
        // The damaged one is read under its own name, with its log; only read, so that both stay as they are.
        if let damaged = try? Database(files.database, isReadOnly: true) {
            try refuseNewer(damaged)
            try replacement.takeOver(damaged, migrations)
        }
        try replacement.migrate(migrations)
        try replacement.checkWritten()
    }

    /// A file that only a later version can read is left to that one, damaged or not.
    private func refuseNewer(_ database: Database) throws(StoreError) {
        do throws(StoreError) {
            _ = try database.version(knowing: migrations.count)
        } catch {
            if case .newer = error { throw error }
        }
    }

    private func setLogAside(_ aside: [UInt8]) throws(StoreError) {
        if files.exists(files.log) { try files.rename(files.log, aside + "-wal".utf8) }
        try? Linux.unlink(files.index)
    }

    /// A replacement is complete when nothing stands in the place that it is for.
    private func finishReplacement() throws(StoreError) {
        guard files.exists(files.replacement), !files.exists(files.database) else { return }
        // The log of the one that was set aside, if the process ended between the two.
        if files.exists(files.log) { try setLogAside(files.asideName(at: Linux.now(.realtime))) }
        try? Linux.unlink(files.suspicion)
        try files.rename(files.replacement, files.database)
        try files.sync(files.folder)
    }
}

extension StoreFiles {
    /// `watchd.db.damaged-20260131T235959`, in UTC; of a later second where there is one already.
    func asideName(at time: Int64) -> [UInt8] {
        var seconds = time / 1_000_000
        while true {
            let name = database + ".damaged-\(Self.stamp(seconds))".utf8
            if !exists(name), !exists(name + "-wal".utf8) { return name }
            seconds += 1
        }
    }

    /// The civil date from days since 1970, by counting years from March (H. Hinnant, "chrono-compatible low-level date
    /// algorithms").
    private static func stamp(_ seconds: Int64) -> String {
        let days = seconds / 86_400 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        let time = seconds % 86_400
        let digits = (year * 10_000 + month * 100 + day, time / 3600 * 10_000 + time / 60 % 60 * 100 + time % 60)
        return "\(digits.0)T" + "\(1_000_000 + digits.1)".dropFirst()
    }
}
