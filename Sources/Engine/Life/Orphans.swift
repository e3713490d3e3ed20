/// Stored things without a place: operations without their handler or queue, events held by a source that is
/// gone, suspensions of a source or queue that is gone. They wait for a reload that brings it back.
struct Orphans: Sendable {
    private var operations: [UInt64: StoredOperation] = [:]
    /// Of them all.
    private(set) var deliveries = 0
    /// The results of operations that those wait for.
    private(set) var results: [UInt64: Result] = [:]
    /// Events held by a source that does not exist (any more).
    private(set) var holds: [StoredHold] = []

    /// By full name; without those of the watch file.
    private(set) var suspensions: [String: [Suspension]] = [:]

    /// Handlers that have run by a `Once=` that they have no more, or that are gone.
    var once: Set<String> = []

    var isEmpty: Bool { operations.isEmpty }
    var count: Int { operations.count }
    var byAge: [StoredOperation] { operations.values.sorted { $0.id < $1.id } }

    subscript(id: UInt64) -> StoredOperation? { operations[id] }

    mutating func add(_ operation: StoredOperation) {
        _ = remove(operation.id)
        operations[operation.id] = operation
        deliveries += operation.deliveries
    }

    mutating func remove(_ id: UInt64) -> StoredOperation? {
        let operation = operations.removeValue(forKey: id)
        deliveries -= operation?.deliveries ?? 0
        return operation
    }

    /// Keeps the results as long as somebody may wait for them.
    mutating func keep(_ results: [UInt64: Result]) {
        self.results = operations.isEmpty ? [:] : self.results.merging(results) { $1 }
    }

    /// One was cancelled: others that wait for it need to know.
    mutating func noteCancelled(_ id: UInt64) {
        if operations.values.contains(where: { $0.dependencies.contains { $0.operation == id } }) {
            results[id] = .cancelled
        }
    }

    mutating func add(_ hold: StoredHold) { holds.append(hold) }

    mutating func add(_ suspensions: [Suspension], of name: String) {
        let made = suspensions.filter { $0.isMade }
        if !made.isEmpty { self.suspensions[name] = made }
    }

    /// Takes back the last suspension of what is not there any more.
    ///
    /// - Returns: those that are left.
    mutating func resume(_ name: String) -> [Suspension] {
        let left = suspensions[name].map { Array($0.dropLast()) } ?? []
        suspensions[name] = left.isEmpty ? nil : left
        return left
    }

    mutating func takeSuspensions() -> [(name: String, suspensions: [Suspension])] {
        defer { suspensions = [:] }
        return suspensions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    mutating func takeHolds() -> [StoredHold] {
        defer { holds = [] }
        return holds
    }
}

extension StoredOperation {
    var deliveries: Int { EntryList(events + appended).deliveries }
}
