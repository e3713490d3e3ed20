/// The store: one SQLite file in a folder, which this process has for itself. To be used by one thread at a time; every
/// call may block on the disk.
package final class Store {
    /// What a commit survives.
    package enum Durability: Sendable {
        /// Loss of power.
        case power
        /// The end of the process.
        case crash
    }

    package let folder: [UInt8]

    /// Opens the store of a folder, which is made if it is not there, and reads what stands in it. A damaged file is set
    /// aside, and as much of it as can be read is taken over.
    package init(folder: [UInt8], durability: Durability) throws(StoreError) {
        self.folder = folder
        fatalError("to come")
    }

    /// What stood there; taken out, so that the second call gives nothing.
    package func takeContents() -> StoreContents { fatalError("to come") }

    /// All of it or nothing; when it has returned it is safe.
    package func commit(_ changes: [StoreChange]) throws(StoreError) { fatalError("to come") }

    /// Forgets what the limits do not allow: a few records at most, so that nobody waits. True: there is more.
    package func trim(_ limits: HistoryLimits) throws(StoreError) -> Bool { fatalError("to come") }

    package func set(_ durability: Durability) {}

    /// Says that everything is safe. Not called at a crash, by which the next one knows.
    package func close() {}
}

/// Reads the history beside the writer. To be used by one thread at a time.
package final class HistoryReader {
    package init(folder: [UInt8]) throws(StoreError) { fatalError("to come") }

    /// What has ended, newest first, without events and output.
    package func page(_ query: HistoryQuery) throws(StoreError) -> [HistoryRow] { fatalError("to come") }

    /// One of them with everything, and its failed attempts, the first one first.
    package func record(_ id: UInt64) throws(StoreError) -> (row: HistoryRow, attempts: [AttemptRow])? {
        fatalError("to come")
    }

    /// Failed ones of a handler that were neither tried again nor forgotten, oldest first, with their events.
    package func failed(handler: String, limit: Int) throws(StoreError) -> [HistoryRow] { fatalError("to come") }

    /// Looks through the whole file; a sentence for what is wrong. May take minutes.
    package func check() throws(StoreError) -> String? { fatalError("to come") }
}
