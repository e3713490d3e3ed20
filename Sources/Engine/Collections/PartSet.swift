/// Numbers of parts, as ranges: parts mostly end in their order. (The library's `RangeSet` has no layout that the
/// compiler knows: as a part of what is stored it makes all of the engine's actions slower.)
package struct PartSet: Equatable, Sendable {
    /// Ascending; none touches another one.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package var isEmpty: Bool { ranges.isEmpty }
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    package func contains(_ part: Int) -> Bool { ranges.contains { $0.contains(part) } }

    package mutating func insert(_ parts: Range<Int>) {
        guard !parts.isEmpty else { return }
        let touched = ranges.filter { $0.lowerBound <= parts.upperBound && parts.lowerBound <= $0.upperBound }
        let lower = min(parts.lowerBound, touched.first?.lowerBound ?? parts.lowerBound)
        let upper = max(parts.upperBound, touched.last?.upperBound ?? parts.upperBound)
        let place = ranges.firstIndex { $0.upperBound >= parts.lowerBound } ?? ranges.count
        ranges.replaceSubrange(place..<place + touched.count, with: [lower..<upper])
    }
}
