import LinuxSystem

/// Changes of the root that do not show in the folder it stands in: of what a link leads to, and of a file that is
/// mounted by itself. They are found by a look at it.
extension TreeRoot {
    func watchElsewhere() throws(SystemError) {
        watchMountedFile()
        rootLink = LinkAnchors.needed(for: path, rootLink) {
            LinkAnchors(path, hub: hub, mask: maskElsewhere, beside: { [owner] in owner.makeWays($0, then: $1) }) {
                [weak self] in self?.changedElsewhere($0)
            }
        }
        try rootLink?.followAll()
    }

    func leaveElsewhere() {
        rootLink?.disarm()
        mountedFile?.cancel()
        (rootLink, mountedFile) = (nil, nil)
    }

    private var maskElsewhere: InotifyMask { mask.intersection([.closedAfterWriting, .modified, .attributes]) }

    private func watchMountedFile() {
        mountedFile?.cancel()
        mountedFile = nil
        guard let status = try? Linux.lstat(path), status.kind == .regular, Linux.isMountPoint(path) else { return }
        // One that is gone by now is reported by its mount.
        mountedFile = (try? Linux.open(path, [.pathOnly]))?.use { file in
            FileWatch(file, maskElsewhere.union([.attributes, .selfDeleted]), hub: hub) { [weak self, hub] in
                // It was replaced where it stands, and its mount is gone: another may have come at once.
                if case .selfChanged = $0 { hub.unmounted?() } else { self?.changedElsewhere($0) }
            }
        }
    }

    private func changedElsewhere(_ change: FolderEvent.Change) {
        guard !isOver else { return }
        if case .modified = change {
            guard let root = tree.root, !tree.isFolder(root) else { return }
            return observe(
                FolderEvent(change: change, watch: 0, name: [], isFolder: false), in: FileTree.holder, from: nil)
        }
        lookBeside()
    }
}
