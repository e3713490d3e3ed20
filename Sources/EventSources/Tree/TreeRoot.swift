import Engine
import LinuxSystem
import WatchFile

/// One `Path=` of a path source with `Recursive=yes`: everything below it.
///
/// The tree of nodes is the state of every file as it was last told. Each report of the kernel, and each listing, is
/// compared with it: whatever says the same twice is told once. A folder is watched, then listed beside the core, then
/// the listing is taken in when all reports that came meanwhile are through; names that they were about are left out of
/// it (`touched`). A node that cannot be looked at where a report says it stands, for it or a folder above has been
/// moved on, is looked at again when the reports are through. Confined to its context.
final class TreeRoot: WatchedPath, TreeObserver {
    /// Folders that one scan begins with.
    private static let foldersPerScan = 256
    /// Names kept while a scan goes on; beyond, it is made once more.
    private static let touchedLimit = 65_536
    /// Microseconds in which a folder that came and goes again is nobody's news, where its coming is not.
    private static let fleeting = 2_000_000

    unowned let owner: PathSource
    let path: [UInt8]
    private(set) var events: PathEvents
    var prune: PathPrune
    /// Of the watch file before: what it had pruned is no news.
    var oldPrune = PathPrune()
    var ignoring: TreeIgnoring?
    /// Those of the watch file before: what they ignored is no news.
    var oldIgnoring: IgnoreRules?
    let hub: InotifyHub
    var tree = FileTree()
    /// A folder and its path, as long as no folder is moved.
    var lastPlace: (folder: FileTree.Reference, path: [UInt8])?
    private var anchor: PathAnchor?
    private(set) var anchorFailure: SystemError?
    private(set) var isOver = false
    /// Everything was listed once, which is where the source begins; or the tree is as it was handled before, and the
    /// first listing is compared with that.
    var hasBegun = false
    private var hasArmed = false
    /// The folders are being watched and listed for the first time.
    private(set) var isArming = true
    /// How its snapshot of what was handled stands.
    var record = HandledRecord()
    /// The tree is the one of that snapshot, and not of what is mounted over it for a while.
    var isTreeRecorded = true
    /// Another file or folder stands at the root, or none.
    var isRootNews = false
    /// The store has lost the snapshot while it could not be made anew.
    var isStoreDue = false
    /// The number of the last snapshot that was stored.
    var storing = 0
    /// Moments that count as handled as they stand, to be stored.
    var taken: [PathMoment] = []
    /// Told when all folders are watched, or something comes to one of the paths.
    var departed = GonePaths()
    var exists = false
    /// That the root is on; and what was known of another one, which something is mounted over now.
    var device: UInt64?
    var aside: (device: UInt64, tree: FileTree, isRecorded: Bool)?
    /// The number of the tree: what was found for another one does not count.
    private var treeNumber = 0
    var isUnmounted = false

    /// Folders that are to be listed, the next one last.
    private var queue: [FileTree.Reference] = []
    private(set) var isScanning = false
    private var touched: [FileTree.ID: Set<[UInt8]>] = [:]
    private var touchedCount = 0
    /// Nodes that could not be looked at where they should stand.
    var doubts: Set<FileTree.Reference> = []
    /// Names that a comparison has left to the reports that came meanwhile. A report says that something has changed,
    /// and not whether all is known that had changed before.
    var doubtedNames: Set<DoubtedName> = []
    /// Folders that did not stand where a scan looked for them, with the way in which they are still to be listed.
    var missed: [FileTree.Reference: FileTree.Flags] = [:]
    private var areDoubtsPlanned = false
    /// Looked at since all reports were through last: should a folder above have been moved meanwhile, it was another's.
    var looks: [FileTree.Reference] = []
    /// Folders of which nothing was taken in while the source is held.
    private var dirty: Set<FileTree.Reference> = []
    var isRootDirty = false
    /// Folders that cannot be watched, or read.
    var blind: [FileTree.Reference: SystemError] = [:]
    /// Folders of file systems, by name, where the kernel does not tell of every change.
    var silent: [FileTree.Reference: String] = [:]
    var pollDelay = TreeRoot.firstPoll
    var isPollPlanned = false
    /// A round has begun.
    var isPolling = false
    /// `Poll=yes` when it was armed last.
    private var polled: Bool
    private var toldLimit: String?
    /// Comparisons that clients wait for.
    private var calls: [(Int) -> Void] = []
    private var toldTrouble: String?
    /// Told when the source is not held any more.
    var outbox: [(fact: PathFact, state: PathState?)] = []
    /// Folders that came, and nobody was told.
    private var fleetingFolders: [FileTree.Reference] = []
    private var areFleetingFoldersPlanned = false
    /// Renames whose reverse was told with them.
    var exchanged: Set<Exchange> = []
    private(set) lazy var due = DueFiles(
        hub: hub, path: { [unowned self] in duePath($0) }, unchanged: { [unowned self] in owner.unchanged },
        pause: { [unowned self] in owner.pauseOfWriters },
        beside: { [unowned self] work, then in
            owner.beside { () throws(SystemError) in
                work()
            } then: {
                then((try? $0.get()) ?? [])
            }
        }, completed: { [weak self] in self?.completed($0, $1) }, idle: { [weak self] in self?.pump() })

