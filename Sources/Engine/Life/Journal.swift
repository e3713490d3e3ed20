/// The changes that the store has to be told of, in a fixed order, and whether it takes anything.
///
/// Each change is noted at once and told once: the writes of one `handle` are one transaction.
struct Journal: Sendable {
    /// The store's condition: durable queues are kept safe while it works.
    var condition = StoreCondition.working
    var ids: IDs
    var orphans = Orphans()
    var setAside = SetAside()
    /// Operations that the store has to be told of; some may have ended.
    private(set) var unsaved: [OperationRef] = []
    /// Events that joined stored operations since the store was told last.
    private var joined: [UInt64: [Event]] = [:]
    /// Sources whose held events the store has to be told of as a whole.
    private var holds: Set<Int> = []

    init(ids: IDs) { self.ids = ids }

    /// Stored operations that are in no table of the engine, oldest first.
    var unplaced: [StoredOperation] {
        if setAside.count == 0 { return orphans.byAge }
        return orphans.isEmpty ? setAside.byAge : (orphans.byAge + setAside.byAge).sorted { $0.id < $1.id }
    }

    func unplaced(_ id: UInt64) -> StoredOperation? { orphans[id] ?? setAside[id] }

    var isWorking: Bool { condition == .working }
    /// A sentence.
    var failure: String? { if case .failing(let reason) = condition { reason } else { nil } }

    // MARK: Operations

    /// An operation has changed, otherwise than by its entries.
    mutating func note(_ record: inout Record, _ ref: OperationRef) {
        if record.change() { unsaved.append(ref) }
    }

    /// An event has joined it. `entries`: that it has by now.
    mutating func note(_ event: Event, _ record: inout Record, _ ref: OperationRef, entries: Int) {
        note(&record, ref)
        if record.join(entries: entries) {
            joined[ref.id, default: []].append(event)
        } else {
            forget(ref.id)
        }
    }

    /// Its entries have changed otherwise than by events that came.
    mutating func noteRewritten(_ record: inout Record, _ ref: OperationRef) {
        note(&record, ref)
        if record.rewrite() { forget(ref.id) }
    }

    /// The store has lost it.
    mutating func noteLost(_ record: inout Record, _ ref: OperationRef) {
        record.lose()
        forget(ref.id)
        note(&record, ref)
    }

    /// Events that joined an operation are told with all of it, or not at all: it has ended.
    mutating func forget(_ id: UInt64) { if !joined.isEmpty { joined[id] = nil } }

    mutating func takeJoined(_ id: UInt64) -> [Event] { joined.isEmpty ? [] : joined.removeValue(forKey: id) ?? [] }

    /// The store has been told of all of `unsaved`.
    mutating func told() { unsaved.removeAll(keepingCapacity: unsaved.count <= 1024) }

    // MARK: Held events

    mutating func noteHolds(_ source: Int) { holds.insert(source) }

    /// Everything that a source holds is told anyway.
    func isWhole(_ source: Int) -> Bool { holds.contains(source) }

    /// In order.
    mutating func takeHolds() -> [Int] {
        guard !holds.isEmpty else { return [] }
        defer { holds = [] }
        return holds.sorted()
    }
}
