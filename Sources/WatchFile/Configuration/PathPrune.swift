/// `Prune=` of `[Path]`: folders that are not walked.
package struct PathPrune: Equatable, Sendable {
    package var globs: [PathGlob]

    package init(globs: [PathGlob] = []) { self.globs = globs }

    package var isEmpty: Bool { globs.isEmpty }

    /// Whether a folder may be pruned or not for where it stands, and not for its name alone.
    package var dependsOnPlace: Bool { globs.contains { !$0.isOfName } }

    /// Whether a folder is not walked.
    ///
    /// - Parameters:
    ///   - path: of the folder, absolute.
    ///   - root: what is watched; it is always walked.
    package func prunes(_ path: [UInt8], below root: [UInt8]) -> Bool {
        if globs.isEmpty || path.count <= root.count { return false }
        let below = path[(root.count + (root.last == UInt8(ascii: "/") ? 0 : 1))...]
        return globs.contains { $0.matches(below) }
    }

    /// Whether a folder that a path goes through is not walked.
    package func prunes(anyOf path: [UInt8], below root: [UInt8]) -> Bool {
        if globs.isEmpty { return false }
        let ends = path.indices.filter { $0 > root.count && path[$0] == UInt8(ascii: "/") }
        return ends.contains { prunes(Array(path[..<$0]), below: root) }
    }
}
