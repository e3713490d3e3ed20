/// `Prune=` of `[Path]`, and the globs of a `Path=`: folders that are not walked.
package struct PathPrune: Equatable, Sendable {
    package var globs: [PathGlob]
    /// `nil`: every other folder is walked.
    package var scope: PathScope?

    package init(globs: [PathGlob] = [], scope: PathScope? = nil) {
        self.globs = globs
        self.scope = scope
    }

    private var isEmpty: Bool { globs.isEmpty && scope == nil }

    /// Whether a folder may be pruned or not for where it stands, and not for its name alone.
    package var dependsOnPlace: Bool { scope != nil || globs.contains { !$0.isOfName } }

    /// Whether a folder is not walked.
    ///
    /// - Parameters:
    ///   - path: of the folder, absolute.
    ///   - root: what is watched; it is always walked.
    package func prunes(_ path: [UInt8], below root: [UInt8]) -> Bool {
        if isEmpty || path.count <= root.count { return false }
        if let scope, !scope.walks(path) { return true }
        let below = path[(root.count + (root.last == UInt8(ascii: "/") ? 0 : 1))...]
        return globs.contains { $0.matches(below) }
    }

    /// Whether a folder that a path goes through is not walked.
    package func prunes(anyOf path: [UInt8], below root: [UInt8]) -> Bool {
        if isEmpty { return false }
        let ends = path.indices.filter { $0 > root.count && path[$0] == UInt8(ascii: "/") }
        return ends.contains { prunes(Array(path[..<$0]), below: root) }
    }
}
