import Engine
import LinuxSystem
import WatchFile

/// One `Path=` of a path source: a folder whose entries are watched, or a file (anything else) watched in its folder.
///
/// Events tell what changed; the snapshot beside them knows what stood there when it was last told, so that after an
/// overflow, a hold or a move of the folders above, one comparison finds what was missed. Confined to its context.
final class PathRoot: FolderObserver, WatchedPath {
    /// Events kept while a listing is on its way; beyond, the folder is listed once more.
    private static let eventsWhileListing = 10_000

    /// Which lets go of its roots when it is closed: a root that is still at work then has its source as long as itself.
    let owner: PathSource
    let path: [UInt8]
    private(set) var events: PathEvents
    let hub: InotifyHub
    private var anchor: PathAnchor?
    private var folder: Int32?
    var snapshot = FolderSnapshot()
    /// Names that a comparison told to be gone, until everything that had happened before it is through.
    var gone: Set<[UInt8]> = []
    private var isForgetting = false
    var isFolder = false
    /// Something may have been missed.
    var isDirty = false
    private var listing: Listing?
    private var lastListing = 0
    /// Events of a listing that came to nothing, which the next one will not show as changes.
    private var carried: [FolderEvent] = []
    /// The first listing is where the source begins: its differences are no events, unless it is compared with what was
    /// handled before.
    var hasBegun = false
    /// The limit that leaves it without a watch (`PathRoot+Polling.swift`).
    var blindness: SystemError?
    private(set) lazy var polling = RepeatingClock(hub) { [weak self] in self?.poll() }
    /// The look of the last listing.
    var look: PathLook?
    /// Entries that it could not look at.
    private var hidden: [[UInt8]: SystemError] = [:]
    /// Of the path itself, where it is a symbolic link, and of entries that are followed (`PathRoot+Links.swift`).
    var rootLink: LinkAnchors?
    var links: [[UInt8]: LinkAnchors] = [:]
    /// (`PathRoot+Mounts.swift`)
    var mountedFile: FileWatch?
    /// The file that stood there when it was watched.
    private(set) var watched: FileStatus?
    /// A folder that came while nobody watched is told as a whole, once.
    private var hasTakenWhole = false
    /// Everything that happened before its first listing is told: a stamp shows what was told by now.
    var isSettled = false
    /// Another file system may stand there for a while (`PathRoot+Mounts.swift`).
    var mounts = SnapshotOfMounts()
    /// How its snapshot of what was handled stands (`PathRoot+Handled.swift`).
    var record = HandledRecord()
    /// Differences that are being told, in turns.
    private var comparison: Comparison?
    /// Files that a comparison has found and that somebody may still write.
    var awaited: Set<[UInt8]> = []
    /// Renames whose reverse was told with them: the two names have changed places.
    var exchanged: Set<NamePair> = []
    /// The report of a name before this one was this rename.
    var lastRename: NamePair?
    /// The report before this one was this name, which came from elsewhere.
    var lastMovedIn: [UInt8]?
    private(set) lazy var newFiles = NewFiles(
        hub: hub, path: { [weak self] in self?.fullPath($0) ?? $0 }, unchanged: { [owner] in owner.unchanged },
        follows: { [weak self] in self?.followsEntries ?? false }, pause: { [owner] in owner.pauseOfWriters },
        beside: { [owner] work, then in
            owner.beside { () throws(SystemError) in
                work()
            } then: {
                then((try? $0.get()) ?? [])
            }
        }, completed: { [weak self] in self?.completed($0, $1) })

    struct NamePair: Hashable {
        var from: [UInt8]
        var to: [UInt8]
    }

    private struct Comparison {
        let newer: FolderSnapshot
        let found: [FolderSnapshot.Found]
        var next = 0
    }

    /// The result of a listing.
    private struct Listed: Sendable {
        var newer: FolderSnapshot
        var found: [FolderSnapshot.Found] = []
        /// Of the first one, to be stored.
        var rows: [(path: [UInt8], state: PathState)] = []
        var look: PathLook
        /// Another file system stands there than the one that it is compared with.
        var isOfAnother = false
    }

    /// The needs of a lane for a listing.
    private struct Request: Sendable {
        var path: [UInt8]
        var isFolder: Bool
        var follows: Bool
        /// Watching it does not tell its content.
        var looksItself: Bool
        var old: FolderSnapshot?
        var mounts: SnapshotOfMounts
        var trustsFresh: Bool
        var isStored: Bool

