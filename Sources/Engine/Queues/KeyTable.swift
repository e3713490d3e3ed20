/// The lines of the keys: operations of one handler with one key run one at a time, in order of submission.
///
/// Each key has a line; who stands first in all the lines of its keys has them and may start. Since every line is in
/// order of submission, two operations cannot wait for each other.
struct KeyTable: Sendable {
    struct Name: Hashable, Sendable {
        let handler: Int
        let bytes: [UInt8]
        /// Of both, made once: a table hashes what it holds again and again.
        private let hash: Int

        init(handler: Int, bytes: [UInt8]) {
            self.handler = handler
            self.bytes = bytes
            var hasher = Hasher()
            hasher.combine(handler)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            hash = hasher.finalize()
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }

        static func == (left: Name, right: Name) -> Bool {
            left.hash == right.hash && left.handler == right.handler && left.bytes == right.bytes
        }
    }

    /// Mostly one operation has a key, so the first of everything is kept without an allocation.
    struct Key: Sendable {
        var name: Name
        /// Operations submitted and not ended, in order of submission; those removed from the middle are skipped over.
        var line = KeyLine()
        /// Operations that have it and have not ended, submitted or not.
        var members = 0
        /// Operations that still take events in: at most one for each source and queue.
        var open = OpenOperations()
    }

    private var keys: [Key] = []
    private var free: [Int] = []
    private var byName: [Name: Int] = [:]

    var count: Int { byName.count }

    func index(of name: Name) -> Int? { byName[name] }

    subscript(index: Int) -> Key { @inline(__always) _read { yield keys[index] } }

    /// Gives an operation a key, without a place in its line.
    mutating func enter(_ name: Name, _ ref: OperationRef, isOpen: Bool) -> Int {
        let index = findOrInsert(name)
        keys[index].members += 1
        if isOpen { keys[index].open.append(ref) }
        return index
    }

    /// Puts an operation at its place in a key's line, which is the end unless it is older than others there (it took
    /// over a key by a rename); who has started is never overtaken.
    mutating func stand(_ index: Int, _ ticket: Ticket, in operations: OperationTable) {
        let isHeld =
            keys[index].line.first.map { operations.isAlive($0) && operations[$0].progress.hasStarted } ?? false
        keys[index].line.insert(ticket, notBefore: isHeld ? 1 : 0)
    }

    mutating func close(_ index: Int, _ ref: OperationRef) {
        keys[index].open.remove(ref)
    }

    /// The operation behind the first.
    func second(_ index: Int, in operations: OperationTable) -> Ticket? {
        keys[index].line.others.first { operations.isAlive($0) }
    }

    /// Takes a key from an operation that has ended. Returns who stands first now, if that has changed.
    mutating func leave(
        _ index: Int, _ ref: OperationRef, _ ticket: Ticket, in operations: OperationTable
    ) -> Ticket? {
        close(index, ref)
        keys[index].members -= 1
        if keys[index].members == 0 {
            byName[keys[index].name] = nil
            keys[index] = Key(name: Name(handler: -1, bytes: []))
            free.append(index)
            return nil
        }
        guard keys[index].line.first == ticket else {
            if keys[index].line.count > 2 * keys[index].members + 64 {
                keys[index].line.removeAll { $0 == ticket || !operations.isAlive($0) }
            }
            return nil
        }
        keys[index].line.removeFirst()
        while let next = keys[index].line.first {
            if operations.isAlive(next) { return next }
            keys[index].line.removeFirst()
        }
        return nil
    }

    /// Forgets all lines: they are about to be formed anew.
    mutating func clearLines() {
        for index in keys.indices { keys[index].line = KeyLine() }
    }

    /// One look into the dictionary for both.
    private mutating func findOrInsert(_ name: Name) -> Int {
        let next = free.last ?? keys.count
        let index = Self.value(&byName[name, default: next])
        guard index == next else { return index }
        if free.popLast() == nil { keys.append(Key(name: name)) } else { keys[index] = Key(name: name) }
        return index
    }

    /// Access by reference: what is not there is inserted.
    private static func value(_ entry: inout Int) -> Int { entry }
}

/// The line of a key.
struct KeyLine: Sendable {
    private(set) var first: Ticket?
    private var rest = Deque<Ticket>()

    var count: Int { first == nil ? 0 : rest.count + 1 }
    var second: Ticket? { rest.first }
    /// All but the first, in order.
    var others: ArraySlice<Ticket> { rest.elements }
    /// In order.
    var elements: [Ticket] { first.map { [$0] + rest.elements } ?? [] }

    /// Inserts in order, but no nearer to the front than `notBefore`.
    mutating func insert(_ ticket: Ticket, notBefore firstFree: Int) {
        guard let first else {
            self.first = ticket
            return
        }
        if firstFree == 0, ticket < first {
            rest.insert(first, notBefore: 0)
            self.first = ticket
        } else {
            rest.insert(ticket, notBefore: 0)
        }
    }

    mutating func removeFirst() { first = rest.removeFirst() }

    mutating func removeAll(where isGone: (Ticket) -> Bool) {
        rest.removeAll(where: isGone)
        if let first, isGone(first) { removeFirst() }
    }
}

/// The operations that have a key and still take events in, in no order.
struct OpenOperations: Sequence, Sendable {
    private var first: OperationRef?
    private var others: [OperationRef] = []

    mutating func append(_ ref: OperationRef) {
        if first == nil { first = ref } else { others.append(ref) }
    }

    mutating func remove(_ ref: OperationRef) {
        if first == ref {
            first = others.popLast()
        } else if !others.isEmpty {
            others.removeAll { $0 == ref }
        }
    }

    struct Iterator: IteratorProtocol {
        fileprivate var first: OperationRef?
        fileprivate var others: IndexingIterator<[OperationRef]>

        mutating func next() -> OperationRef? {
            guard let ref = first else { return others.next() }
            first = nil
            return ref
        }
    }

    func makeIterator() -> Iterator { Iterator(first: first, others: others.makeIterator()) }
}
