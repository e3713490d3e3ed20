/// The part of a folder that `Path=` with globs watch: what matches, and what stands in folders that match.
package struct PathScope: Hashable, Sendable {
    /// All have the folder before their first glob; one without a glob is the folder itself. Never empty.
    package var patterns: [PathPattern]
    /// `Recursive=`: what stands in folders that match, at any depth.
    package var isRecursive: Bool

    package init(_ patterns: [PathPattern], isRecursive: Bool) {
        self.patterns = patterns
        self.isRecursive = isRecursive
    }

    /// Whether something in a folder may be covered.
    package func walks(_ folder: [UInt8]) -> Bool {
        patterns.contains { $0.depth(of: folder).map { $0 <= 0 || isRecursive } ?? false }
    }

    /// Whether a path matches, or lies in a folder that does.
    package func covers(_ path: [UInt8]) -> Bool {
        patterns.contains { $0.depth(of: path).map { $0 == 0 || $0 == 1 || $0 > 0 && isRecursive } ?? false }
    }

    package func matches(_ path: [UInt8]) -> Bool { patterns.contains { $0.depth(of: path) == 0 } }

    /// Whether a path lies below what matches.
    package func isAbove(_ path: [UInt8]) -> Bool {
        patterns.contains { $0.depth(of: path).map { $0 > 0 } ?? false }
    }
}
