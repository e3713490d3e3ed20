/// Named things with stable indices: one that is removed keeps its slot until nothing refers to it any more.
struct Registry<Name: Hashable & Sendable, Element: Sendable>: Sendable {
    private var slots: [Element] = []
    private var isInUseFlags: [Bool] = []
    private var free: [Int] = []
    private var byName: [Name: Int] = [:]

    /// The one of that name; not one that has been removed.
    func index(of name: Name) -> Int? { byName[name] }

    /// Slots, in use or not.
    var count: Int { slots.count }

    /// Indices in use, also of what is removed and not yet released.
    var indices: [Int] { slots.indices.filter { isInUseFlags[$0] } }
    var names: Dictionary<Name, Int>.Keys { byName.keys }

    mutating func insert(_ element: Element, name: Name) -> Int {
        let index: Int
        if let reused = free.popLast() {
            index = reused
            slots[index] = element
            isInUseFlags[index] = true
        } else {
            index = slots.count
            slots.append(element)
            isInUseFlags.append(true)
        }
        byName[name] = index
        return index
    }

    /// Takes the name away; the slot stays until `release`.
    mutating func removeName(_ name: Name) { byName[name] = nil }

    func isInUse(_ index: Int) -> Bool { isInUseFlags[index] }

    mutating func release(_ index: Int) {
        guard isInUseFlags[index] else { return }
        isInUseFlags[index] = false
        free.append(index)
    }

    subscript(index: Int) -> Element {
        @inline(__always) _read { yield slots[index] }
        @inline(__always) _modify { yield &slots[index] }
    }
}
