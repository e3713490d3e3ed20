import Engine
import LinuxSystem
import WatchFile

/// Renames within a tree.
extension TreeRoot {
    func renamed(
        _ oldFolder: FileTree.ID, _ oldName: [UInt8], _ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool
    ) {
        guard let node = tree.child(of: oldFolder, named: oldName) else {
            return cameFromUnknown(folder, name, isFolder: isFolder)
        }
        let isLink = isLink(node)
        // A file is known in the place of the folder that was moved, or the reverse: it has come later.
        if !tree.has(.isUnseen, node), tree.isFolder(node) != isFolder, !isLink {
            doubt(node)
            return cameFromUnknown(folder, name, isFolder: isFolder)
        }
        let (oldPath, newPath) = (fullPath(node), fullPath(folder, name))
        let status = look(newPath)
        let target = tree.child(of: folder, named: name)
        if let target, isLink || self.isLink(target) || status.map(follows) ?? false {
            return linkReplaces(oldFolder, oldName, folder, name, isFolder: isFolder)
        }
        // A folder is back where it is known to stand, and was never seen elsewhere.
        if let target, let status, tree.has(.isUnseen, node), status.kind == .folder, tree.isFolder(target),
            status.inode == inodeOfName(target)
        {
            removeTree(node)
            return take(status, at: target, isRecovered: false)
        }
        if let target, isExchange(node, oldPath, target, status) {
            exchanged.insert(
                Exchange(
                    from: tree.reference(folder), fromName: name, to: tree.reference(oldFolder), toName: oldName))
            let isTargetFolder = tree.isFolder(target)
            guard isFolder && isLeftOut(newPath) || isTargetFolder && isLeftOut(oldPath) else {
                return exchange(node, target)
            }
            // One of them is not walked at its new place.
            removeTree(node)
            removeTree(target)
            cameFromUnknown(oldFolder, oldName, isFolder: isTargetFolder)
            return cameFromUnknown(folder, name, isFolder: isFolder)
        }
        // The node is not what was moved: that stood there before it, and was never seen.
        if status?.inode != inodeOfName(node), !tree.has(.isUnseen, node), let old = look(oldPath),
            old.inode == inodeOfName(node), isLink || tree.isOfKind(old.kind, node), stands(oldFolder)
        {
            return cameFromUnknown(folder, name, isFolder: isFolder)
        }
        if tree.isFolder(node), isLeftOut(newPath) { return removeTree(node) }
        if isFolder { removePruned(below: node, at: newPath) }
        move(node, to: folder, name, replacing: target, from: oldPath, status)
    }

    /// Whether a folder still stands at its path; else another one may have come in its place.
    private func stands(_ folder: FileTree.ID) -> Bool {
        folder == FileTree.holder || look(fullPath(folder))?.inode == inodeOfName(folder)
    }

    private func cameFromUnknown(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool) {
        observe(FolderEvent(change: .movedIn, watch: 0, name: name, isFolder: isFolder), in: folder, from: nil)
    }

    private func move(
        _ node: FileTree.ID, to folder: FileTree.ID, _ name: [UInt8], replacing target: FileTree.ID?,
        from oldPath: [UInt8], _ status: FileStatus?
    ) {
        // No folder comes into itself: what is known of them is out of date.
        guard !isAtOrBelow(folder, node) else { return doubt(node) }
        var hasReplaced = false
        if let target, target != node {
            // A folder never replaces a file: that was gone before, and this is how its end is found.
            let isOfFiles = !tree.isFolder(target) && !tree.isFolder(node)
            hasReplaced = isOfFiles && !tree.has(.isNew, target)
            // The rename tells of the end of a file.
            if isOfFiles { drop(target) } else { removeTree(target) }
        }
        if tree.isFolder(node) { tellGone() } else { tellGone(at: folder, name) }
        tree.move(node, to: folder, name: name)
        lastPlace = nil
        if !isLink(node) { restamp(node, status) }
        linksMoved(node)
        if tree.isFolder(node) { ignoreFilesMove(oldPath, to: fullPath(node)) }
        tellRenamed(node, from: oldPath, hasReplaced: hasReplaced)
        guard tree.isFolder(node) else { return }
        ignoreFilesGone(below: oldPath)
        if ignoring?.rules.isEmpty == false { dropLeftOut(below: node) }
        if prune.dependsOnPlace || ignoring?.rules.isEmpty == false { enqueue(node, .isDeep) }
        doubtLooks()
    }

    /// The folders in a folder that are not walked where that comes to end with their former place.
    private func removePruned(below node: FileTree.ID, at newPath: [UInt8]) {
        guard prune.dependsOnPlace else { return }
        for reference in tree.below(node).filter(tree.isFolder).map(tree.reference) {
            guard let id = tree.id(reference),
                prune.prunes(joined(newPath, tree.path(of: id, below: node)), below: path)
            else { continue }
            removeTree(id)
        }
    }

    func isAtOrBelow(_ id: FileTree.ID, _ top: FileTree.ID) -> Bool {
        var node = id
        while node != top {
            if node == FileTree.holder { return false }
            node = tree.parent(of: node)
        }
        return true
    }

