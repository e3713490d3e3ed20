/// The content of the store when it is opened.
package struct StoreContents: Sendable {
    /// By id.
    package var operations: [OperationRow] = []
    /// The events that sources held back, in the order of their addition.
    package var held: [(source: String, events: [[UInt8]])] = []
    package var marks: [String: [UInt8]] = [:]
    /// The snapshots of paths that are complete, without their paths (`HistoryReader.snapshot`).
    package var snapshots: [(source: String, root: [UInt8], about: [UInt8])] = []
    /// It was closed the last time. False: its user was killed, or power was lost.
    package var wasClosed = true
    /// The file that stood there before was damaged and was set aside, under this path.
    package var setAside: [UInt8]?
    /// There is nothing, because the file is gone that stood there before: this one is new.
    package var wasRemoved = false
    /// The last commits that were made and are not there, though the file is: its log was emptied, or an older file was
    /// put in its place; after a loss of power also what only survives a crash.
    package var missing = 0
    /// Commits that it knows of.
    var commits: Int64 = 0
    /// The highest id of an operation that the history knows; 0 for none.
    package var lastRecorded: UInt64 = 0

    package init() {}
}

/// How much of the history is kept.
package struct HistoryLimits: Equatable, Sendable {
    /// Operations that have ended.
    package var records: Int
    /// Microseconds since they ended.
    package var age: Int64
    /// Bytes of all their outputs, events and records.
    package var bytes: Int

    package init(records: Int, age: Int64, bytes: Int = 256 << 20) {
        self.records = records
        self.age = age
        self.bytes = bytes
    }
}

package struct HistoryQuery: Equatable, Sendable {
    package var handler: String?
    /// `path/uploads`.
    package var source: String?
    /// `nil`: any.
    package var results: [String]?
    /// Failed ones that were neither tried again nor forgotten.
    package var isUnsettled = false
    /// Wall-clock microseconds: ended at or after, ended before.
    package var since: Int64?
    package var until: Int64?
    /// Only what comes behind this one.
    package var after: Position?
    /// The handler whose records come with their events.
    package var eventsOf: String?
    package var limit = 100

    /// A place in the list of what has ended, newest first.
    package struct Position: Equatable, Sendable {
        package var ended: Int64
        package var id: UInt64

        package init(ended: Int64, id: UInt64) {
            self.ended = ended
            self.id = id
        }
    }

    package init() {}
}
