/// The rules that hold for one of the paths of a source.
extension PathTrigger {
    /// The events that are told of it.
    package func events(of path: [UInt8]) -> PathEvents { ownEvents[path] ?? events }

    /// Whether folders in it are watched as well.
    package func isTree(_ path: [UInt8]) -> Bool { isRecursive || scopes[path] != nil }

    /// The folders below it that are not walked.
    package func prune(below path: [UInt8]) -> PathPrune { PathPrune(globs: prune.globs, scope: scopes[path]) }

    /// Whether it sees what becomes of a path that is the same or below, but for its filters.
    package func reaches(_ path: [UInt8], from root: [UInt8]) -> Bool {
        if let scope = scopes[root], !scope.covers(path) { return false }
        let below = path.dropFirst(root.count).drop { $0 == UInt8(ascii: "/") }
        if !isTree(root), below.contains(UInt8(ascii: "/")) { return false }
        return !prune(below: root).prunes(anyOf: path, below: root)
    }

    /// `Path=/srv/in`, as the watch file has it.
    package func assignment(of path: [UInt8]) -> String {
        let key = ownEvents[path].map { $0 == .ofPathChanged ? "PathChanged" : "PathModified" } ?? "Path"
        return "\(key)=\(text(of: path))"
    }

    /// As the watch file has it: with its globs.
    package func text(of path: [UInt8]) -> String {
        scopes[path].map { $0.patterns.map(\.description).joined(separator: " ") } ?? Printable.text(path)
    }
}
