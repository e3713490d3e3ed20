import Engine
import LinuxSystem
import WatchFile

/// The file at the root's own path.
extension TreeRoot {
    func anchorChanged(_ change: PathAnchor.Change) {
        guard !isOver else { return }
        if case .entry(let event) = change, let root = tree.root, !tree.isFolder(root), !event.isFolder {
            var event = event
            event.name = []
            observe(event, in: FileTree.holder, from: nil)
            exists = tree.root != nil
            // It leads elsewhere, or is no link any more.
            if event.change.isOfName, rootLink != nil || LinkAnchors.isNeeded(for: path) { lookBeside() }
            return owner.rootChanged()
        }
        if case .entry(let event) = change, case .attributes = event.change { return }
        // It may lead to a file system that hangs.
        if rootLink != nil || LinkAnchors.isNeeded(for: path) { return lookBeside() }
        armAnchor()
        lookAtRoot()
        // A file that came needs more of its folder than one that was waited for.
        if tree.root.map({ !tree.isFolder($0) }) ?? false { armAnchor() }
        pump()
        owner.rootChanged()
    }

    /// The file at the path, compared with the one that stood there.
    func lookAtRoot() {
        guard !owner.isHeld || !hasBegun else {
            isRootDirty = true
            return
        }
        take(Swift.Result { () throws(SystemError) in try Self.rootStatus(path) })
    }

    /// A look at the root's own path.
    func take(_ result: Swift.Result<FileStatus?, SystemError>) {
        isRootDirty = false
        switch result {
        case .success(let status):
            exists = status != nil
            begin()
            // It is looked again when what it is compared with is there.
            if record.beginning != .loading { take(root: status) }
        case .failure(let error):
            // Nobody knows whether it is there.
            exists = false
            isRootDirty = true
            owner.failed(error)
        }
    }

    /// `nil`: nothing stands there. A link that leads nowhere stands for itself.
    static func rootStatus(_ path: [UInt8]) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            return try Linux.statusOfAny(path, follows: true)
        } catch  where error.isOfNothing {
            do throws(SystemError) {
                return try Linux.statusOfAny(path)
            } catch  where error.isOfNothing {
                return nil
            }
        }
    }

    func take(root status: FileStatus?) {
        guard let status else { return rootIsMissing() }
        changeFileSystem(status)
        guard let root = tree.root else {
            isRootNews = true
            // Another file in the place of the one that is waited for is no news.
            let isSilent = !hasBegun || record.beginning == .waiting
            appear(FileTree.holder, [], status, isSilent ? .silent : .listed(isRecovered: true))
            return
        }
        let isSame = tree[root].inode == status.inode && tree.isOfKind(status.kind, root)
        if !isSame {
            isRootNews = true
            return take(status, at: root, isRecovered: true)
        }
        if tree.isFolder(root) {
            if tree.watch(of: root) == 0, !isScanning {
                enqueue(root, hasBegun ? [.isDeep, .isCompared] : [.isDeep, .isSilent])
            }
        } else if hasBegun,
            !tree.stamp(of: root).mayHaveSameContent(as: FolderSnapshot.Stamp(status)) || tree.has(.isUntrusted, root)
        {
            take(status, at: root, isRecovered: true)
        } else {
            tree.setKind(status.kind, of: root)
        }
    }

    /// Not there is not deleted, where its file system is what went: what is known of it waits until it is back.
    private func rootIsMissing() {
        if isUnmounted { return setAside() }
        guard let root = tree.root else { return }
        isRootNews = true
        removeTree(root, isRecovered: true)
    }

    private func changeFileSystem(_ status: FileStatus) {
        let now = RootIdentity(path, status)
        defer { (standing, isUnmounted) = (now, false) }
        guard let standing else { return }
        // A file is compared: it is read by this name.
        let isCovered = isUnmounted && status.kind == .folder && !standing.isSameAfterMount(as: now)
        if standing.device != now.device || isCovered {
            if isRecording, aside == nil, isEmpty { storeOther() } else { setAside() }
        }
        // The former root is back.
        guard tree.root == nil, let known = aside, known.root.isSameAfterMount(as: now) else { return }
        replaceTree(with: known.tree)
        (aside, isTreeRecorded) = (nil, known.isRecorded)
        if let root = tree.root { enqueue(root, [.isDeep, .isCompared]) }
    }

    private var isEmpty: Bool { departed.isEmpty && tree.root.map { tree.below($0).isEmpty } ?? true }

    /// A folder that is empty, as a disk is to be mounted there, is not kept: the one that has come takes its place in
    /// the store.
    private func storeOther() {
        replaceTree(with: FileTree())
        storeAll()
    }

    /// The one that is recorded is kept, whatever comes in its place.
    private func setAside() {
        guard let standing, let root = tree.root else { return }
        var known = tree
        for id in [root] + known.below(root) {
            known.clear(.scan, id)
            known.setWatch(0, of: id)
        }
        replaceTree(with: FileTree())
        if aside?.isRecorded != true { aside = (standing, known, isTreeRecorded) }
        isTreeRecorded = false
    }
}
