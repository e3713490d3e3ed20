/// Indices of an array, found by the hash of what stands there: a dictionary that keeps no copy of its keys, in 4 to 11
/// bytes each, where one by name would take 40 to 105.
///
/// Open addressing with linear probing; what is removed leaves no mark, those behind it move up.
struct HashedPlaces: Sendable {
    private var cells: [Int32] = []
    private var count = 0
    private static let empty: Int32 = -1

    /// The one of that hash for which `isIt` holds.
    func first(hash: Int, where isIt: (Int) -> Bool) -> Int? {
        guard !cells.isEmpty else { return nil }
        var cell = home(hash)
        while cells[cell] != Self.empty {
            if isIt(Int(cells[cell])) { return Int(cells[cell]) }
            cell = next(cell)
        }
        return nil
    }

    /// Adds one that is not there. `hashOf`: of all that are.
    mutating func insert(_ index: Int, hash: Int, hashOf: (Int) -> Int) {
        if (count + 1) * 4 > cells.count * 3 { grow(hashOf) }
        place(index, hash)
        count += 1
    }

    /// Removes one that is there.
    mutating func remove(_ index: Int, hash: Int, hashOf: (Int) -> Int) {
        var gap = home(hash)
        while cells[gap] != Int32(index) { gap = next(gap) }
        var cell = next(gap)
        while cells[cell] != Self.empty {
            // The entry that would be found at the gap moves there.
            if distance(from: home(hashOf(Int(cells[cell]))), to: cell) >= distance(from: gap, to: cell) {
                cells[gap] = cells[cell]
                gap = cell
            }
            cell = next(cell)
        }
        cells[gap] = Self.empty
        count -= 1
    }

    private mutating func grow(_ hashOf: (Int) -> Int) {
        let old = cells
        cells = Array(repeating: Self.empty, count: max(8, 2 * old.count))
        for index in old where index != Self.empty { place(Int(index), hashOf(Int(index))) }
    }

    private mutating func place(_ index: Int, _ hash: Int) {
        var cell = home(hash)
        while cells[cell] != Self.empty { cell = next(cell) }
        cells[cell] = Int32(index)
    }

    private func home(_ hash: Int) -> Int { hash & (cells.count - 1) }
    private func next(_ cell: Int) -> Int { (cell + 1) & (cells.count - 1) }
    private func distance(from start: Int, to cell: Int) -> Int { (cell - start) & (cells.count - 1) }
}
