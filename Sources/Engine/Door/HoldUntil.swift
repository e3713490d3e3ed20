import WatchFile

/// `HoldUntil=`: what comes waits until all its conditions hold at once. They are looked at by the rim, and only while
/// something waits for them.
struct Holding: Sendable {
    /// How a condition stands.
    enum Standing: Equatable, Sendable {
        /// The rim has not told yet.
        case unknown
        case holds
        /// Why it does not hold.
        case obstacle(String)
    }

    private(set) var standings: [HoldCondition: Standing] = [:]
    /// Operations that wait, and all their conditions.
    private var waiting: [UInt64: [HoldCondition]] = [:]
    /// How many operations wait for each.
    private var counts: [HoldCondition: Int] = [:]

    var isEmpty: Bool { waiting.isEmpty }
    /// In the order of their ids.
    var waitingIDs: [UInt64] { waiting.keys.sorted() }
    func conditions(of id: UInt64) -> [HoldCondition] { waiting[id] ?? [] }

    /// Lets an operation wait for these from now on. Returns those that have to be looked at from now on.
    mutating func wait(_ id: UInt64, for conditions: [HoldCondition]) -> [HoldCondition] {
        waiting[id] = conditions
        var new: [HoldCondition] = []
        for condition in conditions {
            counts[condition, default: 0] += 1
            if standings[condition] == nil {
                standings[condition] = .unknown
                new.append(condition)
            }
        }
        return new
    }

    /// An operation waits no more. Returns the conditions that nothing waits for any more.
    mutating func waitNoMore(_ id: UInt64) -> [HoldCondition] {
        guard !waiting.isEmpty, let conditions = waiting.removeValue(forKey: id) else { return [] }
        return conditions.filter { condition in
            let left = (counts[condition] ?? 1) - 1
            counts[condition] = left > 0 ? left : nil
            if left == 0 { standings[condition] = nil }
            return left == 0
        }
    }

    /// The rim has looked. True: it may let something go on.
    mutating func note(_ condition: HoldCondition, obstacle: String?) -> Bool {
        guard let before = standings[condition] else { return false }
        let now = obstacle.map { Standing.obstacle($0) } ?? .holds
        standings[condition] = now
        return now == .holds && before != .holds
    }

    func holds(_ condition: HoldCondition) -> Bool { standings[condition] == .holds }
}

extension Engine {
    /// The conditions of an operation: those of its handler, and of its source.
    private func holdConditions(_ ref: OperationRef) -> [HoldCondition] {
        holdConditions(source: operations[ref].source, handler: operations[ref].handler)
    }

    func holdConditions(source: Int, handler: Int) -> [HoldCondition] {
        var conditions = handlers[handler].definition.value.windows.holdUntil
        guard sources[source].traits.contains(.windows) else { return conditions }
        for condition in sources[source].definition?.value.windows.holdUntil ?? [] where !conditions.contains(condition)
        {
            conditions.append(condition)
        }
        return conditions
    }

    /// True: it waits for a condition. One that is not watched is asked for, and counts when it is told.
    mutating func waitsForCondition(_ ref: OperationRef) -> Bool {
        let conditions = holdConditions(ref)
        guard !conditions.isEmpty || !holding.isEmpty else { return false }
        if conditions.isEmpty || conditions.allSatisfy(holding.holds) {
            holdNoMore(ref.id)
            return false
        }
        guard holding.conditions(of: ref.id) != conditions else { return true }
        // After a reload they may be others.
        holdNoMore(ref.id)
        for condition in holding.wait(ref.id, for: conditions) { actions.append(.watch(condition)) }
        return true
    }

    /// An operation is submitted, or has ended.
    mutating func holdNoMore(_ id: UInt64) {
        guard !holding.isEmpty else { return }
        for condition in holding.waitNoMore(id) { actions.append(.unwatch(condition)) }
    }

    /// The rim has looked at a condition.
    mutating func conditionIs(_ condition: HoldCondition, obstacle: String?) {
        if holding.note(condition, obstacle: obstacle) { conditionsMayHaveMoved() }
    }

    /// Some may hold, or be others.
    mutating func conditionsMayHaveMoved() {
        for id in holding.waitingIDs {
            if let ref = operations.ref(id: id) { submitIfFree(ref) } else { holdNoMore(id) }
        }
    }

    /// `HoldUntil=path:/srv/go: nothing is there`; `nil`: it waits for none.
    func conditionSentence(_ ref: OperationRef) -> String? {
        for condition in holding.conditions(of: ref.id) {
            switch holding.standings[condition] {
            case .holds, nil: continue
            case .unknown: return "HoldUntil=\(condition): it is being looked at"
            case .obstacle(let reason): return "HoldUntil=\(condition): \(reason)"
            }
        }
        return nil
    }
}
