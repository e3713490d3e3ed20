package import WatchFile

/// The changes of paths that were told and are not handled yet, with the operations they wait for.
///
/// A change is handled when the last of its deliveries has ended (Semantics.md, "Comparison"). The changes of one path are handled in
/// the order in which they were told: what stands at a path counts as handled up to the newest change before which none
/// is left. A change that waits for no other operation than the one before it takes its place, so that a file which is
/// written all the while costs no more than one that was written once.
package struct Handling: Sendable {
    /// In the place of an operation: a delivery that this watchd does not bring to its end.
    static let never = UInt64.max

    /// In the place of an operation: what a source holds back.
    static func held(by source: Int) -> UInt64 { never - 1 - UInt64(source) }

    static func isNoOperation(_ operation: UInt64) -> Bool { operation > never / 2 }

    private struct Change: Sendable {
        var moment: PathMoment
        /// The first of those it waits for, and the others; `nil`: none is left.
        var first: UInt64?
        var others: [UInt64] = []

        func waits(for operation: UInt64) -> Bool { first == operation || others.contains(operation) }

        mutating func add(_ operation: UInt64) {
            if first == nil { first = operation } else if !waits(for: operation) { others.append(operation) }
        }

        mutating func remove(_ operation: UInt64) {
            others.removeAll { $0 == operation }
            if first == operation { first = others.popLast() }
        }
    }

    /// The paths of an operation; one that has changed more than once may stand there more than once.
    private struct Paths: Sendable {
        var source: SourceID
        var paths: [[UInt8]] = []
    }

    private var changes: [SourceID: [[UInt8]: [Change]]] = [:]
    private var operations: [UInt64: Paths] = [:]

    /// A change is at the door: what it reaches there is noted.
    private(set) var isNoting = false
    private var reached: [UInt64] = []
    /// The store keeps a delivery of it.
    private(set) var isKept = false

    var isEmpty: Bool { changes.isEmpty && operations.isEmpty }

    // MARK: At the door

    mutating func begin() { (isNoting, isKept) = (true, false) }

    /// The change has come to an operation (or what stands for one) that has to end first.
    mutating func reach(_ operation: UInt64) { if !reached.contains(operation) { reached.append(operation) } }

    /// The change has come to an operation that the store keeps: this watchd or the next one brings it to its end.
    mutating func keep() { isKept = true }

    mutating func end() -> [UInt64] {
        defer { (isNoting, reached) = (false, []) }
        return reached
    }

    // MARK: Changes

    /// The state of a path at its last change that is told but not handled; `nil`: all of them are.
    package func newest(_ path: [UInt8], of source: SourceID) -> PathState? {
        changes[source]?[path]?.last?.moment.state
    }

    /// A change waits for these operations. False: for none, and it is handled at once.
    mutating func note(_ moment: PathMoment, of source: SourceID, waitingFor all: [UInt64]) -> Bool {
        if all.isEmpty, changes[source]?[moment.path] == nil { return false }
        let new = Self.add(moment, all, to: &changes[source, default: [:]][moment.path, default: []])
        for operation in new { operations[operation, default: Paths(source: source)].paths.append(moment.path) }
        return true
    }

    /// Returns the operations that no change before it waits for.
    private static func add(_ moment: PathMoment, _ all: [UInt64], to changes: inout [Change]) -> [UInt64] {
        if let last = changes.indices.last, all.allSatisfy(changes[last].waits) {
            changes[last].moment = moment
            return []
        }
        var change = Change(moment: moment)
        for operation in all { change.add(operation) }
        changes.append(change)
        return all
    }

    /// Changes that wait for one operation wait for others too from now on.
    mutating func extend(_ path: [UInt8], of source: SourceID, waitingFor operation: UInt64, by others: [UInt64]) {
        guard let index = changes[source]?[path]?.lastIndex(where: { $0.waits(for: operation) }) else { return }
        for other in others {
            changes[source]?[path]?[index].add(other)
            operations[other, default: Paths(source: source)].paths.append(path)
        }
    }

    // MARK: Operations

    func isWaiting(for operation: UInt64) -> Bool { !operations.isEmpty && operations[operation] != nil }

    /// An operation has ended: what is handled by that, in no order. Changes that its handler was told of, and that still
    /// wait for other handlers, are among them as `PathState.told`.
    ///
    /// - Parameter isTold: its handler was told of its changes.
    mutating func end(_ operation: UInt64, isTold: Bool = true) -> (source: SourceID, handled: [PathMoment])? {
        guard let ended = operations.removeValue(forKey: operation) else { return nil }
        var handled: [PathMoment] = []
        for path in ended.paths {
            guard var left = changes[ended.source]?.removeValue(forKey: path) else { continue }
            let told = isTold ? left.last { $0.waits(for: operation) }?.moment.asTold : nil
            for index in left.indices { left[index].remove(operation) }
            let done = left.prefix { $0.first == nil }
            if let moment = done.last?.moment ?? told { handled.append(moment) }
            left.removeFirst(done.count)
            if !left.isEmpty { changes[ended.source]?[path] = left }
        }
        if changes[ended.source]?.isEmpty == true { changes[ended.source] = nil }
        return (ended.source, handled)
    }

    /// The changes that an operation has been told of, and that are still to be handled.
    func told(_ operation: UInt64) -> (source: SourceID, told: [PathMoment])? {
        guard let paths = operations[operation] else { return nil }
        let told = Set(paths.paths).compactMap { path in
            changes[paths.source]?[path]?.last { $0.waits(for: operation) }?.moment.asTold
        }
        return (paths.source, told)
    }

    /// Another operation has the events of one now.
    mutating func move(from operation: UInt64, to heir: UInt64) {
        guard let moved = operations.removeValue(forKey: operation) else { return }
        for path in moved.paths {
            guard let count = changes[moved.source]?[path]?.count else { continue }
            for index in 0..<count where changes[moved.source]?[path]?[index].waits(for: operation) == true {
                changes[moved.source]?[path]?[index].remove(operation)
                changes[moved.source]?[path]?[index].add(heir)
            }
        }
        operations[heir, default: Paths(source: moved.source)].paths += moved.paths
    }
}

extension PathMoment {
    /// `nil`: nothing stands there.
    var asTold: PathMoment? {
        state.kind == .nothing ? nil : PathMoment(root: root, path: path, state: .told(state.kind))
    }
}
