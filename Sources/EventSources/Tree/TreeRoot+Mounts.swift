import Engine
import LinuxSystem

/// Mounts and unmounts over and below a tree.
extension TreeRoot {
    func mountsChanged(isOver: Bool, isAbove: Bool, below: [[UInt8]]) {
        guard !self.isOver else { return }
        // Whatever is not there any more is covered, perhaps.
        if isAbove { isUnmounted = true }
        if isOver { lookBeside() }
        for place in below {
            let end = place.lastIndex(of: UInt8(ascii: "/")) ?? 0
            guard let parent = tree.node(at: Array(place[..<end])), tree.isFolder(parent) else { continue }
            // Another folder may have the number of the one before, and other things in it.
            if let folder = tree.node(at: place), tree.isFolder(folder) {
                compareLater(folder, [.isDeep, .isCompared])
            }
            compareLater(parent, [.isCompared])
        }
        pump()
    }

    /// A look at the root beside the core: its file system may hang. A name on the way that is watched only after the
    /// look may have changed in between, and anchors that are let go of may have had a change to tell: then another look
    /// follows.
    func lookBeside(_ looks: Int = LinkWatch.looks) {
        owner.beside { [path] () throws(SystemError) in
            try Self.rootStatus(path)
        } then: { [weak self] result in
            guard let self, !isOver else { return }
            let (levels, links) = (anchor?.levels, rootLink?.levels)
            armAnchor()
            let isWayNew = anchor?.levels != levels || rootLink?.levels != links
            defer { if isWayNew, looks > 1, !isOver { lookBeside(looks - 1) } }
            if owner.isHeld, hasBegun { takeLater(result) } else { take(result) }
            pump()
            owner.rootChanged()
        }
    }

    /// The root is looked at again when the source is held no more. It may have gone by then: where it stands now, no mount
    /// has hidden it.
    private func takeLater(_ result: Swift.Result<FileStatus?, SystemError>) {
        isRootDirty = true
        guard case .success(let status?) = result, let standing, standing.device == status.device,
            standing.inode == status.inode
        else { return }
        isUnmounted = false
    }

    private func compareLater(_ folder: FileTree.ID, _ how: FileTree.Flags) {
        if leavesForLater(folder) { return }
        enqueue(folder, hasBegun ? how : [.isDeep, .isSilent])
    }
}
