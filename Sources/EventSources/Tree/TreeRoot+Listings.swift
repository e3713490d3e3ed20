import Engine
import LinuxSystem
import WatchFile

/// The findings of a scan that are not taken in yet.
struct TreeListings {
    /// The one that is being taken in.
    struct Current {
        let folder: FileTree.Reference
        /// Flags of `FileTree.Flags.scan`.
        let how: FileTree.Flags
        /// Entries that were taken in.
        var entries = 0
    }

    let all: [TreeScan.Listing]
    /// The folders of those that were, as far as they were still there.
    var folders: [FileTree.Reference?] = []
    var current: Current?

    init(_ listings: [TreeScan.Listing]) { all = listings }

    /// That the scan has added.
    var watches: [Int32] { all.compactMap(\.watch) }
}

/// Taking in what stands in folders.
extension TreeRoot {
    /// Entries that are taken in before others get their turn.
    private static let entriesPerTurn = 2048

    /// Takes in as much as fits into a turn. False: there is more.
    func takeIn(_ listings: inout TreeListings) -> Bool {
        var left = Self.entriesPerTurn
        while listings.folders.count < listings.all.count {
            guard left > 0 else { return false }
            let listing = listings.all[listings.folders.count]
            var current = listings.current ?? begin(listing, listings)
            if let folder = current.flatMap({ tree.id($0.folder) }) {
                let isThrough = take(listing, folder, &current, &left)
                listings.current = current
                guard isThrough else { return false }
            }
            listings.folders.append(current?.folder)
            listings.current = nil
        }
        return true
    }

    /// Begins a listing, if its folder is still the same.
    private func begin(_ listing: TreeScan.Listing, _ listings: TreeListings) -> TreeListings.Current? {
        switch listing.place {
        case .folder(let reference, let how):
            guard let id = tree.id(reference), tree.isFolder(id), tree[id].inode == listing.inode else { return nil }
            return TreeListings.Current(folder: reference, how: how)
        case .child(let parent, let name):
            // Its parent's listing has had it queued.
            guard let reference = listings.folders[parent], let parent = tree.id(reference),
                let id = tree.child(of: parent, named: name), tree[id].inode == listing.inode, tree.isFolder(id),
                tree.has(.isQueued, id)
            else { return nil }
            return TreeListings.Current(folder: tree.reference(id), how: tree.takeScan(id))
        }
    }

    private func take(
        _ listing: TreeScan.Listing, _ folder: FileTree.ID, _ current: inout TreeListings.Current?, _ left: inout Int
    ) -> Bool {
        guard let how = current?.how else { return true }
        var next = current?.entries ?? 0
        defer { current?.entries = next }
        left -= 1
        if next == 0 {
            hub.trail?("listing \(fullPath(folder).printable) \(how.rawValue) \(listing.trail)")
        }
        switch listing.outcome {
        case .gone:
            missed[tree.reference(folder), default: []].formUnion(how)
            doubt(folder)
        case .failed(let error): cannotSee(folder, error)
        case .left: enqueue(folder, how)
        // Reports that were too many to be kept: once more.
        case .listed where isScanOutdated: enqueue(folder, how)
        case .listed where isTooMuch(folder): break
        case .listed(let entries):
            noteFileSystem(of: folder, listing.fileSystem)
            if next == 0, let ignoreFile = listing.ignoreFile, !isIgnoreFileTouched(folder) {
                take(ignoreFile, of: folder, isListed: how.contains(.isDeep))
            }
            if next == 0 {
                for child in tree.children(of: folder) { tree.clear(.isListed, child) }
                // Not seen is not gone.
                for (name, _) in listing.hidden { tree.child(of: folder, named: name).map { tree.set(.isListed, $0) } }
            }
            // Of a folder that has its watch already, the names are touched.
            let gone = tree.watch(of: folder) == listing.watch ? [] : listing.watch.map(hub.namesGone) ?? []
            while next < entries.count {
                guard left > 0 else { return false }
                let isFleeting = gone.contains(entries[next].name)
                take(entries[next], folder, how, listing.fileSystem, isFleeting: isFleeting)
                next += 1
                left -= 1
            }
            takeLeft(folder, how)
            watch(folder, listing)
            if let (name, error) = listing.hidden.first { cannotSee(folder, error, entry: name) }
        }
        return true
    }

