/// An element with the name by which a `Registry` finds it.
protocol Named: Sendable {
    associatedtype Name: Hashable & Sendable
    /// Stays as long as it is in a registry.
    var name: Name { get }
}

/// Named things with stable indices.
struct Registry<Element: Named>: Sendable {
    private var slots: [Element] = []
    private var isInUseFlags: [Bool] = []
    private var free: [Int] = []
    private var places = HashedPlaces()

    func index(of name: Element.Name) -> Int? { places.first(hash: name.hashValue) { slots[$0].name == name } }

    /// Slots, in use or not.
    var count: Int { slots.count }

    /// Indices in use.
    var indices: [Int] { slots.indices.filter { isInUseFlags[$0] } }
    var names: [Element.Name] { indices.map { slots[$0].name } }

    /// There will be so many.
    mutating func reserveCapacity(_ count: Int) {
        slots.reserveCapacity(count)
        isInUseFlags.reserveCapacity(count)
    }

    mutating func insert(_ element: Element) -> Int {
        let index = free.popLast() ?? slots.count
        if index == slots.count {
            slots.append(element)
            isInUseFlags.append(true)
        } else {
            slots[index] = element
            isInUseFlags[index] = true
        }
        places.insert(index, hash: element.name.hashValue) { slots[$0].name.hashValue }
        return index
    }

    func isInUse(_ index: Int) -> Bool { isInUseFlags[index] }

    /// Its slot is free for another one.
    mutating func release(_ index: Int) {
        guard isInUseFlags[index] else { return }
        places.remove(index, hash: slots[index].name.hashValue) { slots[$0].name.hashValue }
        isInUseFlags[index] = false
        free.append(index)
    }

    subscript(index: Int) -> Element {
        @inline(__always) _read { yield slots[index] }
        @inline(__always) _modify { yield &slots[index] }
    }
}