        func list() throws(SystemError) -> Listed {
            let look = try PathLook(path)
            let isFolder = looksItself ? look.isFolder ?? isFolder : isFolder
            let newer =
                try isFolder
                ? FolderSnapshot(listing: path, isGenerated: look.isGenerated, follows: follows)
                : FolderSnapshot(of: path, isGenerated: look.isGenerated)
            var listed = Listed(newer: newer, look: look)
            listed.isOfAnother = mounts.isOther(look)
            // Nothing of a file is comparable with a folder.
            let other = listed.isOfAnother ? mounts.former(at: look) : FolderSnapshot()
            let isComparable = isFolder == self.isFolder && !listed.isOfAnother
            if let old = isComparable ? old : old.map({ _ in other }) {
                if look.fileSystem?.hasLastingNumbers == false { listed.newer.takeNumbers(of: old) }
                let follows = follows || !isFolder
                listed.found = old.found(to: listed.newer, trustsFresh: trustsFresh, follows: follows) {
                    PathRoot.fullPath($0, below: path, isFolder: isFolder)
                }
            }
            if isStored { listed.rows = listed.newer.rows(isFolder: isFolder) }
            return listed
        }
    }

    /// Differences told in one turn of the core.
    private static let toldInTurn = 256

    private struct Listing {
        var number: Int
        var events: [FolderEvent] = []
        var hasOverflowed = false
        /// The events are older than what is listed, which then shows their effects already.
        var isNewer = false
    }

    init(_ path: [UInt8], events: PathEvents, hub: InotifyHub, owner: PathSource) {
        self.path = path
        self.events = events
        self.hub = hub
        self.owner = owner
        anchor = PathAnchor(path, hub: hub) { [weak self] in self?.anchorChanged($0) }
    }

    var watches: Set<Int32> {
        var all = anchor?.watches ?? []
        if let folder { all.insert(folder) }
        all.formUnion(newFiles.watches)
        if let rootLink { all.formUnion(rootLink.watches) }
        if let file = mountedFile?.watch { all.insert(file) }
        for link in links.values { all.formUnion(link.watches) }
        return all
    }
    var isRecursive: Bool { false }
    /// The last name of the path.
    var anchorName: [UInt8] { anchor?.name ?? [] }
    var limit: String? {
        let ofLinks = linkFailure.map { "where links lead is compared every \(owner.pollSpan): \($0.reason)" }
        return silence ?? ofLinks ?? hiddenEntry ?? anchor?.limit
    }
    var isUnread: Bool { silence == nil && linkFailure == nil && !hidden.isEmpty }
    /// A sentence.
    private var hiddenEntry: String? {
        guard let (name, error) = hidden.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { return nil }
        let others = hidden.count > 1 ? " and \(hidden.count - 1) more" : ""
        return "\(fullPath(name).printable)\(others) cannot be read: \(error.errno)"
    }
    var isListing: Bool { listing != nil }
    /// Whether it is not known yet what stands there, as far as the source waits for it to be armed.
    var isUnready: Bool { (listing != nil && comparison == nil && !record.isComparing) || record.isStoring }
    var isOver: Bool { anchor == nil }

    var isBehind: Bool {
        isDirty || !carried.isEmpty || comparison != nil || listing.map { hasBegun || !$0.events.isEmpty } ?? false
    }

    private(set) var exists = false
    /// Comparisons that clients wait for.
    private var calls: [(Int) -> Void] = []

    private var mask: InotifyMask {
        var mask: InotifyMask = [.created, .deleted, .movedFrom, .movedTo, .closedAfterWriting]
        if events.contains(.modified) { mask.insert(.modified) }
        if events.contains(.attributes) { mask.insert(.attributes) }
        return mask
    }

    // MARK: Arming

    func arm() throws(SystemError) {
        try watch()
        list()
    }

    func rearm(for trigger: PathTrigger) throws(SystemError) {
        let events = trigger.events(of: path)
        // The kernel takes no event out of a watch.
        if !self.events.subtracting(events).isDisjoint(with: [.modified, .attributes]) {
            stopFolder()
            anchor?.disarm()
        }
        self.events = events
        let (oldFolder, oldLevels) = (folder, anchor?.levels)
        try watch()
        let isUnbroken = folder == oldFolder && anchor?.levels == oldLevels && (hasBegun || isListing)
        if isDirty || comparison != nil || !isUnbroken { list() }
    }

