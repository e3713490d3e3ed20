import LinuxSystem

/// Mounts and unmounts over and below a tree.
extension TreeRoot {
    func mountsChanged(isOver: Bool, below: [[UInt8]]) {
        guard !self.isOver else { return }
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

    /// What was mounted may hang.
    func lookBeside() {
        owner.beside { [path] () throws(SystemError) in
            try Self.rootStatus(path)
        } then: { [weak self] result in
            guard let self, !isOver else { return }
            armAnchor()
            if owner.isHeld, hasBegun { isRootDirty = true } else { take(result) }
            pump()
            owner.rootChanged()
        }
    }

    private func compareLater(_ folder: FileTree.ID, _ how: FileTree.Flags) {
        if leavesForLater(folder) { return }
        enqueue(folder, hasBegun ? how : [.isDeep, .isSilent])
    }
}
