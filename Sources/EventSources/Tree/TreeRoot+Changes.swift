import Engine
import LinuxSystem
import WatchFile

/// Reported changes of the names in a tree.
extension TreeRoot {
    /// How something comes to be known.
    enum Appearance {
        /// It was there when the source began.
        case silent
        /// A listing shows it.
        case listed(isRecovered: Bool)
        /// It was made.
        case made
        /// It was moved here, complete.
        case moved
    }

    static let looksLimit = 10_000

    func observe(_ event: FolderEvent, in folder: FileTree.ID, from oldFolder: FileTree.ID?) {
        guard !isOver else { return }
        let name = event.name
        touch(folder, name)
        if case .renamed(_, let oldName) = event.change, let oldFolder { touch(oldFolder, oldName) }
        if leavesForLater(folder) {
            if let oldFolder { _ = leavesForLater(oldFolder) }
            return
        }
        if leavesToLook(event, in: folder, from: oldFolder) { return }
        if isSecondOfExchange(event, in: folder, from: oldFolder) { return }
        if case .renamed(_, let oldName) = event.change, let oldFolder {
            let places = (old: tree.reference(oldFolder), new: tree.reference(folder))
            let rename = Exchange(from: places.old, fromName: oldName, to: places.new, toName: name)
            let former = lastRename
            renamedOrIgnored(oldFolder, oldName, folder, name, isFolder: event.isFolder)
            lastRename = (rename, event.isFolder)
            if let former, former.names == rename.reversed { lookWhereItWas(rename, isFolder: former.isFolder) }
            return pump()
        }
        if event.change.isOfName { lastRename = nil }
        noteIgnoreFile(name, in: folder)
        switch event.change {
        case .created:
            // One look at it is enough, at its close.
            isMadeNext = event.isClosedNext && hasBegun && tree.child(of: folder, named: name) == nil
            if !isMadeNext { created(folder, name, isFolder: event.isFolder) }
        case .closedAfterWriting: closed(folder, name)
        // The time of a folder alone was set.
        case .modified where event.isFolder: attributesReported(folder, name)
        case .modified: if events.contains(.modified) { tellModified(folder, name) }
        case .attributes: attributesReported(folder, name)
        case .deleted, .movedOut: left(folder, name, isFolder: event.isFolder)
        case .movedIn: came(folder, name, isFolder: event.isFolder)
        case .renamed, .selfChanged, .overflowed: break
        }
        pump()
    }

    /// An ignore file that is moved may leave out the folder that it came from, or the one it has come to.
    private func renamedOrIgnored(
        _ oldFolder: FileTree.ID, _ oldName: [UInt8], _ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool
    ) {
        let (oldPlace, place) = (tree.reference(oldFolder), tree.reference(folder))
        noteIgnoreFile(name, in: folder)
        if tree.id(oldPlace) != nil { noteIgnoreFile(oldName, in: oldFolder) }
        switch (tree.id(oldPlace), tree.id(place)) {
        case (let oldFolder?, let folder?): renamed(oldFolder, oldName, folder, name, isFolder: isFolder)
        case (nil, let folder?): came(folder, name, isFolder: isFolder)
        case (let oldFolder?, nil): left(oldFolder, oldName, isFolder: isFolder)
        case (nil, nil): break
        }
    }

    func watchEnded(_ watch: Int32, of folder: FileTree.ID, isUnmounted: Bool) {
        guard !isOver, tree.watch(of: folder) == watch else { return }
        tree.setWatch(0, of: folder)
        // Another one may have its number.
        if isLink(folder) { missed[tree.reference(folder), default: []].insert(.isDeep) }
        if isUnmounted, folder == tree.root { self.isUnmounted = true }
        if isUnmounted {
            hub.giveUp(watch, of: self, folder)
            // Folders of a file system are reported one by one: it may be that of the root.
            if let root = tree.root { doubt(root) }
        }
        if !leavesForLater(folder) { doubt(folder) }
    }

    // MARK: Names that come

    private func created(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool) {
        guard let status = lookAt(folder, name, isFolder: isFolder, isNew: true) else { return }
        if follows(status) { return linkCame(folder, name, isNew: true) }
        guard let node = tree.child(of: folder, named: name) else {
            appear(folder, name, status, .made)
            return
        }
        guard tree.isOfKind(status.kind, node), tree[node].inode == status.inode else {
            removeTree(node)
            appear(folder, name, status, .made)
            return
        }
        if status.kind == .folder {
            if !hasBegun { return comesWhole(node, status, .made) }
            if tree.watch(of: node) == 0 { enqueue(node, .isDeep) }
        } else if !hasBegun {
            // The listing shows it already.
            guard status.kind == .regular || status.kind == .symbolicLink else { return }
            if !tree.has(.isDue, node) {
                tree.set(.isDue, node)
                if events.contains(.created) { tell(.created, node) } else { tree.set(.isNew, node) }
            }
            take(status, at: node, isRecovered: false)
        } else if status.changed != tree.stamp(of: node).changed {
            // It has the number of the one before.
            take(status, at: node, isRecovered: false)
        }
    }

