import Engine
import LinuxSystem

/// The file system of a folder or file, and what was known of the one that is covered or unmounted: not there is not
/// deleted.
struct SnapshotOfMounts: Sendable {
    /// The folder or file that the snapshot is of; `nil`: there is none, or it is not known.
    private var root: RootIdentity?
    /// The snapshot that the store has, while another file system stands there.
    private var aside: (root: RootIdentity, snapshot: FolderSnapshot)?
    /// Something was mounted or unmounted there or above: another folder of the same file system may stand there.
    var mayBeOther = false

    /// Whether the snapshot is that which the store has.
    var isRecorded: Bool { aside == nil }

    /// Whether what stands there is not to be compared with what stood there. A file is, on whichever file system: it is
    /// read by this name. Where nothing stands, it was deleted if the way to it ends on the same file system.
    func isOther(_ look: PathLook) -> Bool {
        guard let root else { return aside?.root.isSameAfterMount(as: look.identity) ?? false }
        guard look.status == nil || look.isFolder == true else { return false }
        if mayBeOther, look.isFolder == true, !root.isSameAfterMount(as: look.identity) { return true }
        return look.device.map { $0 != root.device } ?? false
    }

    /// The snapshot of the file system that stands there now, as it was known before; empty: it was not.
    func former(at look: PathLook) -> FolderSnapshot {
        if let aside, aside.root.isSameAfterMount(as: look.identity) { aside.snapshot } else { FolderSnapshot() }
    }

    mutating func note(_ look: PathLook) {
        root = look.status == nil ? nil : look.identity
        mayBeOther = false
    }

    /// Another file system has come. Returns what was known of it. A folder that is empty, as a disk is to be mounted
    /// there, is not kept: the one that has come takes its place, also in the store.
    mutating func change(to look: PathLook, from snapshot: FolderSnapshot) -> FolderSnapshot {
        let known = former(at: look)
        if let aside {
            if aside.root.isSameAfterMount(as: look.identity) { self.aside = nil }
        } else if let root, !snapshot.entries.isEmpty {
            aside = (root, snapshot)
        }
        return known
    }
}

/// Mounts and unmounts over a folder or file.
extension PathRoot {
    func mountsChanged(isOver: Bool, isAbove: Bool, below: [[UInt8]]) {
        guard isOver else { return }
        if isAbove { mounts.mayBeOther = true }
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
        let isFirst = isRecording && snapshot.entries.isEmpty
        snapshot = mounts.change(to: look, from: snapshot)
        if isFirst { storeAll([]) }
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
            FileWatch(file, maskOfEnds.union([.attributes, .selfDeleted]), hub: hub) { [weak self] change in
                guard let self, !isOver else { return }
                // It was replaced where it stands, and its mount is gone: another may have come at once.
                if case .selfChanged = change { hub.unmounted?() }
                keepOrTake(FolderEvent(change: change, watch: 0, name: anchorName, isFolder: false))
            }
        }
    }
}
