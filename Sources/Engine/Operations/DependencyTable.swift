/// Which operation waits for the end of which: `After=`, `Requires=`.
struct DependencyTable: Sendable {
    struct Dependent: Equatable, Sendable {
        var operation: OperationRef
        /// `Requires=`: it is cancelled where the other one does not succeed.
        var isRequired: Bool
    }

    private struct Waiting {
        /// Some of them may have ended themselves.
        var list: [Dependent] = []
        var alive = 0
    }

    private var dependents: [UInt64: Waiting] = [:]
    private var dependencies: [UInt64: [UInt64]] = [:]
    /// Ends in whose dependents the engine is busy, and those that follow from them.
    var ends: [(id: UInt64, result: Result)] = []

    var isEmpty: Bool { dependents.isEmpty && dependencies.isEmpty }

    /// Those that wait for an operation; some may have ended themselves.
    func dependents(of id: UInt64) -> [Dependent] { dependents[id]?.list ?? [] }

    /// The operations that an operation waits for.
    func dependencies(of id: UInt64) -> [UInt64] { dependencies[id] ?? [] }

    /// Whether `Requires=` is why it waits for that one.
    func isRequired(_ id: UInt64, by ref: OperationRef) -> Bool {
        dependents(of: id).contains { $0.operation == ref && $0.isRequired }
    }

    /// False: it depended on it already.
    mutating func add(_ ref: OperationRef, on id: UInt64, isRequired: Bool) -> Bool {
        if dependencies(of: ref.id).contains(id) {
            guard isRequired, let index = dependents[id]?.list.firstIndex(where: { $0.operation == ref }) else {
                return false
            }
            dependents[id]?.list[index].isRequired = true
            return false
        }
        dependents[id, default: Waiting()].list.append(Dependent(operation: ref, isRequired: isRequired))
        dependents[id]?.alive += 1
        dependencies[ref.id, default: []].append(id)
        return true
    }

    /// An operation has ended: nobody waits for it any more. Returns those who did, the oldest first: an heir's own came
    /// before those it has inherited.
    mutating func end(_ id: UInt64) -> [Dependent] {
        let ended = dependents.removeValue(forKey: id)?.list ?? []
        for dependent in ended {
            dependencies[dependent.operation.id]?.removeAll { $0 == id }
            if dependencies[dependent.operation.id]?.isEmpty == true { dependencies[dependent.operation.id] = nil }
        }
        return ended.sorted { $0.operation < $1.operation }
    }

    /// An operation that waited has ended itself. O(what it waited for), amortised.
    mutating func forget(_ ref: OperationRef) {
        for id in dependencies.removeValue(forKey: ref.id) ?? [] {
            dependents[id]?.alive -= 1
            guard let waiting = dependents[id] else { continue }
            if waiting.alive == 0 {
                dependents[id] = nil
            } else if waiting.list.count > 2 * waiting.alive + 64 {
                dependents[id]?.list.removeAll { dependencies[$0.operation.id] == nil }
            }
        }
    }
}
