import LinuxSystem

/// Mounts and unmounts over and below what is watched.
extension PathSource {
    /// Something else may stand at these places, and below: it is compared.
    func mountsChanged(_ places: [[UInt8]]) {
        levels?.look()
        if followsLinks { for case let root as TreeRoot in roots { root.linksMounted(places) } }
        var indirect: [[UInt8]] = []
        for root in roots {
            if !tell(places, root, as: root.path) { indirect.append(root.path) }
        }
        guard !indirect.isEmpty else { return }
        // A path may lead there through links. A file system that hangs holds up this source alone.
        beside { [indirect] () throws(SystemError) in
            indirect.map { path in (path, (try? Linux.realPath(path)) ?? path) }.filter { $0.0 != $0.1 }
        } then: { [weak self] found in
            guard let self, let found = try? found.get() else { return }
            let real = Dictionary(found, uniquingKeysWith: { first, _ in first })
            for root in roots { if let path = real[root.path] { tell(places, root, as: path) } }
        }
    }

    /// - Parameter real: the root, as the places are named.
    /// - Returns: whether it concerns the root.
    @discardableResult
    private func tell(_ places: [[UInt8]], _ root: any WatchedPath, as real: [UInt8]) -> Bool {
        let isOver = places.contains { real.isAtOrBelow($0) || $0.isAtOrBelow(real) && isParent(real, of: $0) }
        let isAbove = places.contains { real.isAtOrBelow($0) }
        let below = root.isRecursive ? places.filter { $0 != real && $0.isAtOrBelow(real) }.map { $0.below(real) } : []
        if isOver || !below.isEmpty { root.mountsChanged(isOver: isOver, isAbove: isAbove, below: below) }
        return isOver || !below.isEmpty
    }

    private func isParent(_ folder: [UInt8], of path: [UInt8]) -> Bool {
        !path.below(folder).contains(UInt8(ascii: "/"))
    }
}
