import Engine

/// Work that only memory has: how much for each handler, and the oldest operations.
struct WaitingNote: Equatable, Sendable {
    private(set) var counts: [String: Int] = [:]
    private(set) var operations: [WaitingOperation] = []

    var isEmpty: Bool { counts.isEmpty }

    init() {}

    init(_ counts: [String: Int], _ operations: [WaitingOperation]) {
        (self.counts, self.operations) = (counts, operations)
    }

    init(_ waiting: WaitingAtRisk) {
        counts = waiting.counts
        operations = waiting.oldest.map { view in
            WaitingOperation(
                id: view.id, handler: view.handler, queue: view.queue, origin: view.origin.description,
                submitted: view.submitted, entries: view.entries, deliveries: view.deliveries,
                cause: view.cause(.administrator))
        }
    }

    /// Without operations that were found again, or had ended.
    func without(_ isKnown: (UInt64) -> Bool) -> WaitingNote {
        var note = self
        note.operations = operations.filter { !isKnown($0.id) }
        for operation in operations where isKnown(operation.id) {
            let count = note.counts[operation.handler, default: 0] - 1
            note.counts[operation.handler] = count > 0 ? count : nil
        }
        return note
    }

    // MARK: In the store

    private static let version: UInt8 = 1
    /// Deliveries and operations of one handler.
    private static let largestCount = 1 << 40

    /// Empty: nothing is at risk.
    var bytes: [UInt8] {
        if isEmpty { return [] }
        var writer = ByteWriter(capacity: 64 * (operations.count + counts.count))
        writer.put(byte: Self.version)
        writer.put(UInt64(counts.count))
        for (handler, count) in counts.sorted(by: { $0.key < $1.key }) {
            writer.put(handler)
            writer.put(count)
        }
        writer.put(UInt64(operations.count))
        for operation in operations {
            writer.put(operation.id)
            for text in [operation.handler, operation.queue, operation.origin, operation.cause] { writer.put(text) }
            writer.put(operation.submitted)
            writer.put(operation.entries)
            writer.put(operation.deliveries)
        }
        return writer.bytes
    }

    /// Bytes that cannot be read, as those of a later version, say nothing.
    init(bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard !bytes.isEmpty, let note = try? Self.read(&reader) else { return }
        self = note
    }

    private static func read(_ reader: inout ByteReader) throws(DamagedBytes) -> WaitingNote {
        guard try reader.byte() == version else { throw DamagedBytes() }
        var note = WaitingNote()
        let counts = try reader.list(ofAtLeast: 2) { reader throws(DamagedBytes) in
            (handler: try reader.text(), count: try reader.int(1...largestCount))
        }
        for (handler, count) in counts { note.counts[handler] = count }
        note.operations = try reader.list(ofAtLeast: 8) { reader throws(DamagedBytes) in
            let id = try reader.unsigned()
            let (handler, queue) = (try reader.text(), try reader.text())
            let (origin, cause) = (try reader.text(), try reader.text())
            return WaitingOperation(
                id: id, handler: handler, queue: queue, origin: origin, submitted: try reader.signed(),
                entries: try reader.int(0...largestCount), deliveries: try reader.int(0...largestCount), cause: cause)
        }
        return note
    }
}
