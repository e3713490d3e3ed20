/// The keys of an operation, as indices into the key table: usually one, kept without an allocation.
struct KeySet: Sequence, Sendable {
    private(set) var first: Int?
    private var others: [Int] = []

    mutating func append(_ key: Int) {
        if first == nil { first = key } else { others.append(key) }
    }

    struct Iterator: IteratorProtocol {
        fileprivate var first: Int?
        fileprivate var others: IndexingIterator<[Int]>

        mutating func next() -> Int? {
            guard let key = first else { return others.next() }
            first = nil
            return key
        }
    }

    func makeIterator() -> Iterator { Iterator(first: first, others: others.makeIterator()) }
}
