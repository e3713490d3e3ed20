/// Whether a `[Path]` is told of what becomes of a path, by its keys alone: the path need not exist.
package enum PathSight: Equatable, Sendable {
    /// It is, below this `Path=`.
    case seen(root: [UInt8])
    /// It is the folder of this `Path=`, and only what is in it is.
    case root(_ root: [UInt8])
    /// It is a folder, of which these `Events=` of this `Path=` never are.
    case folder(root: [UInt8])
    /// Without `Recursive=yes`, only what is directly in this `Path=` is.
    case tooDeep(root: [UInt8])
    /// The globs of this `Path=` do not match it, nor a folder it is in.
    case unmatched(root: [UInt8])
    /// `Prune=` leaves out this folder, which it is in, or is.
    case pruned(folder: [UInt8], root: [UInt8])
    /// This glob of `Exclude=` matches it.
    case excluded(by: PathGlob, root: [UInt8])
    /// No glob of `Include=` matches it.
    case notIncluded(root: [UInt8])
}

extension PathTrigger {
    /// How a path is seen; where several `Path=` are above it, by the one that sees most. `nil`: none is.
    ///
    /// - Parameters:
    ///   - path: absolute, without `.`, `..` and a slash at its end.
    ///   - isFolder: a folder stands there.
    package func sight(of path: [UInt8], isFolder: Bool = false) -> PathSight? {
        let sights = paths.compactMap { sight(of: path, below: $0, isFolder) }
        return sights.first { if case .seen = $0 { true } else { false } } ?? sights.first
    }

    private func sight(of path: [UInt8], below root: [UInt8], _ isFolder: Bool) -> PathSight? {
        let slash = UInt8(ascii: "/")
        let folder = root.last == slash ? root : root + [slash]
        guard path == root || path.starts(with: folder) else { return nil }
        if let scope = scopes[root], !scope.covers(path) {
            return scope.isAbove(path) ? .tooDeep(root: root) : .unmatched(root: root)
        }
        if isFolder, let scope = scopes[root], !scope.isRecursive, !scope.matches(path) { return .tooDeep(root: root) }
        if !isTree(root), path.dropFirst(folder.count).contains(slash) { return .tooDeep(root: root) }
        var folders = path.indices.filter { $0 > root.count && path[$0] == slash }.map { Array(path[..<$0]) }
        if isFolder, path != root { folders.append(path) }
        if let pruned = folders.first(where: { prune.prunes($0, below: root) }) {
            return .pruned(folder: pruned, root: root)
        }
        if isFolder, ownEvents[root] == nil, !events.contains(.attributes) {
            if path == root { return .root(root) }
            if isTree(root), events.isDisjoint(with: .ofFolders) { return .folder(root: root) }
        }
        if filter.lets(path, below: root) { return .seen(root: root) }
        let glob = filter.exclude.first { !PathFilter(exclude: [$0]).lets(path, below: root) }
        return glob.map { .excluded(by: $0, root: root) } ?? .notIncluded(root: root)
    }
}
