/// Operations that a stop has left to the next start, and those of them that wait for others: by then nobody may
/// remember how those ended.
struct SetAside: Sendable {
    private(set) var ids: Set<UInt64> = []
    /// Operations that wait for others, as the store has them.
    private var left: [UInt64: StoredOperation] = [:]
    /// By the operation that they wait for.
    private var waiting: [UInt64: [UInt64]] = [:]

    mutating func add(_ id: UInt64) { ids.insert(id) }

    mutating func add(_ operation: StoredOperation, waitingFor id: UInt64) {
        left[operation.id] = operation
        waiting[id, default: []].append(operation.id)
    }

    /// An operation has ended, well or not; or another one takes its place. Returns those that the store has to be told
    /// of.
    mutating func resolve(_ id: UInt64, isSuccess: Bool, successor: UInt64?) -> [StoredOperation] {
        (waiting.removeValue(forKey: id) ?? []).compactMap { other in
            guard var stored = left[other],
                let index = stored.dependencies.firstIndex(where: { $0.operation == id })
            else { return nil }
            if let successor {
                stored.dependencies[index].operation = successor
                waiting[successor, default: []].append(other)
            } else if !stored.dependencies[index].isRequired || isSuccess {
                stored.dependencies.remove(at: index)
            }
            left[other] = stored
            return stored
        }
    }
}
