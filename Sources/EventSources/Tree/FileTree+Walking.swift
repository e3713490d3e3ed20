package import LinuxSystem

/// Ways through a tree.
extension FileTree {
    /// The nodes directly in a folder, in no order.
    func children(of folder: ID) -> [ID] {
        guard isFolder(folder) else { return [] }
        var (children, id) = ([ID](), self[folder].firstChild)
        while id != 0 {
            children.append(id)
            id = self[id].next
        }
        return children
    }

    /// The next one of all that stands below a folder, each before what stands in it; `nil`: that was the last.
    ///
    /// - Parameter id: the folder itself, to begin with.
    func next(after id: ID, within top: ID) -> ID? {
        if isFolder(id), self[id].firstChild != 0 { return self[id].firstChild }
        var node = id
        while node != top {
            if self[node].next != 0 { return self[node].next }
            node = self[node].parent
        }
        return nil
    }

    /// How much stands below a folder.
    func countBelow(_ top: ID) -> Int {
        var (count, id) = (0, top)
        while let next = next(after: id, within: top) { (id, count) = (next, count + 1) }
        return count
    }

    /// The numbers that nodes have or had, of all of them.
    var numbers: Range<ID> { 1..<ID(used) }

    /// Whether there is a node of that number.
    func exists(_ id: ID) -> Bool { self[id].parent >= 0 }

    /// All that stands below a folder, each before what stands in it.
    func below(_ top: ID) -> [ID] {
        var (found, id) = ([ID](), top)
        while let next = next(after: id, within: top) {
            found.append(next)
            id = next
        }
        return found
    }
}

extension FileTree {
    /// A file or folder as it was last seen.
    package struct Entry: Equatable, Sendable {
        /// Below the root; empty: the root.
        package var path: [UInt8]
        package var kind: FileStatus.Kind
        package var stamp: FolderSnapshot.Stamp
    }

    /// Calls with everything that is known, folders before what stands in them, in no other order. Nodes that nobody
    /// has looked at yet are left out.
    package func visit(_ body: (Entry) -> Void) {
        guard let root else { return }
        var id: ID? = root
        while let node = id {
            if !has(.isUnseen, node) {
                body(Entry(path: path(of: node), kind: kind(of: node), stamp: stamp(of: node)))
            }
            id = next(after: node, within: root)
        }
    }

    /// The entry of the path below the root.
    package func entry(at path: [UInt8]) -> Entry? {
        guard let node = node(at: path), !has(.isUnseen, node) else { return nil }
        return Entry(path: path, kind: kind(of: node), stamp: stamp(of: node))
    }
}