    func came(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool) {
        guard let status = lookAt(folder, name, isFolder: isFolder, isNew: false) else { return }
        if follows(status) { return linkCame(folder, name, isNew: false) }
        guard let node = tree.child(of: folder, named: name) else {
            appear(folder, name, status, .moved)
            return
        }
        noLink(node)
        if status.kind == .folder, tree.isFolder(node), !hasBegun { return comesWhole(node, status, .moved) }
        if status.kind == .folder || tree.isFolder(node) { return take(status, at: node, isRecovered: false) }
        let isKnown = hasBegun && tree[node].inode == status.inode && tree.stamp(of: node).changed == status.changed
        tree.setStamp(status, isFresh: status.isFresh, of: node)
        if isKnown, !tree.has(.isDue, node) { return }
        if isBeingWritten(node, status) { addDue(node) } else { tellWritten(node) }
    }

    /// A file that was moved here while somebody writes it is complete at its close.
    private func isBeingWritten(_ node: FileTree.ID, _ status: FileStatus) -> Bool {
        status.kind == .regular && Linux.writers(of: fullPath(node)) == .some
    }

    /// A folder came after the watch began of the folder it stands in, and the first listing shows it already: what it
    /// holds is news.
    private func comesWhole(_ node: FileTree.ID, _ status: FileStatus, _ how: Appearance) {
        let (folder, name) = (tree.parent(of: node), tree.name(of: node))
        removeTree(node, isTold: false)
        if let new = appear(folder, name, status, how) { tree.set(.isListed, new) }
    }

    /// - Returns: what stands there; `nil`: nothing by now, for it, or a folder above it, has been moved on. Then there
    ///   is a node that is looked at later.
    private func lookAt(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool, isNew: Bool) -> FileStatus? {
        // A file in the place of a folder, or the reverse, has come later: its own report follows.
        if let status = look(fullPath(folder, name)), (status.kind == .folder) == isFolder {
            noteLook(folder, name)
            return status
        }
        if let node = tree.child(of: folder, named: name) {
            doubt(node)
            return nil
        }
        if isFolder, isLeftOut(fullPath(folder, name)) { return nil }
        doubt(insertUnseen(folder, name, isFolder: isFolder, isNew: isNew))
        return nil
    }

    func insertUnseen(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool, isNew: Bool) -> FileTree.ID {
        tellGone(at: folder, name)
        let node = tree.insert(name, into: folder, kind: isFolder ? .folder : .unknown)
        // A name that is gone by then is nobody's news.
        tree.set(isFolder ? [.isUnseen, .isNew] : [.isUnseen, .isNew, .isDue], node)
        if !isNew { tree.set(.isMoved, node) }
        return node
    }

    /// The file there may be another's: a folder above may have been moved, and another one have come in its place.
    private func noteLook(_ folder: FileTree.ID, _ name: [UInt8]) {
        if hub.isCaughtUp { looks = [] }
        if looks.count < Self.looksLimit, let node = tree.child(of: folder, named: name) {
            looks.append(tree.reference(node))
        }
    }

    /// - Returns: its node; `nil`: it is a folder that is not walked.
    @discardableResult
    func appear(
        _ folder: FileTree.ID, _ name: [UInt8], _ status: FileStatus, _ how: Appearance
    ) -> FileTree.ID? {
        if status.kind == .folder, isLeftOut(fullPath(folder, name)) { return nil }
        tellGone(at: folder, name)
        let node = tree.insert(name, into: folder, kind: status.kind)
        tree.setStamp(status, isFresh: status.isFresh, of: node)
        if case .silent = how {
            noteSilent(node)
            if status.kind == .folder { enqueue(node, [.isDeep, .isSilent]) }
            return node
        }
        if looks.count < Self.looksLimit { looks.append(tree.reference(node)) }
        var (isRecovered, isMoved) = (false, false)
        switch how {
        case .listed(let isCompared): isRecovered = isCompared
        case .moved: isMoved = true
        case .made, .silent: break
        }
        if status.kind == .folder {
            tellCreatedFolder(node, isRecovered: isRecovered)
            enqueue(node, isRecovered ? [.isDeep, .isCompared] : .isDeep)
            return node
        }
        if isRecovered { tree.set(.isRecovered, node) }
        if events.contains(.created), !isMoved {
            // Its content is still to be told.
            if status.kind == .regular || status.kind == .symbolicLink { tree.set(.isDue, node) }
            tell(.created, node, isRecovered: isRecovered)
        } else if isMoved || status.kind == .regular || status.kind == .symbolicLink {
            tree.set(.isNew, node)
        } else {
            tell(.created, node, isRecovered: isRecovered)
        }
        if isMoved && !isBeingWritten(node, status) || status.kind == .symbolicLink {
            tellWritten(node)
        } else if status.kind == .regular {
            addDue(node)
        } else {
            tree.clear([.isNew, .isRecovered], node)
        }
        return node
    }

