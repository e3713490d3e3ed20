import Engine
import LinuxSystem

/// The tree of what was handled before, made of what the store has of it, path by path in the order of their bytes.
struct HandledTree: Sendable {
    /// Paths whose handlers the store has kept, and which see whatever stands there.
    let stored: Set<[UInt8]>
    let root: [UInt8]
    private(set) var tree = FileTree()
    /// Paths below one at which a file stood: of a folder and a file that replaced each other one may be handled, and
    /// the other not yet. No tree has both.
    private(set) var belowFiles: [(path: [UInt8], isFolder: Bool)] = []
    /// The paths of `stored` whose state is to be stored anew: the next start knows nothing of the handlers.
    private(set) var trusted: [(path: [UInt8], state: PathState)] = []
    /// In full: paths that some handlers were told of, and that are in no tree.
    private(set) var told: [[UInt8]: PathState.Kind] = [:]
    /// Of the path before.
    private var lastFolder: (path: [UInt8], id: FileTree.ID)?

    init(below root: [UInt8], stored: Set<[UInt8]>) { (self.root, self.stored) = (root, stored) }

    mutating func add(_ path: [UInt8], _ state: PathState) {
        if state.isTold {
            told[full(path)] = state.kind
            return
        }
        let end = path.lastIndex(of: UInt8(ascii: "/"))
        let name = end.map { Array(path[($0 + 1)...]) } ?? path
        guard state.kind != .nothing, path.isEmpty || (1...FileTree.longestName).contains(name.count),
            let folder = path.isEmpty ? FileTree.holder : parent(end.map { path[..<$0] } ?? [])
        else { return }
        guard tree.isFolder(folder) else { return belowFiles.append((path, state.kind == .folder)) }
        var stamp = FolderSnapshot.Stamp(state)
        if stamp.isFresh, !stored.isEmpty, stored.contains(full(path)) {
            stamp.isFresh = false
            trusted.append((path, stamp.state))
        }
        let node: FileTree.ID
        if let known = tree.child(of: folder, named: name) {
            node = known
        } else {
            node = tree.insert(name, into: folder, kind: state.kind == .folder ? .folder : .unknown)
        }
        tree.setStamp(stamp, of: node)
    }

    /// The folder; or the file that stood at its path, or above it. One whose coming is not handled yet, though what
    /// stands in it is, is not known.
    private mutating func parent(_ path: ArraySlice<UInt8>) -> FileTree.ID? {
        if let lastFolder, lastFolder.path.elementsEqual(path) { return lastFolder.id }
        var folder = tree.root ?? unknownFolder([], in: FileTree.holder)
        for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) where !path.isEmpty {
            guard (1...FileTree.longestName).contains(name.count) else { return nil }
            folder = tree.child(of: folder, named: Array(name)) ?? unknownFolder(Array(name), in: folder)
            guard tree.isFolder(folder) else { return folder }
        }
        guard tree.isFolder(folder) else { return folder }
        lastFolder = (Array(path), folder)
        return folder
    }

    private mutating func unknownFolder(_ name: [UInt8], in folder: FileTree.ID) -> FileTree.ID {
        let node = tree.insert(name, into: folder, kind: .folder)
        tree.set([.isUnseen, .isNew], node)
        return node
    }

    private func full(_ path: [UInt8]) -> [UInt8] {
        if path.isEmpty { return root }
        return root.last == UInt8(ascii: "/") ? root + path : root + [UInt8(ascii: "/")] + path
    }
}

extension FileTree {
    /// Of what stands in the folders directly below the root nothing is known.
    mutating func makeShallow() {
        guard let root else { return }
        for id in below(root).reversed() where parent(of: id) != root { remove(id) }
        for child in children(of: root) where isFolder(child) { set(.isShallow, child) }
    }
}
