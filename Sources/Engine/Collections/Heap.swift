/// A binary min-heap.
struct Heap<Element: Comparable & Sendable>: Sendable {
    private var storage: [Element] = []

    init() {}

    var count: Int { storage.count }
    var first: Element? { storage.first }
    /// In no order.
    var elements: [Element] { storage }

    mutating func insert(_ element: Element) {
        storage.append(element)
        var child = storage.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard storage[child] < storage[parent] else { break }
            storage.swapAt(child, parent)
            child = parent
        }
    }

    @discardableResult
    mutating func removeFirst() -> Element? {
        guard let last = storage.popLast() else { return nil }
        guard let first = storage.first else { return last }
        storage[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            let right = left + 1
            var least = parent
            if left < storage.count, storage[left] < storage[least] { least = left }
            if right < storage.count, storage[right] < storage[least] { least = right }
            guard least != parent else { break }
            storage.swapAt(parent, least)
            parent = least
        }
        return first
    }

    /// O(n log n).
    mutating func removeAll(where isGone: (Element) -> Bool) {
        // A sorted array is a heap.
        storage = storage.filter { !isGone($0) }.sorted()
    }
}