    /// A folder that is not walked.
    func isLeftOut(_ folder: [UInt8]) -> Bool {
        prune.prunes(folder, below: path) || owner.isOwn(folder) || isOwnBehindLink(folder)
            || ignores(folder, isFolder: true)
    }

    // MARK: Names that change

    private func tellModified(_ folder: FileTree.ID, _ name: [UInt8]) {
        let node = tree.child(of: folder, named: name)
        // It may be gone before it is seen.
        if let node, events.contains(.created), tree.has(.isUnseen, node), tree.has(.isNew, node),
            !tree.has(.isMoved, node)
        {
            tree.clear(.isNew, node)
            tell(.created, node)
        }
        tell(
            PathFact(.modified, path: fullPath(folder, name), root: path, isNew: node.map(mention) ?? false),
            node.flatMap { toldState(of: $0) })
    }

    /// True: what is told now is the first that is told of it. Its end is told as well then.
    private func mention(_ node: FileTree.ID) -> Bool {
        defer { tree.clear(.isNew, node) }
        return tree.has(.isNew, node)
    }

    private func closed(_ folder: FileTree.ID, _ name: [UInt8]) {
        let isMade = isMadeNext
        isMadeNext = false
        guard let status = look(fullPath(folder, name)), status.kind == .regular else {
            // Its deletion is reported next, or that it or a folder above it has been moved on: something else may have
            // come in its place.
            guard let node = tree.child(of: folder, named: name) else {
                _ = lookAt(folder, name, isFolder: false, isNew: isMade)
                return
            }
            if [.regular, .unknown].contains(tree.kind(of: node)) { tree.set(.isDue, node) }
            return doubt(node)
        }
        guard let node = tree.child(of: folder, named: name) else {
            guard let node = appear(folder, name, status, .made) else { return }
            return tellWritten(node)
        }
        guard !tree.isFolder(node) else { return doubt(node) }
        let (old, new) = (tree.stamp(of: node), FolderSnapshot.Stamp(status))
        let isUnseen = tree.has(.isUnseen, node)
        tree.setStamp(status, isFresh: status.isFresh, of: node)
        noteLook(folder, name)
        // A program that had it open for writing has not written.
        if hasBegun, !isUnseen, old.isTold(as: new) { return }
        tellWritten(node)
    }

    private func attributesReported(_ folder: FileTree.ID, _ name: [UInt8]) {
        guard let node = tree.child(of: folder, named: name) else { return }
        guard let status = look(fullPath(folder, name)), tree.isOfKind(status.kind, node),
            status.inode == tree[node].inode
        else { return doubt(node) }
        let (old, new) = (tree.stamp(of: node), FolderSnapshot.Stamp(status))
        // A comparison that is on its way may have to find a write of which no report came.
        let isSettled = !isScanning && queue.isEmpty
        let isSet = status.kind != .folder && isSettled && old.isTimeSet(in: new, at: fullPath(folder, name))
        // Else the stamp has to show that the content is still to be told.
        if status.kind == .folder || isSet || old.isSameContent(as: new) {
            if old.changed == new.changed, !old.isFresh, status.kind != .folder { return }
            tree.setStamp(status, isFresh: status.isFresh || isSet, of: node)
        }
        if events.contains(.attributes) { tell(.attributes, node, isNew: mention(node)) }
    }

    /// Something stands at a node that was not known to stand there.
    func take(_ status: FileStatus, at node: FileTree.ID, isRecovered: Bool) {
        let (folder, name) = (tree.parent(of: node), tree.name(of: node))
        let isUnseen = tree.has(.isUnseen, node)
        if isUnseen, tree.kind(of: node) != .folder || status.kind == .folder {
            return takeUnseen(status, at: node, isRecovered: isRecovered)
        }
        tree.clear(.isShallow, node)
        switch (tree.isFolder(node), status.kind == .folder) {
        case (true, true):
            if tree[node].inode != status.inode {
                // Another folder of the same name: what stands in it is compared by name.
                for id in [node] + tree.below(node) where tree.isFolder(id) { giveUpWatch(id) }
            }
            tree.setStamp(status, isFresh: false, of: node)
            enqueue(node, isRecovered ? [.isDeep, .isCompared] : .isDeep)
        case (false, false):
            // A FIFO or a device keeps nothing of the bytes that are written into it.
            let isSame = status.isSpecial && tree.isOfKind(status.kind, node) && tree[node].inode == status.inode
            tree.setStamp(status, isFresh: status.isFresh, of: node)
            if isSame { return tree.clear([.isNew, .isDue, .isRecovered], node) }
            if isRecovered { tree.set(.isRecovered, node) }
            if status.kind == .regular { addDue(node) } else { tellWritten(node) }
        case (true, false), (false, true):
            removeTree(node, isRecovered: isRecovered)
            appear(folder, name, status, .listed(isRecovered: isRecovered))
        }
    }

