/// The tables of the file, version by version. Entry n takes a file of version n to version n + 1 in one transaction;
/// one that has been released is never changed.
package enum Schema {
    /// `wtcd`: how `file(1)`, and we, know whose file it is.
    static let applicationID: Int64 = 0x7774_6364

    package static let migrations = [
        first, sourcesOfHandlers, outputsOfAttempts, snapshotsOfPaths, usageOfAttempts, servicesOfAttempts,
        successors,
    ]

    /// So that a record that goes is found by the failures that were tried again as it.
    private static let successors = """
        CREATE INDEX history_successor ON history (successor) WHERE successor IS NOT NULL;
        """

    /// The service that an attempt was (`RunIn=unit`), and its invocation.
    private static let servicesOfAttempts = """
        ALTER TABLE attempt_usage ADD COLUMN unit TEXT;
        ALTER TABLE attempt_usage ADD COLUMN invocation TEXT;
        """

    /// The resources that the processes of an attempt have used together (`of_process` holds more bits: `UsageRow`);
    /// attempt 0: the last one of an operation that
    /// has ended.
    private static let usageOfAttempts = """
        CREATE TABLE attempt_usage (
            operation INTEGER NOT NULL, attempt INTEGER NOT NULL, of_process INTEGER NOT NULL, memory INTEGER,
            processor INTEGER, read INTEGER, written INTEGER, PRIMARY KEY (operation, attempt)) WITHOUT ROWID;
        """

    /// The handled paths of a source: a row for each of its roots, and one for each path below it, relative to the
    /// root. A root without its `about` is not complete.
    private static let snapshotsOfPaths = """
        CREATE TABLE path_root (
            id INTEGER PRIMARY KEY, source TEXT NOT NULL, root BLOB NOT NULL, about BLOB, UNIQUE (source, root));
        CREATE TABLE path_entry (
            root INTEGER NOT NULL, path BLOB NOT NULL, state BLOB NOT NULL, PRIMARY KEY (root, path)) WITHOUT ROWID;
        """

    /// The index holds the sizes, so that they are counted without reading an output.
    private static let outputsOfAttempts = """
        CREATE TABLE attempt_output (
            operation INTEGER NOT NULL, attempt INTEGER NOT NULL, size INTEGER NOT NULL, output BLOB NOT NULL);
        CREATE INDEX attempt_output_place ON attempt_output (operation, attempt, size);
        """

    /// A list of a handler is merged from the runs of its sources too, which are few: so a handler and a source
    /// together are a run of their own, however seldom one fires the other.
    private static let sourcesOfHandlers = """
        DROP INDEX history_handler;
        CREATE INDEX history_handler ON history (handler, source, result, settled, ended);
        """

    /// Three indices serve every list: each holds, for every result, the newest last, so that a list of several results
    /// is merged from one run for each. `settled` stands beside the result, so that what failed and waits for somebody
    /// is a run of its own. Events and output have tables of their own, which a list does not touch.
    private static let first = """
        CREATE TABLE operation (
            id INTEGER PRIMARY KEY, handler TEXT NOT NULL, queue TEXT NOT NULL, source TEXT NOT NULL,
            state BLOB NOT NULL, events BLOB NOT NULL);
        CREATE TABLE appended (id INTEGER PRIMARY KEY, operation INTEGER NOT NULL, events BLOB NOT NULL);
        CREATE INDEX appended_operation ON appended (operation);
        CREATE TABLE held (id INTEGER PRIMARY KEY, source TEXT NOT NULL, events BLOB NOT NULL);
        CREATE INDEX held_source ON held (source);
        CREATE TABLE mark (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

        CREATE TABLE history (
            id INTEGER PRIMARY KEY, handler TEXT NOT NULL, queue TEXT NOT NULL, source TEXT NOT NULL,
            result TEXT NOT NULL, settled INTEGER NOT NULL, ended INTEGER NOT NULL, submitted INTEGER NOT NULL,
            started INTEGER, reason TEXT, status INTEGER, signal INTEGER, attempt INTEGER NOT NULL,
            entries INTEGER NOT NULL, deliveries INTEGER NOT NULL, redelivered INTEGER NOT NULL, successor INTEGER,
            cause TEXT NOT NULL);
        CREATE INDEX history_result ON history (result, settled, ended);
        CREATE INDEX history_handler ON history (handler, result, settled, ended, id, source);
        CREATE INDEX history_source ON history (source, result, settled, ended);
        CREATE TABLE history_events (id INTEGER PRIMARY KEY, events BLOB NOT NULL);
        CREATE TABLE history_output (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, output BLOB NOT NULL);
        CREATE TABLE attempt (
            operation INTEGER NOT NULL, attempt INTEGER NOT NULL, reason TEXT, status INTEGER, signal INTEGER,
            started INTEGER, ended INTEGER NOT NULL, PRIMARY KEY (operation, attempt)) WITHOUT ROWID;
        """
}

extension Database {
    /// Which version the file has; 0: it is new.
    func version(knowing known: Int) throws(StoreError) -> Int {
        let version = Int(try number("PRAGMA user_version") ?? 0)
        let application = try number("PRAGMA application_id") ?? 0
        let tables = try number("SELECT count(*) FROM sqlite_schema") ?? 0
        guard application == (version == 0 ? 0 : Schema.applicationID), (version == 0) == (tables == 0) else {
            throw .damaged(path: path, detail: "it is another program's file")
        }
        // No release will ever be that late.
        if version > 9999 { throw .damaged(path: path, detail: "it says that it is of version \(version)") }
        if version > known { throw .newer(path: path, version: version, known: known) }
        return version
    }

    /// Brings the file to the newest version.
    func migrate(_ migrations: [String]) throws(StoreError) {
        let version = try version(knowing: migrations.count)
        if version == migrations.count { return }
        try transaction { () throws(StoreError) in
            for migration in migrations[version...] { try execute(migration) }
            try execute("PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = \(migrations.count)")
        }
    }

    func configure(_ durability: Store.Durability) throws(StoreError) {
        try execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -\(Self.cacheKiB);
            PRAGMA wal_autocheckpoint = \(Self.pagesOfLog); PRAGMA journal_size_limit = \(2 * Self.pagesOfLog * 4096)
            """)
        try set(durability)
    }

    func set(_ durability: Store.Durability) throws(StoreError) {
        try execute("PRAGMA synchronous = \(durability == .power ? "FULL" : "NORMAL")")
    }

    private static let cacheKiB = 512
    /// After so many pages of 4 KiB the log is moved into the file.
    private static let pagesOfLog = 1000
}
