import LinuxSystem

/// The file system of a folder, and what was known of the one that is covered or unmounted: not there is not deleted.
struct SnapshotOfMounts: Sendable {
    /// That of the snapshot; `nil`: it is not known.
    private var device: UInt64?
    /// The snapshot that the store has, while another file system stands there.
    private var aside: (device: UInt64, snapshot: FolderSnapshot)?

    /// Whether the snapshot is that which the store has.
    var isRecorded: Bool { aside == nil }

    func isOther(_ look: PathLook) -> Bool {
        guard let device, let status = look.status, status.kind == .folder else { return false }
        return status.device != device
    }

    /// What was known of the file system that stands there now.
    func former(at look: PathLook) -> FolderSnapshot {
        if let aside, aside.device == look.status?.device { aside.snapshot } else { FolderSnapshot() }
    }

    mutating func note(_ look: PathLook) {
        if let status = look.status, status.kind == .folder { device = status.device }
    }

    /// Another file system has come. Returns what was known of it.
    mutating func change(to look: PathLook, from snapshot: FolderSnapshot) -> FolderSnapshot {
        let known = former(at: look)
        if let aside {
            if aside.device == look.status?.device { self.aside = nil }
        } else if let device {
            aside = (device, snapshot)
        }
        return known
    }
}

/// Mounts and unmounts over a folder or file.
extension PathRoot {
    func mountsChanged(isOver: Bool, below: [[UInt8]]) {
        guard isOver else { return }
        // What was mounted may hang.
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
}