    struct DoubtedName: Hashable {
        var folder: FileTree.Reference
        var name: [UInt8]
    }

    struct Exchange: Hashable {
        var from: FileTree.Reference
        var fromName: [UInt8]
        var to: FileTree.Reference
        var toName: [UInt8]
    }

    init(_ path: [UInt8], _ trigger: PathTrigger, hub: InotifyHub, owner: PathSource) {
        self.path = path
        polled = trigger.polling.isAlways
        events = trigger.events(of: path)
        prune = trigger.prune
        ignoring = trigger.ignoreFile.map(TreeIgnoring.init)
        self.hub = hub
        self.owner = owner
        anchor = PathAnchor(path, hub: hub) { [weak self] in self?.anchorChanged($0) }
    }

    var isRecursive: Bool { true }
    var watchCount: Int {
        owner.polls ? 0 : (anchor?.watchCount ?? 0) + tree.folderCount - blind.count + due.watchCount
    }
    var isListing: Bool { isArming }
    /// A change that the source has no room for is compared when it has.
    var isUnready: Bool { (isArming && !(hasBegun && owner.isHeld)) || record.isStoring }

    var isBehind: Bool {
        !dirty.isEmpty || isRootDirty || !outbox.isEmpty || (hasBegun && (isScanning || !queue.isEmpty))
    }

    var limit: String? { trouble ?? silence ?? ignoreTrouble ?? anchor?.limit }
    var blindness: SystemError? { anchorFailure ?? blind.values.first { $0.leavesUnwatched } }

    var mask: InotifyMask {
        var mask: InotifyMask = [.created, .deleted, .movedFrom, .movedTo, .closedAfterWriting]
        if events.contains(.modified) { mask.insert(.modified) }
        if events.contains(.attributes) { mask.insert(.attributes) }
        return mask
    }

    // MARK: Arming

    func arm() throws(SystemError) {
        guard !isOver else { return }
        if !hasArmed {
            hasArmed = true
            hub.add(self)
            // The reports of a first listing, which may take many scans, are kept until its end.
            hub.beginArming()
        }
        armAnchor()
        lookAtRoot()
        pump()
        planPoll()
    }

    func rearm(for trigger: PathTrigger) throws(SystemError) {
        let (oldMask, old) = (mask, prune)
        (events, prune) = (trigger.events(of: path), trigger.prune)
        let isIgnoringNew = setIgnoreFile(trigger.ignoreFile)
        if hasArmed, prune != old {
            isRootNews = true
            dropPruned()
        }
        let wasPolled = polled
        polled = trigger.polling.isAlways
        if polled, !wasPolled {
            giveUpWatches(of: tree)
            (blind, silent) = ([:], [:])
            for id in folders { tree.setWatch(0, of: id) }
        }
        try arm()
        goOn()
        // Until all is listed once more.
        if prune != old { oldPrune.globs += old.globs }
        guard let root = tree.root, tree.isFolder(root), hasBegun else { return }
        if !mask.isSubset(of: oldMask) || prune != old || polled != wasPolled || isIgnoringNew {
            enqueue(root, [.isDeep, .isCompared])
        }
        pump()
    }

    func armAnchor() {
        if owner.polls {
            anchor?.disarm()
            anchorFailure = nil
            return
        }
        do throws(SystemError) {
            let isFile = tree.root.map { !tree.isFolder($0) } ?? true
            _ = try anchor?.arm(isFile ? mask : [])
            anchorFailure = nil
        } catch {
            anchorFailure = error
            planPoll()
        }
    }

    func disarm() {
        guard !isOver else { return }
        isOver = true
        if hasArmed {
            hub.remove(self)
            if isArming { hub.endArming() }
        }
        due.close()
        giveUpWatches(of: tree)
        anchor?.disarm()
        anchor = nil
    }

