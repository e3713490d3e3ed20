/// Who may run: operations of one handler with one key run one at a time, in order of submission.
///
/// Each key has a line; who stands first in all the lines of its keys has them and may start. Since every line is in
/// order of submission, two operations cannot wait for each other.
struct KeyTable: Sendable {
    struct Name: Hashable, Sendable {
        var handler: Int
        var bytes: [UInt8]
    }

    struct Key: Sendable {
        var name: Name
        /// Operations that have not ended, oldest first; those removed from the middle are skipped over.
        var line = Deque<OperationRef>()
        var members = 0
        /// Operations that still take events in: at most one for each source and queue.
        var open: [OperationRef] = []
    }

    private var keys: [Key] = []
    private var free: [Int] = []
    private var byName: [Name: Int] = [:]

    var count: Int { byName.count }

    func index(of name: Name) -> Int? { byName[name] }

    subscript(index: Int) -> Key { _read { yield keys[index] } }

    /// Puts an operation at its place in a key's line, which is the end unless it is older than others there (it took
    /// over a key by a rename); who runs is never overtaken.
    mutating func join(_ name: Name, _ ref: OperationRef, isOpen: Bool, in operations: OperationTable) -> Int {
        let index = byName[name] ?? insert(name)
        let isHeld = keys[index].line.first.map { operations.isAlive($0) && !operations.isWaiting($0) } ?? false
        keys[index].line.insert(ref, notBefore: isHeld ? 1 : 0)
        keys[index].members += 1
        if isOpen { keys[index].open.append(ref) }
        return index
    }

    mutating func close(_ index: Int, _ ref: OperationRef) {
        keys[index].open.removeAll { $0 == ref }
    }

    /// Takes an operation out of a key's line. Returns who stands first now, if that has changed.
    mutating func leave(_ index: Int, _ ref: OperationRef, in operations: OperationTable) -> OperationRef? {
        close(index, ref)
        keys[index].members -= 1
        if keys[index].members == 0 {
            byName[keys[index].name] = nil
            keys[index] = Key(name: Name(handler: -1, bytes: []))
            free.append(index)
            return nil
        }
        guard keys[index].line.first == ref else {
            if keys[index].line.count > 2 * keys[index].members + 64 {
                keys[index].line.removeAll { $0 == ref || !operations.isAlive($0) }
            }
            return nil
        }
        _ = keys[index].line.removeFirst()
        while let next = keys[index].line.first {
            if operations.isAlive(next) { return next }
            _ = keys[index].line.removeFirst()
        }
        return nil
    }

    private mutating func insert(_ name: Name) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
            keys[index] = Key(name: name)
        } else {
            index = keys.count
            keys.append(Key(name: name))
        }
        byName[name] = index
        return index
    }
}
