import LinuxSystem

/// A file that is mounted at the path by itself, as containers do with `/etc/hosts`: what is written into it is told to
/// its own watch, and not to the folder it seems to stand in.
extension PathRoot {
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
