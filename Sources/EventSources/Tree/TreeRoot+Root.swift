import LinuxSystem
import WatchFile

/// What stands at the root's own path.
extension TreeRoot {
    func take(root status: FileStatus?) {
        guard let status else { return rootIsMissing() }
        changeDevice(status)
        guard let root = tree.root else {
            appear(FileTree.holder, [], status, hasBegun ? .listed(isRecovered: true) : .silent)
            return
        }
        let isSame = tree[root].inode == status.inode && tree.kind(of: root) == status.kind
        if !isSame { return take(status, at: root, isRecovered: true) }
        if tree.isFolder(root) {
            if tree.watch(of: root) == 0, !isScanning {
                enqueue(root, hasBegun ? [.isDeep, .isCompared] : [.isDeep, .isSilent])
            }
        } else if hasBegun, !tree.stamp(of: root).mayHaveSameContent(as: FolderSnapshot.Stamp(status)) {
            take(status, at: root, isRecovered: true)
        }
    }

    /// Not there is not deleted, where its file system is what went: what is known of it waits until it is back.
    private func rootIsMissing() {
        if isUnmounted { return setAside() }
        if let root = tree.root { removeTree(root, isRecovered: true) }
    }

    private func changeDevice(_ status: FileStatus) {
        defer { (device, isUnmounted) = (status.device, false) }
        guard let device, device != status.device || isUnmounted else { return }
        guard device != status.device else { return }
        let known = aside
        setAside()
        if let known, known.device == status.device {
            tree = known.tree
            lastPlace = nil
            if let root = tree.root { enqueue(root, [.isDeep, .isCompared]) }
        }
    }

    private func setAside() {
        guard let device, let root = tree.root else { return }
        for id in [root] + tree.below(root) {
            giveUpWatch(id)
            forget(id)
            tree.clear(.scan, id)
        }
        aside = (device, tree)
        tree = FileTree()
        lastPlace = nil
    }
}