    func watch() throws(SystemError) {
        if owner.polls {
            stopFolder()
            leaveLinks()
            anchor?.disarm()
            blindness = nil
            lookAtPath()
            return planPolling()
        }
        do throws(SystemError) {
            try watchAll()
            blindness = nil
            planPolling()
        } catch {
            guard error.leavesUnwatched else { throw error }
            goBlind(error)
        }
    }

    private func watchAll() throws(SystemError) {
        guard let anchor else { return }
        // Until it is watched anew: a folder that is watched still keeps its number, and so what is unread of it.
        let old = folder
        folder = nil
        defer { if let old { hub.unwatch(old, for: self) } }
        lookAtPath()
        // A folder's own entry only comes and goes; a file's changes are told by the folder it stands in.
        _ = try anchor.arm(exists && isFolder ? [] : mask)
        try followRoot()
        lookAtPath()
        watchMountedFile()
        if exists, isFolder {
            do throws(SystemError) {
                folder = try hub.watch(path, mask.union([.selfDeleted, .selfMoved, .unmounted]), for: self)
            } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
                // Gone again: the anchor tells what comes.
                exists = false
            }
        }
    }

    private func lookAtPath() { take((try? Linux.lstat(path)).map { Self.followed($0, path) }) }

    /// Takes the status of the path.
    func take(_ status: FileStatus?) {
        let (existed, wasFolder) = (exists, isFolder)
        watched = status
        exists = status != nil
        defer { if hasBegun, existed != exists, existed ? wasFolder : isFolder { tellFolder() } }
        guard let status else { return }
        if isFolder != (status.kind == .folder) { tellAllGone() }
        isFolder = status.kind == .folder
    }

    func disarm() {
        listing = nil
        newFiles.removeAll()
        polling.stop()
        leaveLinks()
        stopFolder()
        anchor?.disarm()
        anchor = nil
    }

    func stopFolder() {
        mountedFile?.cancel()
        mountedFile = nil
        if let folder { hub.unwatch(folder, for: self) }
        folder = nil
    }

    func rearm() {
        do throws(SystemError) { try arm() } catch { owner.failed(error) }
        owner.rootChanged()
    }

    // MARK: Comparing

    func goOn() {
        if comparison != nil { goOnComparing() } else if isDirty { list() }
    }

    func compare(then: @escaping (Int) -> Void) {
        calls.append(then)
        // One that goes on may have seen less.
        if isListing { isDirty = true } else { list() }
    }

    private func answerCalls() {
        let ended = calls
        calls = []
        let waiting = awaited.count { owner.tellsContent(of: fullPath($0), path) }
        for then in ended { then(waiting) }
    }

    func list() {
        guard !owner.isHeld || !hasBegun else {
            isDirty = true
            return
        }
        guard mayList() else { return }
        isDirty = false
        comparison = nil
        lastListing += 1
        // Changes that no comparison tells must be told by the events.
        if let listing, !hasBegun || listing.isNewer { carried = listing.events }
        listing = Listing(number: lastListing, events: carried, isNewer: !hasBegun || hub.isReplaying)
        carried = []
        let number = lastListing
        let request = Request(
            path: path, isFolder: isFolder, follows: owner.followsLinks, looksItself: isUnwatched,
            old: hasBegun ? snapshot : nil, mounts: mounts,
            trustsFresh: !record.isComparing, isStored: !hasBegun && record.state == .kept)
        owner.beside { () throws(SystemError) in
            try request.list()
        } then: { [weak self] result in
            self?.listed(result, number)
        }
    }

    private func listed(_ result: Swift.Result<Listed, SystemError>, _ number: Int) {
        guard anchor != nil, let listing, listing.number == number else { return }
        switch result {
        case .failure(let error):
            self.listing = nil
            isDirty = true
            if listing.isNewer { carried = listing.events }
            return owner.failed(error)
        case .success(let listed) where !take(listed.look): break
        case .success(let listed) where hasBegun:
            hidden = listed.newer.hidden
            if listed.isOfAnother { changeFileSystem(listed.look) }
            mounts.note(listed.look)
            followEntries(listed.newer.links)
            comparison = Comparison(newer: listed.newer, found: listed.found)
            // It is armed, however long the telling takes.
            owner.rootChanged()
            goOnComparing()
        case .success(let listed):
            hasBegun = true
            (snapshot, hidden) = (listed.newer, listed.newer.hidden)
            mounts.note(listed.look)
            followEntries(listed.newer.links)
            hub.whenCaughtUp { [weak self] in self?.isSettled = true }
            if record.state == .kept { storeAll(listed.rows) }
            finishListing()
        }
    }

    /// Tells differences, until it is the others' turn, or the source is held. Events are kept meanwhile.
    private func goOnComparing() {
        guard let number = listing?.number else { return }
        for _ in 0..<Self.toldInTurn {
            guard let current = comparison, anchor != nil, !owner.isHeld else { return }
            guard current.next < current.found.count else { return finishListing() }
            comparison?.next += 1
            tell(current.found[current.next], current.newer)
        }
        let bound = QueueBound(self, to: owner.core)
        owner.core.async {
            let root = bound.value
            if root.listing?.number == number { root.goOnComparing() }
        }
    }

    private func finishListing() {
        guard let listing else { return }
        (self.listing, comparison) = (nil, nil)
        for event in listing.events where anchor != nil { take(event, isOlder: listing.isNewer) }
        guard anchor != nil else { return }
        forgetGone()
        tryToWatch()
        if listing.hasOverflowed || isDirty {
            list()
        } else {
            compared()
            answerCalls()
        }
        owner.rootChanged()
    }

    /// Keeps events until what they are compared with is there. Returns the number of that wait.
    func keepEvents(with event: FolderEvent? = nil) -> Int {
        lastListing += 1
        listing = Listing(number: lastListing, events: listing?.events ?? carried, isNewer: true)
        if let event { listing?.events.append(event) }
        carried = []
        return lastListing
    }

    /// The awaited file is there: gives the events that were kept meanwhile. `nil`: it was not waited for any more.
    func takeKeptEvents(_ number: Int) -> [FolderEvent]? {
        guard anchor != nil, let kept = listing, kept.number == number else { return nil }
        listing = nil
        if kept.hasOverflowed { isDirty = true }
        return kept.events
    }

    /// The next listing tells them, as far as it does not show what they did.
    func carry(_ events: [FolderEvent]) { carried = events }

    /// Its folder was watched by the watchd before this one, whose unread events come now.
    var isReplayed: Bool { hub.isReplaying && folder.map(hub.wasWatched) ?? false }

    private func forgetGone() {
        guard !gone.isEmpty, !isForgetting else { return }
        isForgetting = true
        hub.whenCaughtUp { [weak self] in
            guard let self else { return }
            isForgetting = false
            // Events that a listing keeps are not through: it asks again when it has ended.
            if !isListing { gone = [] }
        }
    }

    // MARK: Events

    private func anchorChanged(_ change: PathAnchor.Change) {
        guard anchor != nil else { return }
        switch change {
        case .moved: replaced()
        case .overflowed:
            exchanged = []
            // There is nothing to compare with.
            if hub.isReplaying, !record.isComparing { owner.lostEvents() }
            // A lost event may have been the end of a folder that is watched.
            rearm()
        case .entry(let event):
            if isFolder || event.isFolder {
                // The folder itself came or went; only its attributes are a change of this entry.
                if case .attributes = event.change { return }
                replaced()
            } else {
                let status = try? Linux.lstat(path)
                let hasExisted = exists
                exists = status != nil
                keepOrTake(event)
                // It leads elsewhere, or is no link any more.
                if event.change.isOfName, status?.kind == .symbolicLink || rootLink != nil { rearmWhenAnswered() }
                if exists != hasExisted { owner.rootChanged() }
            }
        }
    }

    /// The folder that stands here now came after the one that stood here. While nobody read, one that nobody had
    /// watched before came with all that it holds.
    private func replaced() {
        if hub.isReplaying, let folder, !hub.wasWatched(folder), !hasTakenWhole, !record.isComparing {
            hasTakenWhole = true
            hasBegun = true
            snapshot = FolderSnapshot()
        }
        rearm()
    }

    func observe(_ event: FolderEvent) {
        guard anchor != nil else { return }
        switch event.change {
        case .selfChanged: replaced()
        case .overflowed: break  // The anchor tells.
        case .created, .closedAfterWriting, .modified, .attributes, .deleted, .movedIn, .movedOut, .renamed:
            keepOrTake(event)
        }
    }

    func keepOrTake(_ event: FolderEvent) {
        // The content of a generated file says what has changed.
        if look?.isGenerated == true {
            if isListing { isDirty = true } else { list() }
            return
        }
        guard listing != nil else { return mayLeadElsewhere(event) ? takeWhenAnswered(event) : take(event) }
        // The kernel has a bound of its own for what waits to be read (`fs.inotify.max_queued_events`).
        if listing?.events.count ?? 0 < Self.eventsWhileListing || hub.isReplaying {
            listing?.events.append(event)
        } else {
            listing?.hasOverflowed = true
        }
    }
}
