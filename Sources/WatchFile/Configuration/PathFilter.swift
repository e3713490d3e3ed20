/// `Include=` and `Exclude=` of `[Path]`.
package struct PathFilter: Equatable, Sendable {
    /// Empty: everything.
    package var include: [PathGlob]
    package var exclude: [PathGlob]

    package init(include: [PathGlob] = [], exclude: [PathGlob] = []) {
        self.include = include
        self.exclude = exclude
    }

    /// Whether news of a path is let through.
    ///
    /// - Parameter root: what is watched; of a file, its name counts as the path below.
    package func lets(_ path: [UInt8], below root: [UInt8]) -> Bool {
        if include.isEmpty, exclude.isEmpty { return true }
        let slash = UInt8(ascii: "/")
        let isRoot = path.count <= root.count
        let start = isRoot ? (path.lastIndex(of: slash) ?? -1) + 1 : root.count + (root.last == slash ? 0 : 1)
        let below = path[min(start, path.endIndex)...]
        return (include.isEmpty || include.contains { $0.matches(below) }) && !exclude.contains { $0.matches(below) }
    }
}
