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
    static let foldersPerScan = 256
    /// Names kept while a scan goes on; beyond, it is made once more.
    static let touchedLimit = 65_536
    /// Microseconds in which a folder that came and goes again is nobody's news, where its coming is not.
    var fleeting: Int64 = 2_000_000
    /// Microseconds between two looks at how old they are.
    private static let fleetingPause = 100_000

    /// Which lets go of its roots when it is closed: a root that is still at work then has its source as long as itself.
    let owner: PathSource
    let path: [UInt8]
    private(set) var events: PathEvents
    var prune: PathPrune
    /// Of the watch file before: what it had pruned is no news.
    var formerPrunes: [PathPrune] = []
    var ignoring: TreeIgnoring?
    /// Those of the watch file before: what they ignored is no news.
    var oldIgnoring: IgnoreRules?
    /// When the watch file let in what had been left out (nanoseconds since the epoch): what was changed afterwards, and
    /// before it is listed, is news.
    var letInSince: Int64?
    let hub: InotifyHub
    /// The symbolic links in it, with `FollowSymlinks=yes`.
    var links = TreeLinks()
    /// `FollowSymlinks=yes` when it was armed last.
    private var followed: Bool
    var tree = FileTree()
    /// A folder and its path, as long as no folder is moved.
    var lastPlace: (folder: FileTree.Reference, path: [UInt8])?
    private(set) var anchor: PathAnchor?
    /// The way of the path, where it leads through a link.
    var rootLink: LinkAnchors?
    var mountedFile: FileWatch?
    var anchorFailure: SystemError?
    private(set) var isOver = false
    /// Everything was listed once, which is where the source begins; or the tree is as it was handled before, and the
    /// first listing is compared with that.
    var hasBegun = false
    private var hasArmed = false
    /// The folders are being watched and listed for the first time.
    var isArming = true
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
    /// The root as it stands; and what was known of another one, which something is mounted over now.
    var standing: RootIdentity?
    var aside: (root: RootIdentity, tree: FileTree, isRecorded: Bool)?
    /// The number of the tree: what was found for another one does not count.
    var treeNumber = 0
    var isUnmounted = false

    /// Folders that are to be listed, the next one last.
    var queue: [FileTree.Reference] = []
    var isScanning = false
    var touched: [FileTree.ID: Set<[UInt8]>] = [:]
    var touchedCount = 0
    /// Nodes that could not be looked at where they should stand.
    var doubts: Set<FileTree.Reference> = []
    /// Names that a comparison has left to the reports that came meanwhile. A report says that something has changed,
    /// and not whether all is known that had changed before.
    var doubtedNames: Set<DoubtedName> = []
    /// Folders that did not stand where a scan looked for them, with the way in which they are still to be listed.
    var missed: [FileTree.Reference: FileTree.Flags] = [:]
    var areDoubtsPlanned = false
    /// Names that were looked at a moment ago, and at which nothing stood: a folder above may have been moved just then,
    /// which is reported after it shows.
    var goneNames: Set<DoubtedName> = []
    /// Looked at since all reports were through last: should a folder above have been moved meanwhile, it was another's.
    var looks: [FileTree.Reference] = []
    /// The file whose close is told next was made just now.
    var isMadeNext = false
    /// Folders of which nothing was taken in while the source is held.
    var dirty: Set<FileTree.Reference> = []
    var isRootDirty = false
    /// Folders that cannot be watched, or read.
    var blind: [FileTree.Reference: Blindness] = [:]
    /// Folders of file systems, by name, where the kernel does not tell of every change.
    var silent: [FileTree.Reference: String] = [:]
    var pollDelay = TreeRoot.firstPoll
    var isPollPlanned = false
    /// A round has begun.
    var isPolling = false
    /// `Poll=yes` when it was armed last.
    private var polled: Bool
    var toldLimit: String?
    /// Comparisons that clients wait for.
    var calls: [(Int) -> Void] = []
    var toldTrouble: String?
    /// Told when the source is not held any more.
    var outbox: [(fact: PathFact, state: PathState?)] = []
    /// Folders that came, and nobody was told; the time until which nobody is told of their end, the earliest first.
    var fleetingFolders: [(folder: FileTree.Reference, until: Int64)] = []
    private var areFleetingFoldersPlanned = false
    /// Renames whose reverse was told with them.
    var exchanged: Set<Exchange> = []
    /// The report of a name before this one was this rename.
    var lastRename: (names: Exchange, isFolder: Bool)?
    private(set) lazy var due = DueFiles(
        hub: hub, path: { [weak self] in self?.duePath($0) }, unchanged: { [owner] in owner.unchanged },
        follows: { [owner, path] in owner.followsLinks || $0.count == path.count },
        pause: { [owner] in owner.pauseOfWriters },
        beside: { [owner] work, then in
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

        var reversed: Exchange { Exchange(from: to, fromName: toName, to: from, toName: fromName) }
    }

    init(_ path: [UInt8], _ trigger: PathTrigger, hub: InotifyHub, owner: PathSource) {
        self.path = path
        polled = trigger.polling.isAlways
        followed = trigger.followsLinks
        events = trigger.events(of: path)
        prune = trigger.prune(below: path)
        ignoring = trigger.ignoreFile.map(TreeIgnoring.init)
        self.hub = hub
        self.owner = owner
        anchor = PathAnchor(path, hub: hub) { [weak self] in self?.anchorChanged($0) }
    }

    var isRecursive: Bool { true }
    var watches: Set<Int32> {
        if owner.polls { return [] }
        var all = anchor?.watches ?? []
        all.formUnion(due.watchNumbers)
        if let rootLink { all.formUnion(rootLink.watches) }
        if let file = mountedFile?.watch { all.insert(file) }
        for link in links.all.values { if let anchors = link.anchors { all.formUnion(anchors.watches) } }
        return all
    }
    var isListing: Bool { isArming }
    /// A change that the source has no room for is compared when it has.
    var isUnready: Bool { (isArming && !(hasBegun && owner.isHeld)) || record.isStoring }

    var isBehind: Bool {
        !dirty.isEmpty || !outbox.isEmpty
            || hasBegun && (isRootDirty || isScanning || !queue.isEmpty || links.isBusy)
    }

    var limit: String? { trouble ?? silence ?? ignoreTrouble ?? linkTrouble ?? anchor?.limit }
    var isUnread: Bool { anchorFailure == nil && !blind.isEmpty && blindness == nil }
    var blindness: SystemError? { anchorFailure ?? blind.values.first { $0.leavesUnwatched }?.error }

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
        (events, prune) = (trigger.events(of: path), trigger.prune(below: path))
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
        if polled != wasPolled { forgetLinks() }
        let isFollowingNew = owner.followsLinks != followed
        if isFollowingNew { forgetLinks() }
        try arm()
        goOn()
        // Until all is listed once more.
        if prune != old { formerPrunes.append(old) }
        if prune != old || isIgnoringNew || isFollowingNew { noteLetIn() }
        // What was known is that of the links, or of what they lead to.
        if isFollowingNew { links.wereFollowed = followed }
        followed = owner.followsLinks
        guard let root = tree.root, tree.isFolder(root), hasBegun else { return }
        if !mask.isSubset(of: oldMask) || prune != old || polled != wasPolled || isIgnoringNew || isFollowingNew {
            enqueue(root, [.isDeep, .isCompared])
        }
        pump()
    }

    func armAnchor() {
        if owner.polls {
            anchor?.disarm()
            leaveElsewhere()
            anchorFailure = nil
            return
        }
        do throws(SystemError) {
            let isFile = tree.root.map { !tree.isFolder($0) } ?? true
            _ = try anchor?.arm(isFile ? mask : [])
            try watchElsewhere()
            anchorFailure = nil
        } catch {
            anchorFailure = error
            planPoll()
        }
    }

    func disarm() {
        guard !isOver else { return }
        isOver = true
        due.close()
        forgetLinks()
        giveUpWatches(of: tree)
        if hasArmed {
            hub.remove(self)
            if isArming { hub.endArming() }
        }
        leaveElsewhere()
        anchor?.disarm()
        anchor = nil
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
        lookAtLinks()
        pump()
    }

    /// True: the source is held, and takes in nothing; the folder is compared when it is not any more.
    func leavesForLater(_ folder: FileTree.ID) -> Bool {
        guard owner.isHeld, hasBegun else { return false }
        if folder == FileTree.holder { isRootDirty = true } else { dirty.insert(tree.reference(folder)) }
        return true
    }

    /// A node that goes.
    func forget(_ id: FileTree.ID) {
        let reference = tree.reference(id)
        touched[id] = nil
        blind[reference] = nil
        silent[reference] = nil
        missed[reference] = nil
        due.forget(reference)
        forgetLink(reference)
    }

    // MARK: Folders that come

    /// A folder came: where that is not asked for, and it goes at once, nothing of it is told (what rsync and dpkg make
    /// for themselves).
    func tellCreatedFolder(_ folder: FileTree.ID, isRecovered: Bool = false) {
        tell(.created, folder, isRecovered: isRecovered)
        guard !events.contains(.created) else { return }
        tree.set(.isNew, folder)
        fleetingFolders.append((tree.reference(folder), Linux.now(.monotonic) + fleeting))
        planFleetingFolders()
    }

    private func planFleetingFolders() {
        guard !areFleetingFoldersPlanned, let first = fleetingFolders.first else { return }
        areFleetingFoldersPlanned = true
        let pause = max(Self.fleetingPause, Int(clamping: first.until - Linux.now(.monotonic)))
        hub.after(pause) { [weak self] in
            guard let self else { return }
            areFleetingFoldersPlanned = false
            let now = Linux.now(.monotonic)
            let over = fleetingFolders.prefix { $0.until <= now }
            for (folder, _) in over { if let id = tree.id(folder), tree.isFolder(id) { tree.clear(.isNew, id) } }
            fleetingFolders.removeFirst(over.count)
            planFleetingFolders()
        }
    }
}
