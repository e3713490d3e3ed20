import LinuxSystem

/// The store: one SQLite file in a folder, which this process has for itself. To be used by one thread at a time; every
/// call may block on the disk.
///
/// The losses that each kind of end can cause. The file has a write-ahead log. A commit writes what it changes behind
/// the log, with a checksum that ends in a mark of the commit; a log that was cut short counts up to its last whole
/// commit. So after whatever end the store stands as it stood after some commit, and never in the middle of one. Which
/// commit depends on when the log goes from the kernel's memory to the disk:
///   - The end of the process, `kill -9` too: nothing that was committed is lost, for the kernel has the log.
///   - Loss of power, with `power` (`synchronous=FULL`): nothing is lost; each commit waits for `fsync(2)` of the log.
///   - Loss of power, with `crash` (`synchronous=NORMAL`): the last commits may be lost, at most those since the
///     log was last moved into the file; what was before them stands. Both files are synced around that move, whatever
///     is set.
/// See "Durability" in SQLite's `PRAGMA synchronous` and its `fileformat2.html#walformat`.
package final class Store {
    /// The kinds of end that a commit survives.
    package enum Durability: Sendable {
        /// Loss of power.
        case power
        /// The end of the process.
        case crash
    }

    /// A file of the same folder that is not the store's own, and is believed as its files are: only root and the user
    /// of watchd can have put it there.
    package static let instanceName = "/watchd.instance"

    package let folder: [UInt8]
    private let files: StoreFiles
    private var lock: StoreLock?
    private var database: Database?
    private let place: StoreFiles.Place
    private var contents: StoreContents
    private var totals = HistoryTotals()
    /// That the store was given since it was first made.
    private var commits: Int64

    /// Opens the store of a folder, which is made if it is not there, and reads what stands in it. A damaged file is
    /// set aside, and as much of it as can be read is taken over.
    ///
    /// - Parameter migrations: to make a file of an older version.
    package init(
        folder: [UInt8], durability: Durability, migrations: [String] = Schema.migrations
    ) throws(StoreError) {
        let files = StoreFiles(folder: folder)
        try files.prepareFolder()
        let lock = try StoreLock(files)
        self.lock = lock
        let opening = StoreOpening(
            files: files, durability: durability, migrations: migrations, wasUsed: lock.wasUsed,
            commitsMade: lock.commits ?? 0)
        (database, contents) = try opening.run()
        // Those that are missing are told of once.
        commits = max(contents.commits, lock.commits ?? 0)
        lock.note(commits: commits)
        place = try files.place()
        (self.folder, self.files) = (folder, files)
    }

    deinit {
        // The lock is the last to go.
        database = nil
        lock = nil
    }

    /// The content of the store at its opening; taken out, so that the second call gives nothing.
    package func takeContents() -> StoreContents {
        defer { contents = StoreContents() }
        return contents
    }

    /// All of it or nothing; when it has returned it is safe.
    ///
    /// - Parameter limits: records that these would have taken away again at once are not even written.
    package func commit(_ changes: [StoreChange], keeping limits: HistoryLimits? = nil) throws(StoreError) {
        let changes = limits?.records == 0 ? HistoryTrim.withoutShortLived(changes) : changes
        try commit { write throws(StoreError) in
            for change in changes { try write(change) }
        }
    }

    /// The same of changes that are made while they are written, so that not all of them are in memory at once.
    ///
    /// - Parameter makeAll: calls its parameter with each, in their order.
    package func commit(
        _ makeAll: (_ write: (StoreChange) throws(StoreError) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) {
        try transaction { database throws(StoreError) in
            try makeAll { change throws(StoreError) in try change.write(database, &totals) }
        }
    }

    /// Gives back what the file's pages in memory take.
    package func releaseMemory() { database?.releaseMemory() }

    /// Bytes of the history; `nil`: they are not counted yet.
    package var historyBytes: Int? { totals.bytes }

    /// Forgets what the limits do not allow: a few records at most, so that nobody waits. True: there is more.
    ///
    /// - Parameter now: wall-clock microseconds.
    package func trim(
        _ limits: HistoryLimits, now: Int64 = Linux.now(.realtime)
    ) throws(StoreError) -> Bool {
        var isMore = false
        try transaction { database throws(StoreError) in
            var trim = try HistoryTrim(database, limits, now: now, totals)
            isMore = try trim.run()
            totals = trim.totals
        }
        return isMore
    }

    private func transaction(_ body: (Database) throws(StoreError) -> Void) throws(StoreError) {
        guard let database else { throw .unavailable(path: files.database, detail: "it was closed") }
        // Without a name, or under another one, it would be written in vain.
        guard try files.place() == place else { throw .gone(path: files.database) }
        let before = database.allChanges
        do throws(StoreError) {
            try database.transaction { () throws(StoreError) in
                try totals.noteAttempts(database)
                try body(database)
                if database.allChanges == before { return }
                try database.run("REPLACE INTO state VALUES ('commits', ?1)") { $0.bind(1, commits + 1) }
            }
        } catch {
            // They may have counted what is not there.
            totals.startAnew()
            if case .damaged = error { try? files.touch(files.suspicion) }
            throw error
        }
        if database.allChanges == before { return }
        commits += 1
        lock?.note(commits: commits)
    }

    package func set(_ durability: Durability) { try? database?.set(durability) }

    /// Says that everything is safe. Not called at a crash, by which the next one knows.
    package func close() {
        try? transaction { database throws(StoreError) in
            try database.run("REPLACE INTO state VALUES ('closed', 1)")
        }
        database?.finish()
        database = nil
        lock = nil
    }
}
