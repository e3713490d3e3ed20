/// Operations that a stop leaves to the next start, as the store has them. They are in no table of the engine any more,
/// and can still be looked at and cancelled.
struct SetAside: Sendable {
    private var operations: [UInt64: StoredOperation] = [:]
    /// By the operation that they wait for.
    private var waiting: [UInt64: [UInt64]] = [:]

    var count: Int { operations.count }
    var byAge: [StoredOperation] { operations.values.sorted { $0.id < $1.id } }

    subscript(id: UInt64) -> StoredOperation? { operations[id] }

    /// `dependencies`: the operations that it waits for and that have not ended.
    mutating func add(_ operation: StoredOperation, waitingFor dependencies: [UInt64]) {
        operations[operation.id] = operation
        for id in dependencies { waiting[id, default: []].append(operation.id) }
    }

    mutating func remove(_ id: UInt64) -> StoredOperation? { operations.removeValue(forKey: id) }

    /// An operation has ended, well or not; or another one takes its place. Returns those that the store has to be told
    /// of.
    mutating func resolve(_ id: UInt64, isSuccess: Bool, successor: UInt64?) -> [StoredOperation] {
        (waiting.removeValue(forKey: id) ?? []).compactMap { other in
            guard let index = operations[other]?.dependencies.firstIndex(where: { $0.operation == id }),
                let isRequired = operations[other]?.dependencies[index].isRequired
            else { return nil }
            if let successor {
                operations[other]?.dependencies[index].operation = successor
                waiting[successor, default: []].append(other)
            } else if !isRequired || isSuccess {
                operations[other]?.dependencies.remove(at: index)
            }
            return operations[other]
        }
    }
}