    /// Of which only a report was known.
    private func takeUnseen(_ status: FileStatus, at node: FileTree.ID, isRecovered: Bool) {
        if status.kind == .folder, isLeftOut(fullPath(node)) { return removeTree(node) }
        let isKnownAsFile = !tree.has(.isNew, node) && !tree.isFolder(node)
        tree.setStamp(status, isFresh: status.isFresh, of: node)
        if status.kind == .folder {
            if isKnownAsFile { tellDeleted(fullPath(node), isFolder: false) }
            tree.clear([.isNew, .isDue, .isMoved], node)
            tellCreatedFolder(node, isRecovered: isRecovered)
            return enqueue(node, isRecovered ? [.isDeep, .isCompared] : .isDeep)
        }
        if events.contains(.created), tree.has(.isNew, node), !tree.has(.isMoved, node) {
            tree.clear(.isNew, node)
            tell(.created, node)
        }
        let isComplete = tree.has(.isMoved, node) || status.kind == .symbolicLink
        tree.clear(.isMoved, node)
        if isComplete {
            tellWritten(node)
        } else if status.kind == .regular {
            addDue(node)
        } else {
            tree.clear([.isNew, .isDue], node)
            if !events.contains(.created) { tell(.created, node) }
        }
    }

    // MARK: Names that go

    private func left(_ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool) {
        guard let node = tree.child(of: folder, named: name) else {
            // It went before it was listed.
            if !hasBegun { tellDeleted(fullPath(folder, name), isFolder: isFolder) }
            return
        }
        guard let status = look(fullPath(folder, name)) else { return removeTree(node) }
        if follows(status) { return lookAtLink(node) }
        noLink(node)
        // What stands in another folder that has come in the place of one above says nothing of it.
        noteLook(folder, name)
        let isSame = tree.isOfKind(status.kind, node) && tree[node].inode == status.inode
        if status.kind == .folder, tree.isFolder(node) {
            guard isSame else {
                // Another one has come; what stood in this one has gone with it.
                for child in tree.children(of: node) { removeTree(child) }
                return take(status, at: node, isRecovered: false)
            }
            // It came back, or another one with its number.
            return enqueue(node, .isDeep)
        }
        // Older than the listing that shows what stands there.
        if isSame, tree.stamp(of: node).changed == status.changed { return }
        removeTree(node)
        appear(folder, name, status, .made)
    }

    /// Tells that it and everything below it is gone, what stands in a folder before the folder.
    func removeTree(_ node: FileTree.ID, isRecovered: Bool = false, isTold: Bool = true) {
        let folder = ignoring != nil && tree.isFolder(node) ? fullPath(node) : nil
        defer { if let folder { ignoreFilesGone(below: folder) } }
        for id in ([node] + tree.below(node)).reversed() {
            if isTold, !tree.has(.isNew, id) {
                tell(.deleted, id, isRecovered: isRecovered)
            } else if !isTold || tree.isFolder(id) {
                noteUntoldEnd(of: id)
                if isTold { tellUntoldEnd(of: id) }
            }
            giveUpWatch(id)
            forget(id)
            tree.remove(id)
        }
    }

    /// A file whose end is told otherwise.
    func drop(_ file: FileTree.ID) {
        forget(file)
        tree.remove(file)
    }

    func giveUpWatch(_ id: FileTree.ID) {
        let watch = tree.watch(of: id)
        guard watch != 0 else { return }
        hub.giveUp(watch, of: self, id)
        tree.setWatch(0, of: id)
    }

    func giveUpWatches(of tree: FileTree) {
        guard let root = tree.root else { return }
        for id in [root] + tree.below(root) {
            let watch = tree.watch(of: id)
            if watch != 0 { hub.giveUp(watch, of: self, id) }
        }
    }

    /// `Prune=` is another one: what it leaves out now is forgotten.
    func dropPruned() {
        guard let root = tree.root else { return }
        for id in tree.below(root).map(tree.reference) {
            guard let id = tree.id(id), tree.isFolder(id), prune.prunes(fullPath(id), below: path) else { continue }
            removeTree(id, isTold: false)
        }
    }
}