    /// - Parameter isFleeting: it is gone by now, or was moved on, which is reported next.
    private func take(
        _ entry: TreeScan.Entry, _ folder: FileTree.ID, _ how: FileTree.Flags, _ fileSystem: FileSystemType?,
        isFleeting: Bool
    ) {
        var child = tree.child(of: folder, named: entry.name)
        if let child { tree.set(.isListed, child) }
        if isTouched(folder, entry.name) {
            if let child, tree.isFolder(child), how.contains(.isDeep) { enqueue(child, how) }
            return doubtName(entry.name, in: folder, how)
        }
        var entry = entry
        if let link = entry.link { entry.status = admit(link, at: child) }
        let isFollowedAnew = child.map { self.isFollowedAnew(entry, at: $0) } ?? false
        if isFollowedAnew, let known = child {
            giveWay(known)
            child = nil
        }
        let new: FileTree.ID?
        if let child {
            compare(child, with: entry, how, fileSystem)
            // Something of another kind may stand there by now, which is another node.
            new = tree.child(of: folder, named: entry.name)
        } else {
            // Nobody was told of it, and the folder may have been moved since it stood there.
            if isFleeting { return }
            let isSilent =
                (how.contains(.isSilent) && !hasChangedSince(entry.status))
                || (entry.status.kind == .folder
                    && formerPrunes.contains { $0.prunes(fullPath(folder, entry.name), below: path) })
                || wasIgnored(entry, in: folder) || isFollowedAnew
            let appearance: Appearance =
                isSilent ? .silent : .listed(isRecovered: how.contains(.isCompared) || how.contains(.isSilent))
            new = appear(folder, entry.name, entry.status, appearance)
        }
        guard let new else { return }
        tree.set(.isListed, new)
        if let link = entry.link { note(admitted(link, at: new), at: new) } else { noLink(new) }
    }

    private func compare(
        _ child: FileTree.ID, with entry: TreeScan.Entry, _ how: FileTree.Flags, _ fileSystem: FileSystemType?
    ) {
        let isRecovered = how.contains(.isCompared)
        let status = entry.status
        guard !tree.has(.isUnseen, child), tree.isOfKind(status.kind, child),
            status.kind != .folder || tree[child].inode == status.inode
        else {
            take(status, at: child, isRecovered: isRecovered)
            return
        }
        var (old, new) = (tree.stamp(of: child), FolderSnapshot.Stamp(status))
        if fileSystem?.hasLastingNumbers == false { old.inode = new.inode }
        // Neither times nor numbers say anything there.
        if fileSystem?.isGenerated == true { (old, new) = (new, new) }
        if status.kind == .folder {
            if tree.has(.isShallow, child) {
                tree.clear(.isShallow, child)
                enqueue(child, [.isDeep, .isSilent])
            } else if how.contains(.isDeep) || tree.watch(of: child) == 0 {
                enqueue(child, how.union(.isDeep))
            }
            if !old.isSameAccess(as: new) { attributesChanged(child, status, isRecovered: true) }
        } else if !old.mayHaveSameContent(as: new) || tree.has(.isUntrusted, child) {
            take(status, at: child, isRecovered: isRecovered)
            if old.areAttributesSet(in: new) { tell(.attributes, child, isRecovered: isRecovered) }
        } else {
            tree.setKind(status.kind, of: child)
            if old.isOpen { due.add(tree.reference(child)) }
            if !old.isSameAccess(as: new) { attributesChanged(child, status, isRecovered: true) }
        }
    }

    private func attributesChanged(_ node: FileTree.ID, _ status: FileStatus, isRecovered: Bool) {
        tree.setStamp(status, isFresh: status.isFresh, of: node)
        tell(.attributes, node, isRecovered: isRecovered)
    }

    /// Known names that are no longer there.
    private func takeLeft(_ folder: FileTree.ID, _ how: FileTree.Flags) {
        let isRecovered = how.contains(.isCompared)
        for child in tree.children(of: folder) where !tree.has(.isListed, child) {
            if isTouched(folder, tree.name(of: child)) {
                doubtName(tree.name(of: child), in: folder, how)
                continue
            }
            if leavesForLater(folder) { return }
            if isArming, record.isComparing { removeLater(child) } else { removeTree(child, isRecovered: isRecovered) }
        }
    }

    private func doubtName(_ name: [UInt8], in folder: FileTree.ID, _ how: FileTree.Flags) {
        guard how.contains(.isCompared), !owner.polls else { return }
        doubtedNames.insert(DoubtedName(folder: tree.reference(folder), name: name))
        planDoubts()
    }

    /// The folder has this watch from now on: what has happened since it was added is told.
    private func watch(_ folder: FileTree.ID, _ listing: TreeScan.Listing) {
        let old = tree.watch(of: folder)
        guard let watch = listing.watch else {
            // It was not tried whether one can be had, and there is one.
            if old != 0, listing.unwatched?.isOfRoom == true { return sees(folder) }
            if let error = listing.unwatched { cannotSee(folder, error) } else { sees(folder) }
            return
        }
        sees(folder)
        if old != watch {
            if old != 0 { hub.giveUp(old, of: self, folder) }
            tree.setWatch(watch, of: folder)
        }
        let reference = tree.reference(folder)
        guard !hub.claim(watch, for: self, folder) else { return }
        // Too much to be kept: it is compared.
        guard hasBegun else {
            if hub.isReplaying { owner.lostEvents() }
            return
        }
        if let id = tree.id(reference) { enqueue(id, [.isCompared]) }
    }
}
