/// The resources that the processes of an attempt have used together, and what else is known of them. `nil`: nobody has
/// counted it.
package struct UsageRow: Equatable, Sendable {
    /// Of the first process of a command and of those that were waited for; else of all.
    package var isOfProcess: Bool
    /// Bytes.
    package var memory: Int64?
    /// Microseconds.
    package var processor: Int64?
    /// Bytes from and to disks.
    package var read: Int64?
    package var written: Int64?
    /// The beginning of its output is missing.
    package var lacksBeginning = false
    /// Processes that went on after its end.
    package var left = 0
    /// The service that it was, and its invocation.
    package var unit: String?
    package var invocation: String?

    package init(
        isOfProcess: Bool, memory: Int64? = nil, processor: Int64? = nil, read: Int64? = nil, written: Int64? = nil
    ) {
        self.isOfProcess = isOfProcess
        self.memory = memory
        self.processor = processor
        self.read = read
        self.written = written
    }

    /// The column `of_process`: that in the lowest bit, `lacksBeginning` in the second, `left` above them.
    private var about: Int {
        (isOfProcess ? 1 : 0) | (lacksBeginning ? 2 : 0) | min(max(left, 0), Self.mostLeft) << 2
    }

    private static let mostLeft = 1 << 30

    private mutating func take(about: Int64) {
        (isOfProcess, lacksBeginning) = (about & 1 != 0, about & 2 != 0)
        left = Int(about >> 2 & Int64(Self.mostLeft * 2 - 1))
    }

    /// In the place of the number of an attempt: the last one of an operation that has ended.
    static let last = 0

    func record(of operation: UInt64, _ attempt: Int, _ database: Database) throws(StoreError) {
        try database.run("INSERT OR REPLACE INTO attempt_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") {
            $0.bind(1, operation)
            $0.bind(2, attempt)
            $0.bind(3, about)
            $0.bind(4, memory)
            $0.bind(5, processor)
            $0.bind(6, read)
            $0.bind(7, written)
            $0.bind(8, unit)
            $0.bind(9, invocation)
        }
    }

    /// Removes those of attempts whose numbers lie between these.
    static func remove(
        of operation: UInt64, from first: Int = .min, upTo last: Int = .max, _ database: Database
    ) throws(StoreError) {
        try database.run("DELETE FROM attempt_usage WHERE operation = ?1 AND attempt BETWEEN ?2 AND ?3") {
            $0.bind(1, operation)
            $0.bind(2, first)
            $0.bind(3, last)
        }
    }

    /// By the number of the attempt.
    static func all(
        of operation: UInt64, from first: Int = .min, upTo last: Int = .max, _ database: Database
    ) throws(StoreError) -> [Int: UsageRow] {
        let rows = try database.rows(
            """
            SELECT attempt, of_process, memory, processor, read, written, unit, invocation FROM attempt_usage
            WHERE operation = ?1 AND attempt BETWEEN ?2 AND ?3
            """,
            {
                $0.bind(1, operation)
                $0.bind(2, first)
                $0.bind(3, last)
            }
        ) { row in
            var usage = UsageRow(
                isOfProcess: false, memory: row.optional(2), processor: row.optional(3), read: row.optional(4),
                written: row.optional(5))
            usage.take(about: row.number(1))
            (usage.unit, usage.invocation) = (row.optionalText(6), row.optionalText(7))
            return (Int(row.number(0)), usage)
        }
        return Dictionary(rows) { _, new in new }
    }
}
