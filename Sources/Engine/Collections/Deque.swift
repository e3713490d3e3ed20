/// A first-in, first-out line: an array whose front is consumed lazily, so that both ends cost O(1) amortised.
struct Deque<Element: Sendable>: Sendable {
    private var storage: [Element] = []
    private var head = 0

    init() {}

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }
    var first: Element? { isEmpty ? nil : storage[head] }
    var second: Element? { count < 2 ? nil : storage[head + 1] }
    var last: Element? { isEmpty ? nil : storage.last }
    /// From front to back.
    var elements: ArraySlice<Element> { storage[head...] }

    mutating func append(_ element: Element) { storage.append(element) }

    /// Inserts before the first element of the back part that is greater; O(n) from the back.
    mutating func insert(_ element: Element, notBefore firstFree: Int) where Element: Comparable {
        var position = storage.count
        while position > head + firstFree, element < storage[position - 1] { position -= 1 }
        storage.insert(element, at: position)
    }

    mutating func removeFirst() -> Element? {
        guard head < storage.count else { return nil }
        defer {
            head += 1
            if head == storage.count {
                storage.removeAll(keepingCapacity: storage.capacity <= 128)
                head = 0
            } else if head > 64, head > storage.count / 2 {
                storage.removeFirst(head)
                head = 0
            }
        }
        return storage[head]
    }

    mutating func removeAll(where isGone: (Element) -> Bool) {
        storage.removeFirst(head)
        head = 0
        storage.removeAll(where: isGone)
    }

    // MARK: By position, counted from the front

    mutating func modify(_ index: Int, _ change: (inout Element) -> Void) { change(&storage[head + index]) }

    mutating func modifyLast(_ change: (inout Element) -> Void) { change(&storage[storage.count - 1]) }

    /// O(n), but at either end.
    mutating func remove(at index: Int) -> Element {
        if index == 0, let first = removeFirst() { return first }
        return storage.remove(at: head + index)
    }

    /// How many at the front satisfy a condition that holds for a front part only. O(log n).
    func partition(where isInFront: (Element) -> Bool) -> Int {
        var (low, high) = (head, storage.count)
        while low < high {
            let middle = low + (high - low) / 2
            if isInFront(storage[middle]) { low = middle + 1 } else { high = middle }
        }
        return low - head
    }
}