    /// A rename changes the time of the inode; whatever else has changed is to be told.
    private func restamp(_ node: FileTree.ID, _ status: FileStatus?) {
        guard let status, status.inode == tree[node].inode, status.kind == tree.kind(of: node) else {
            // It has been moved on, or is gone.
            return doubt(node)
        }
        let (old, new) = (tree.stamp(of: node), FolderSnapshot.Stamp(status))
        let isSetBack = old.isSetBack(in: new)
        tree.setStamp(status, isFresh: isSetBack || status.isFresh, of: node)
        if !isSetBack, !old.isSameContent(as: new), !tree.isFolder(node) { addDue(node) }
    }

    // MARK: Changing places

    /// Whether it is the second report of two that have changed places, which is told already.
    ///
    /// The kernel locks both folders: nothing else is reported of their names in between. Else it were several renames
    /// that came to the same, and a later rename between both places is one by itself.
    func isSecondOfExchange(_ event: FolderEvent, in folder: FileTree.ID, from oldFolder: FileTree.ID?) -> Bool {
        guard !exchanged.isEmpty, event.change.isOfName else { return false }
        let place = tree.reference(folder)
        let oldPlace = oldFolder.map(tree.reference)
        if case .renamed(_, let oldName) = event.change, let oldPlace {
            let pair = Exchange(from: oldPlace, fromName: oldName, to: place, toName: event.name)
            if exchanged.remove(pair) != nil { return true }
        }
        exchanged = exchanged.filter { pair in
            ![place, oldPlace].contains(pair.from) && ![place, oldPlace].contains(pair.to)
        }
        return false
    }

    /// Something stands still where a rename has come from, and the reverse was reported just before: two have changed
    /// places, which showed no more at the first report.
    ///
    /// - Parameter isFolder: whether the reverse was of a folder, which may stand there still where its place has been
    ///   moved on.
    func lookWhereItWas(_ rename: Exchange, isFolder: Bool) {
        guard let folder = tree.id(rename.from) else { return }
        if let status = look(fullPath(folder, rename.fromName)) {
            came(folder, rename.fromName, isFolder: status.kind == .folder)
        } else if !stands(folder) {
            came(folder, rename.fromName, isFolder: isFolder)
        }
    }

    /// Whether two have changed places at once (`rename(2)` RENAME_EXCHANGE), which the kernel reports as two renames.
    private func isExchange(
        _ node: FileTree.ID, _ oldPath: [UInt8], _ target: FileTree.ID, _ status: FileStatus?
    ) -> Bool {
        guard tree[node].inode != tree[target].inode, status?.inode == tree[node].inode, let old = look(oldPath) else {
            return false
        }
        return old.inode == tree[target].inode && old.kind == tree.kind(of: target)
            && (old.kind == .folder || tree.stamp(of: target).isSameContent(as: FolderSnapshot.Stamp(old)))
    }

    /// Each file at either place is written; what stands at a path no more is deleted.
    private func exchange(_ node: FileTree.ID, _ other: FileTree.ID) {
        guard !isAtOrBelow(node, other), !isAtOrBelow(other, node) else { return }
        tellGone()
        let (first, second) = (fullPath(node), fullPath(other))
        removePruned(below: node, at: second)
        removePruned(below: other, at: first)
        let before = known(at: first, node).merging(known(at: second, other)) { old, _ in old }
        let young = youngFolders(at: first, node) + youngFolders(at: second, other)
        tree.exchange(node, other)
        lastPlace = nil
        ignoreFilesExchange(first, second)
        if let status = look(fullPath(node)) { restamp(node, status) }
        if let status = look(fullPath(other)) { restamp(other, status) }
        let after = known(at: second, node).merging(known(at: first, other)) { old, _ in old }
        noteUntold(young)
        for (path, (_, isFolder)) in before where after[path]?.isFolder != isFolder {
            tellDeleted(path, isFolder: isFolder)
        }
        for (path, (id, isFolder)) in after {
            if isFolder {
                if before[path]?.isFolder != true { tell(.created, id) }
            } else if !tree.has(.isDue, id) {
                tell(.written, id, isNew: before[path]?.isFolder != false)
            }
        }
        if prune.dependsOnPlace || ignoring?.rules.isEmpty == false {
            for id in [node, other] where tree.isFolder(id) {
                dropLeftOut(below: id)
                enqueue(id, .isDeep)
            }
        }
        doubtLooks()
    }

    /// Folders at a path and below it of whose coming nobody was told.
    private func youngFolders(at path: [UInt8], _ node: FileTree.ID) -> [(id: FileTree.ID, oldPath: [UInt8])] {
        ([node] + tree.below(node)).filter { tree.has(.isNew, $0) && tree.isFolder($0) }.map {
            ($0, joined(path, tree.path(of: $0, below: node)))
        }
    }

    /// The known nodes at a path and below it.
    private func known(at path: [UInt8], _ node: FileTree.ID) -> [[UInt8]: (id: FileTree.ID, isFolder: Bool)] {
        var found: [[UInt8]: (id: FileTree.ID, isFolder: Bool)] = [:]
        for id in [node] + tree.below(node) where !tree.has(.isNew, id) {
            found[joined(path, tree.path(of: id, below: node))] = (id, tree.isFolder(id))
        }
        return found
    }
}
