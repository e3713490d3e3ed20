import Engine
import LinuxSystem

/// The file system of a folder, and what was known of the one that is covered or unmounted: not there is not deleted.
struct SnapshotOfMounts: Sendable {
    /// The folder that the snapshot is of; `nil`: it is not known.
    private var root: RootIdentity?
    /// The snapshot that the store has, while another file system stands there.
    private var aside: (root: RootIdentity, snapshot: FolderSnapshot)?

    /// Whether the snapshot is that which the store has.
    var isRecorded: Bool { aside == nil }

    func isOther(_ look: PathLook) -> Bool {
        guard let root, look.isFolder == true else { return false }
        return root.device != look.identity.device
    }

    /// The snapshot of the file system that stands there now, as it was known before; empty: it was not.
    func former(at look: PathLook) -> FolderSnapshot {
        if let aside, aside.root.isSameAfterMount(as: look.identity) { aside.snapshot } else { FolderSnapshot() }
    }

    mutating func note(_ look: PathLook) {
        if look.isFolder == true { root = look.identity }
    }

    /// Another file system has come. Returns what was known of it.
    mutating func change(to look: PathLook, from snapshot: FolderSnapshot) -> FolderSnapshot {
        let known = former(at: look)
        if let aside {
            if aside.root.isSameAfterMount(as: look.identity) { self.aside = nil }
        } else if let root {
            aside = (root, snapshot)
        }
        return known
    }
}

/// Mounts and unmounts over a folder or file.
extension PathRoot {
    func mountsChanged(isOver: Bool, isAbove: Bool, below: [[UInt8]]) {
        guard isOver else { return }
        // The new file system may hang.
        owner.beside { [path] () throws(SystemError) in
            _ = try PathLook(path)
        } then: { [weak self] _ in
            if let self, !self.isOver { rearm() }
        }
    }

    func changeFileSystem(_ look: PathLook) {
        newFiles.removeAll()
        (gone, awaited, exchanged) = ([], [], [])
        snapshot = mounts.change(to: look, from: snapshot)
    }

    // MARK: A file that is mounted by itself

    /// As containers do with `/etc/hosts`: what is written into it is told to its own watch, and not to the folder it
    /// seems to stand in.
    func watchMountedFile() {
        mountedFile?.cancel()
        mountedFile = nil
        guard exists, !isFolder, Linux.isMountPoint(path) else { return }
        // One that is gone by now is reported by its mount.
        mountedFile = (try? Linux.open(path, [.pathOnly]))?.use { file in
            FileWatch(file, maskOfEnds.union(.attributes), hub: hub) { [weak self] change in
                guard let self, !isOver else { return }
                keepOrTake(FolderEvent(change: change, watch: 0, name: anchorName, isFolder: false))
            }
        }
    }
}