    private func anchorChanged(_ change: PathAnchor.Change) {
        guard !isOver else { return }
        if case .entry(let event) = change, let root = tree.root, !tree.isFolder(root), !event.isFolder {
            var event = event
            event.name = []
            observe(event, in: FileTree.holder, from: nil)
            exists = tree.root != nil
            return owner.rootChanged()
        }
        if case .entry(let event) = change, case .attributes = event.change { return }
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

    func eventsWereLost() {
        guard !isOver else { return }
        exchanged = []
        if hub.isReplaying, !record.isComparing { owner.lostEvents() }
        armAnchor()
        guard let root = tree.root else { return lookAtRoot() }
        if owner.isHeld, hasBegun { return dirty.formUnion(folders.map(tree.reference)) }
        enqueue(root, hasBegun ? [.isDeep, .isCompared] : [.isDeep, .isSilent])
        pump()
    }

    var folders: [FileTree.ID] {
        guard let root = tree.root else { return [] }
        return ([root] + tree.below(root)).filter(tree.isFolder)
    }

    // MARK: Holding

    func goOn() {
        while !outbox.isEmpty, !owner.isHeld {
            let facts = outbox
            outbox = []
            for (index, (fact, state)) in facts.enumerated() {
                if owner.isHeld {
                    outbox = Array(facts[index...])
                    break
                }
                owner.tell(fact, state: state)
            }
        }
        guard !owner.isHeld else { return }
        let folders = dirty
        dirty = []
        for folder in folders { if let id = tree.id(folder) { enqueue(id, [.isCompared]) } }
        if isRootDirty { if owner.polls { poll() } else { lookAtRoot() } }
        pump()
    }

    /// True: the source is held, and takes in nothing; the folder is compared when it is not any more.
    func leavesForLater(_ folder: FileTree.ID) -> Bool {
        guard owner.isHeld, hasBegun else { return false }
        if folder == FileTree.holder { isRootDirty = true } else { dirty.insert(tree.reference(folder)) }
        return true
    }

    // MARK: Scanning

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
            room: hub.room)
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
        if isArming { armed() }
        tellGone()
        oldPrune = PathPrune()
        forgetFormerIgnoring()
        answerCalls()
        if record.isComparing {
            // A change that there is no room for, and one that is still to be asked for, is not told yet.
            if dirty.isEmpty, !isRootDirty, outbox.isEmpty, !due.isBusy { compared() }
        } else if isRootNews {
            noteRoot()
        }
        let limit = limit
        let trouble = trouble ?? ignoreTrouble
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
        guard !calls.isEmpty, dirty.isEmpty, !isRootDirty, !isPolling, outbox.isEmpty, !due.isBusy else { return }
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
        treeNumber += 1
        (tree, lastPlace) = (other, nil)
        (queue, doubts, doubtedNames, missed, looks, dirty, blind, silent) = ([], [], [], [:], [], [], [:], [:])
        (fleetingFolders, touched, exchanged) = ([], [:], [])
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

    /// A node that goes.
    func forget(_ id: FileTree.ID) {
        let reference = tree.reference(id)
        touched[id] = nil
        blind[reference] = nil
        silent[reference] = nil
        missed[reference] = nil
        due.forget(reference)
    }

    // MARK: Folders that come

    /// A folder came: where that is not asked for, and it goes at once, nothing of it is told (what rsync and dpkg make
    /// for themselves).
    func tellCreatedFolder(_ folder: FileTree.ID, isRecovered: Bool = false) {
        tell(.created, folder, isRecovered: isRecovered)
        guard !events.contains(.created) else { return }
        tree.set(.isNew, folder)
        fleetingFolders.append(tree.reference(folder))
        planFleetingFolders()
    }

    private func planFleetingFolders() {
        guard !areFleetingFoldersPlanned, !fleetingFolders.isEmpty else { return }
        areFleetingFoldersPlanned = true
        let folders = fleetingFolders
        fleetingFolders = []
        hub.after(Self.fleeting) { [weak self] in
            guard let self else { return }
            areFleetingFoldersPlanned = false
            for folder in folders { if let id = tree.id(folder), tree.isFolder(id) { tree.clear(.isNew, id) } }
            planFleetingFolders()
        }
    }

    // MARK: Names in doubt

    func doubt(_ id: FileTree.ID) {
        // The next round finds it.
        if owner.polls { return }
        doubts.insert(tree.reference(id))
        planDoubts()
    }

    func planDoubts() {
        guard !doubts.isEmpty || !doubtedNames.isEmpty, !areDoubtsPlanned else { return }
        areDoubtsPlanned = true
        hub.after(0) { [weak self] in
            self?.hub.whenCaughtUp { self?.lookAtDoubts() }
        }
    }

    private func lookAtDoubts() {
        areDoubtsPlanned = false
        guard !isOver else { return }
        // Another file system may stand there, or none: then nothing is known of the rest.
        if let root = tree.root, doubts.remove(tree.reference(root)) != nil {
            let number = treeNumber
            hub.trail?("look again at the root")
            lookAgain(root)
            if number != treeNumber { return pump() }
        }
        let (all, names) = (doubts, doubtedNames)
        (doubts, doubtedNames, looks) = ([], [], [])
        for reference in all {
            if let id = tree.id(reference) {
                hub.trail?("look again \(fullPath(id).printable) \(tree.flags(of: id).rawValue)")
                lookAgain(id)
            }
        }
        for name in names { lookAgain(name) }
        pump()
    }
}
