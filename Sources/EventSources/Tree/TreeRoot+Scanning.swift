import LinuxSystem
import WatchFile

/// The folders that are to be listed, scan by scan.
extension TreeRoot {
    /// - Parameter how: flags of `FileTree.Flags.scan`.
    func enqueue(_ folder: FileTree.ID, _ how: FileTree.Flags) {
        if !tree.has(.isQueued, folder) { queue.append(tree.reference(folder)) }
        // A comparison stays one.
        tree.set(how.union(.isQueued), folder)
    }

    /// Begins the next scan, where there is something to be listed and none goes on.
    func pump() {
        guard !isScanning, !isOver, record.beginning != .loading else { return }
        guard !owner.isHeld || !hasBegun else {
            // It is armed, as far as the source waits for it.
            if isArming { owner.rootChanged() }
            return
        }
        var requests: [TreeScan.Request] = []
        while requests.count < Self.foldersPerScan, let next = queue.popLast() {
            guard let id = tree.id(next), tree.has(.isQueued, id), tree.isFolder(id) else { continue }
            requests.append(
                TreeScan.Request(
                    folder: next, inode: tree[id].inode, path: fullPath(id), how: tree.takeScan(id)))
        }
        guard !requests.isEmpty else { return settle() }
        isScanning = true
        hub.trail?("scan \(requests.map { "\($0.path.printable) \($0.inode) \($0.how.rawValue)" })")
        (touched, touchedCount) = ([:], 0)
        var inotify: Swift.Result<Int32, SystemError>?
        if owner.polls {
            hub.beginArming()
        } else {
            inotify = Swift.Result { () throws(SystemError) in try hub.beginScan().release() }
        }
        let scan = TreeScan(
            requests: requests, mask: mask, prune: prune, ignoring: ignoring?.rules, root: path, inotify: inotify,
            room: hub.room, followedBeside: owner.followsLinks ? owner.ownRealPaths : nil)
        let number = treeNumber
        owner.beside { () throws(SystemError) in
            scan.run()
        } then: { [weak self, hub] result in
            let listings = (try? result.get()) ?? []
            hub.whenCaughtUp {
                guard let self, !self.isOver else { return hub.endScan(listings.compactMap(\.watch)) }
                self.take(TreeListings(listings), number)
            }
        }
    }

    /// Nothing is left to be listed.
    private func settle() {
        // An event where a link leads is told as one in the tree.
        if isArming, owner.polls || !links.areStale { armed() }
        tellGone()
        formerPrunes = []
        letInSince = nil
        links.wereFollowed = nil
        forgetFormerIgnoring()
        answerCalls()
        if record.isComparing {
            // A change that there is no room for, and one that is still to be asked for, is not told yet.
            if dirty.isEmpty, !isRootDirty, outbox.isEmpty, !due.isBusy, !links.isBusy { compared() }
        } else if isRootNews {
            noteRoot()
        }
        let limit = limit
        let trouble = trouble ?? ignoreTrouble ?? linkTrouble
        if trouble != toldTrouble, let trouble { owner.warn(trouble) }
        toldTrouble = trouble
        guard limit != toldLimit else { return }
        toldLimit = limit
        owner.rootChanged()
    }

    /// Every folder is watched.
    private func armed() {
        isArming = false
        hub.endArming()
        due.isPaused = false
        if !hasBegun {
            hasBegun = true
            if isRecording { storeAll() }
        }
        owner.rootChanged()
    }

    private func take(_ listings: TreeListings, _ number: Int) {
        guard number == treeNumber else { return endScan(listings) }
        var listings = listings
        let isThrough = takeIn(&listings)
        storeSilent()
        guard !isThrough else { return endScan(listings) }
        let rest = listings
        hub.after(0) { [weak self, hub] in
            guard let self, !isOver else { return hub.endScan(rest.watches) }
            take(rest, number)
        }
    }

    func compare(then: @escaping (Int) -> Void) {
        calls.append(then)
        if owner.polls { poll() } else { lookAtRoot() }
        if let root = tree.root, tree.isFolder(root) { enqueue(root, [.isDeep, .isCompared]) }
        pump()
    }

    /// Nothing is left to be listed.
    private func answerCalls() {
        guard !calls.isEmpty, dirty.isEmpty, !isRootDirty, !isPolling, outbox.isEmpty, !due.isBusy, !links.isBusy
        else { return }
        let ended = calls
        calls = []
        let waiting = due.written.compactMap { tree.id($0) }.count {
            tree.has(.isRecovered, $0) && owner.tellsContent(of: fullPath($0), path)
        }
        for then in ended { then(waiting) }
    }

    /// Goes on with another tree, whose folders are not watched.
    func replaceTree(with other: FileTree) {
        giveUpWatches(of: tree)
        due.forgetAll()
        forgetLinks()
        treeNumber += 1
        (tree, lastPlace) = (other, nil)
        (queue, doubts, doubtedNames, missed, looks, dirty, blind, silent) = ([], [], [], [:], [], [], [:], [:])
        (fleetingFolders, touched, exchanged) = ([], [:], [])
        goneNames = []
        ignoreFilesGone(below: path)
    }

    private func endScan(_ listings: TreeListings) {
        hub.trail?("scan ends")
        isScanning = false
        (touched, touchedCount) = ([:], 0)
        hub.endScan(listings.watches)
        planDoubts()
        planPoll()
        pump()
    }

    /// A report about this name: what a scan that goes on says of it may be older.
    func touch(_ folder: FileTree.ID, _ name: [UInt8]) {
        guard isScanning, touchedCount <= Self.touchedLimit else { return }
        touchedCount += 1
        touched[folder, default: []].insert(name)
    }

    /// Too much was reported while the scan went on: it says nothing.
    var isScanOutdated: Bool { touchedCount > Self.touchedLimit }

    func isTouched(_ folder: FileTree.ID, _ name: [UInt8]) -> Bool {
        touched.isEmpty ? false : touched[folder]?.contains(name) ?? false
    }
}
