package import LinuxSystem
package import WatchFile

/// An event at a watched folder, or of the folder itself.
package struct FolderEvent {
    package enum Change {
        case created, closedAfterWriting, modified, attributes, deleted
        case movedIn
        case movedOut
        /// Both ends are in folders of the same owner; `to` is this event's own place.
        case renamed(fromWatch: Int32, fromName: [UInt8])
        /// The folder itself was moved, deleted or unmounted.
        case selfChanged
        /// The kernel's queue overflowed: anything may have happened anywhere.
        case overflowed
    }

    package var change: Change
    package var watch: Int32
    package var name: [UInt8]
    package var isFolder: Bool
    /// Of a file that was created: what is told next is that it was closed after writing.
    package var isClosedNext = false
}

/// An observer of folders.
package protocol FolderObserver: AnyObject {
    func observe(_ event: FolderEvent)
}

/// One inotify descriptor for all sources (a user has 128 of them), with a watch for each inode and any number of
/// observers of a watch. It pairs the two halves of a rename. The descriptor is made when it can be had: until then
/// every `watch` fails, and whoever watches tries again. Confined to its context.
package final class InotifyHub {
    /// The events of one read are always finished: some hundreds.
    private static let bytesPerRead = 16_384
    private static let readsPerTurn = 16
    /// A turn that has lasted so long has no further read (microseconds): clients and other sources come in between.
    private static let longestTurn: Int64 = 5_000
    /// How long the second half of a rename may take (microseconds): `inotify(7)` puts them into the queue one after
    /// the other, but not as one.
    private static let renamePatience = 5_000

    /// Of the folder itself. (A literal would be built by generic code each time.)
    private static let ofItself: InotifyMask = [.selfDeleted, .selfMoved, .unmounted]

    private let context: Context
    /// `nil`: none could be had yet.
    private var inotify: Int32?
    /// As long as work beside the context has it.
    private weak var copy: WatchAdder.Copy?
    private let made: (Int32) -> Void
    /// Until it is read, where it was adopted.
    private var adopted: FileDescriptor?
    /// Watches that an adopted descriptor had.
    private let adoptedWatches: Set<Int32>
    /// The events that are read happened while nobody read, or could have: they are older than anything that is listed
    /// now.
    package private(set) var isReplaying: Bool
    private var source: ReadSource?
    /// Closed: its number may be another one's by now.
    private var isOver = false
    private var watches: [Int32: FolderObservers] = [:]
    private var trees = TreeWatches()
    let room: WatchRoom
    /// The replay has begun: watches of the daemon before that nobody took are removed when all scans have ended.
    private var hasStale = false
    /// Events that were read and come after the one that is being told.
    private var untold = 0
    /// The first of those.
    private var next: InotifyEvent?
    /// For looks that may hang; `nil`: they are made on the context.
    package var slow: Lanes?
    /// Told of what is read, listed and told, in that order: the trail of a change that nobody was told of.
    package var trail: ((String) -> Void)?
    /// Told when the file system of a watched file or folder is unmounted.
    var unmounted: (() -> Void)?
    /// Calls that wait until everything is told.
    private var whenTold: [() -> Void] = []
    /// The first half of a rename, whose second has not been seen.
    private var moved: InotifyEvent?
    private var bound: QueueBound<InotifyHub> { QueueBound(self, to: context) }

    /// - Parameters:
    ///   - stored: the descriptor of an earlier watchd. All watches are added anew first, which gives them the numbers
    ///     they had; then `startReading` tells what has happened since.
    ///   - made: told of the descriptor, which is to be kept in the service manager's store.
    package init(
        on context: Context, adopting stored: consuming FileDescriptor? = nil, limit: WatchLimit = .share(100),
        made: @escaping (Int32) -> Void = { _ in }
    ) {
        self.context = context
        self.made = made
        source = nil
        if let stored {
            let number = stored.rawValue
            inotify = number
            // Where it cannot be known, every watch counts as an old one.
            adoptedWatches = (try? Linux.inotifyWatches(number)) ?? []
            room = WatchRoom(limit, adopted: adoptedWatches)
            isReplaying = true
            adopted = consume stored
            made(number)
        } else {
            inotify = nil
            adoptedWatches = []
            room = WatchRoom(limit)
            isReplaying = false
            adopted = nil
            _ = try? descriptor()
        }
    }

    /// -1: there is none yet.
    package var storeDescriptor: Int32 { inotify ?? -1 }

    /// Made now, where there is none yet.
    private func descriptor() throws(SystemError) -> Int32 {
        if isOver { throw SystemError(call: "inotify_add_watch", detail: "", errno: .badDescriptor) }
        if let inotify { return inotify }
        let new = try Linux.inotifyCreate()
        let number = new.rawValue
        inotify = number
        source = ReadSource(new, on: context) { [weak self] in self?.turn() }
        made(number)
        return number
    }

    /// Reads an adopted descriptor, after every source has been opened once. Does nothing for one that is read.
    package func startReading() {
        guard let descriptor = adopted.take() else { return }
        hasStale = true
        removeStale(descriptor.rawValue)
        source = ReadSource(descriptor, on: context) { [weak self] in self?.turn() }
        // Without anything to read it would never be seen that nothing is missing.
        context.async { [bound] in bound.value.turn() }
    }

    /// Unless scans go on, which take watches of the daemon before beside the core.
    private func removeStale(_ inotify: Int32) {
        guard hasStale, trees.scans == 0 else { return }
        hasStale = false
        for watch in adoptedWatches where watches[watch] == nil && !trees.isWatched(watch) {
            // EINVAL: it has gone by itself.
            try? Linux.inotifyRemove(inotify, watch: watch)
        }
    }

    /// Stops reading, and closes the descriptor.
    package func close() {
        isOver = true
        adopted.take()?.close()
        source?.cancel()
        source = nil
    }

    /// `MaxWatches=` is another one. What there is too much of stays until it is given up.
    package func setLimit(_ limit: WatchLimit) { room.set(limit) }

    /// Whether everything that has happened until now was told; the last of it may be what is being told.
    var isCaughtUp: Bool {
        guard !isOver, inotify != nil else { return !isOver }
        return !isReplaying && untold == 0 && !hasUnread
    }

    private var hasUnread: Bool { inotify.map { (try? Linux.isReadable($0)) != false } ?? false }

    /// Calls back when everything that has happened until now was told; at once where that is so.
    func whenCaughtUp(_ work: @escaping () -> Void) {
        whenTold.append(work)
        tellCaughtUp()
    }

    /// Calls back on the context after this many microseconds.
    func after(_ delay: Int, _ work: @escaping () -> Void) {
        let bound = QueueBound(work, to: context)
        context.after(delay) { bound.value() }
    }

    /// Works beside the context, where that may hang, and comes back to it.
    func beside<Value: Sendable>(_ work: @escaping @Sendable () -> Value, then: @escaping (Value) -> Void) {
        guard let slow else { return then(work()) }
        let bound = QueueBound(then, to: context)
        slow.submit(nil) { [context] in
            let value = work()
            context.async { bound.value(value) }
        }
    }

    private func tellCaughtUp() {
        guard !whenTold.isEmpty, moved == nil, isCaughtUp else { return }
        let works = whenTold
        whenTold = []
        for work in works { work() }
    }

    /// Whether an earlier watchd had this watch already, and so nothing that happened in its folder is missing.
    func wasWatched(_ number: Int32) -> Bool { adoptedWatches.contains(number) }

    /// For work on the context.
    var adder: WatchAdder {
        do throws(SystemError) {
            return WatchAdder(.own(try descriptor()), room)
        } catch {
            return WatchAdder(.failed(error), room)
        }
    }

    /// For work beside the context.
    var adderBeside: WatchAdder {
        do throws(SystemError) {
            if let copy { return WatchAdder(.copy(copy), room) }
            let new = WatchAdder.Copy(try Linux.duplicate(try descriptor()))
            copy = new
            return WatchAdder(.copy(new), room)
        } catch {
            return WatchAdder(.failed(error), room)
        }
    }

    /// Watches a folder; the watch number is the inode's, the same for every path and observer of it.
    ///
    /// - Parameter name: the entry of the folder that matters; `nil`: each of them.
    package func watch(
        _ folder: [UInt8], _ mask: InotifyMask, name: [UInt8]? = nil, for owner: any FolderObserver
    ) throws(SystemError) -> Int32 {
        let number = try adder.add(folder, mask)
        observe(number, mask, name: name, for: owner)
        return number
    }

    /// A watch that was added has one more observer.
    func observe(_ number: Int32, _ mask: InotifyMask, name: [UInt8]?, for owner: any FolderObserver) {
        // A file that was made meanwhile matters to the observer that would watch for it only where it is missing.
        watches[number, default: FolderObservers()].add(owner, isReplaying ? mask.union(.created) : mask, of: name)
    }

    /// Watches that were added, and that nobody may want.
    func discard(_ numbers: [Int32]) {
        if !isReplaying { for number in numbers { removeUnused(number) } }
    }

    /// Watches an open file itself, by whichever of its names it is written, moved or deleted.
    package func watch(
        file: Int32, _ mask: InotifyMask, for owner: any FolderObserver
    ) throws(SystemError) -> Int32 {
        let inotify = try descriptor()
        let number = try room.add(inotify) { () throws(SystemError) in
            try Linux.inotifyAdd(inotify, open: file, mask.union(.adding))
        }
        watches[number, default: FolderObservers()].add(owner, mask, of: nil)
        return number
    }

    /// Takes back one `watch` of the owner for that name.
    package func unwatch(_ number: Int32, name: [UInt8]? = nil, for owner: any FolderObserver) {
        watches[number]?.remove(owner, of: name)
        // Events that are yet to be read are of this number: should it be watched again, it must keep it.
        if !isReplaying { removeUnused(number) }
    }

    private func removeUnused(_ number: Int32) {
        guard watches[number]?.isEmpty ?? true else { return }
        watches[number] = nil
        guard !isOver, let inotify, !trees.isWatched(number) else { return }
        // A scan may be about to claim it.
        if trees.scans > 0 { return trees.loosen(number) }
        // EINVAL: its folder is gone, and the watch with it.
        try? Linux.inotifyRemove(inotify, watch: number)
    }

    /// As the kernel counts them: the watches of folders of these trees, and others.
    func count(of trees: [any TreeObserver], _ others: Set<Int32>) -> Int {
        trees.isEmpty ? others.count : self.trees.count(of: trees, others)
    }

    // MARK: Trees

    package func add(_ tree: any TreeObserver) { trees.add(tree) }
    package func remove(_ tree: any TreeObserver) { trees.remove(tree) }

    /// Reports from now on of folders that nobody has claimed are kept for those who do, until `endArming`.
    func beginArming() { trees.beginScan() }
    func endArming() { endScan([]) }

    /// A scan beside the core begins, which adds watches by this descriptor, a copy that the caller closes. Each one
    /// that it has added is to be claimed before `endScan`.
    ///
    /// - Throws: there is no inotify descriptor; the scan may go on without, and ends all the same.
    func beginScan() throws(SystemError) -> FileDescriptor {
        trees.beginScan()
        return try Linux.duplicate(try descriptor())
    }

    func endScan(_ added: [Int32]) {
        for watch in trees.endScan(added) { removeUnused(watch) }
        if trees.scans == 0, room.isFull { room.correct(trees.count + watches.keys.count { !trees.isWatched($0) }) }
        if let inotify, !isOver { removeStale(inotify) }
    }

    /// A folder of a tree has this watch: tells what has happened there since its scan began, before anything that
    /// happens from now on. False: that is not known.
    func claim(_ watch: Int32, for tree: any TreeObserver, _ folder: FileTree.ID) -> Bool {
        guard let events = trees.claim(watch, tree, folder) else { return false }
        for event in events where trees.contains(watch, tree, folder) {
            guard let change = Self.changeOfName(event.mask) else { continue }
            tree.observe(folderEvent(event, change), in: folder, from: nil)
        }
        return true
    }

    /// Names that a scan has seen, perhaps, in a folder of which nobody has claimed this watch yet, and that are gone.
    func namesGone(_ watch: Int32) -> Set<[UInt8]> { trees.namesGone(watch) }

    func giveUp(_ watch: Int32, of tree: any TreeObserver, _ folder: FileTree.ID) {
        trees.giveUp(watch, tree, folder)
        if !isReplaying { removeUnused(watch) }
    }

    /// The meaning of one half of a rename by itself, like any other event of a name.
    private static func changeOfName(_ mask: InotifyMask) -> FolderEvent.Change? {
        switch mask {
        case let mask where mask.contains(.movedFrom): .movedOut
        case let mask where mask.contains(.movedTo): .movedIn
        case let mask where mask.contains(.created): .created
        case let mask where mask.contains(.closedAfterWriting): .closedAfterWriting
        case let mask where mask.contains(.modified): .modified
        case let mask where mask.contains(.attributes): .attributes
        case let mask where mask.contains(.deleted): .deleted
        default: nil
        }
    }

    private func watchEnded(_ event: InotifyEvent) {
        watches[event.watch] = nil
        room.ended(event.watch)
        for place in trees.end(event.watch) {
            place.tree.watchEnded(event.watch, of: place.folder, isUnmounted: false)
        }
    }

    private func selfChanged(_ event: InotifyEvent) {
        deliverToFolders(event, .selfChanged)
        guard event.mask.contains(.unmounted) else { return }
        unmounted?()
        for place in trees.places(event.watch) where trees.contains(event.watch, place.tree, place.folder) {
            place.tree.watchEnded(event.watch, of: place.folder, isUnmounted: true)
        }
    }

    private func deliverToTrees(_ event: InotifyEvent, _ change: FolderEvent.Change) {
        // Names alone are told: of a folder itself its parent is told.
        guard !event.name.isEmpty, trees.isWatched(event.watch) else { return }
        for place in trees.places(event.watch) where trees.contains(event.watch, place.tree, place.folder) {
            place.tree.observe(folderEvent(event, change), in: place.folder, from: nil)
        }
    }

    private func pairInTrees(_ from: InotifyEvent, _ to: InotifyEvent) {
        var left = trees.places(from.watch)
        let change = FolderEvent.Change.renamed(fromWatch: from.watch, fromName: from.name)
        for (place, other) in TreeWatches.pairs(trees.places(to.watch), &left)
        where trees.contains(to.watch, place.tree, place.folder) {
            place.tree.observe(folderEvent(to, other == nil ? .movedIn : change), in: place.folder, from: other?.folder)
        }
        for place in left where trees.contains(from.watch, place.tree, place.folder) {
            place.tree.observe(folderEvent(from, .movedOut), in: place.folder, from: nil)
        }
    }

    // MARK: Reading

    private func turn() {
        let begin = Linux.now(.monotonic)
        for _ in 0..<Self.readsPerTurn {
            guard source != nil, let inotify else { return }
            guard let events = try? Linux.inotifyRead(inotify, limit: Self.bytesPerRead), !events.isEmpty else {
                endReplay()
                break
            }
            untold = events.count
            for index in events.indices {
                untold -= 1
                next = untold > 0 ? events[index + 1] : nil
                take(events[index])
            }
            next = nil
            if Linux.now(.monotonic) - begin >= Self.longestTurn { break }
        }
        guard let first = moved else { return tellCaughtUp() }
        context.after(Self.renamePatience) { [bound] in
            // Where watchd itself stood still, the other half may wait to be read.
            if bound.value.moved == first, !bound.value.hasUnread { bound.value.flushMoved() }
            bound.value.tellCaughtUp()
        }
    }

    /// Everything that had waited has been read.
    private func endReplay() {
        guard isReplaying else { return }
        flushMoved()
        isReplaying = false
        for number in Array(watches.keys) { removeUnused(number) }
    }

    func take(_ event: InotifyEvent) {
        trail?("read \(event.watch) \(event.name.printable): \(event.mask.rawValue) \(event.cookie)")
        trees.note(event)
        if let first = moved {
            moved = nil
            if event.mask.contains(.movedTo), event.cookie == first.cookie { return pair(first, event) }
            // One that has changed places with something elsewhere stands there still.
            let hasExchanged =
                event.mask.contains(.movedTo) && event.watch == first.watch && event.name == first.name
            if !hasExchanged { deliver(first, .movedOut) }
        }
        switch event.mask {
        case let mask where mask.contains(.overflowed): overflow()
        // The other half of a rename is waited for where somebody is told of this one.
        case let mask where mask.contains(.movedFrom): if isObserved(event) { moved = event }
        case let mask where !mask.isDisjoint(with: Self.ofItself): selfChanged(event)
        case let mask where mask.contains(.ignored): watchEnded(event)
        default: if let change = Self.changeOfName(event.mask) { deliver(event, change) }
        }
    }

    private func isObserved(_ event: InotifyEvent) -> Bool {
        trees.isWatched(event.watch) || !observers(event).isEmpty
    }

    private func flushMoved() {
        guard let first = moved else { return }
        moved = nil
        deliver(first, .movedOut)
    }

    private func observers(_ event: InotifyEvent) -> [any FolderObserver] {
        watches[event.watch]?.owners(of: event) ?? []
    }

    private func deliver(_ event: InotifyEvent, _ change: FolderEvent.Change) {
        deliverToFolders(event, change)
        deliverToTrees(event, change)
    }

    private func deliverToFolders(_ event: InotifyEvent, _ change: FolderEvent.Change) {
        for owner in observers(event) { tell(owner, folderEvent(event, change)) }
    }

    /// Unless what an observer before it did has made it give up the watch.
    private func tell(_ owner: any FolderObserver, _ event: FolderEvent) {
        guard watches[event.watch]?.contains(owner, of: event.name) == true else { return }
        owner.observe(event)
    }

    private func folderEvent(_ event: InotifyEvent, _ change: FolderEvent.Change) -> FolderEvent {
        var told = FolderEvent(
            change: change, watch: event.watch, name: event.name, isFolder: event.mask.contains(.isFolder))
        if case .created = change, let next, next.mask == .closedAfterWriting {
            told.isClosedNext = next.watch == event.watch && next.name == event.name
        }
        return told
    }

    private func pair(_ from: InotifyEvent, _ to: InotifyEvent) {
        defer { pairInTrees(from, to) }
        let (left, entered) = (observers(from), observers(to))
        let (leaving, entering) = (Set(left.map(ObjectIdentifier.init)), Set(entered.map(ObjectIdentifier.init)))
        for owner in left where !entering.contains(ObjectIdentifier(owner)) {
            tell(owner, folderEvent(from, .movedOut))
        }
        for owner in entered {
            let isRename = leaving.contains(ObjectIdentifier(owner))
            let change = isRename ? FolderEvent.Change.renamed(fromWatch: from.watch, fromName: from.name) : .movedIn
            tell(owner, folderEvent(to, change))
        }
    }

    private func overflow() {
        trees.noteOverflow()
        room.lostEvents()
        defer { for tree in trees.trees { tree.eventsWereLost() } }
        var told: Set<ObjectIdentifier> = []
        for owner in watches.values.flatMap(\.all) where told.insert(ObjectIdentifier(owner)).inserted {
            owner.observe(FolderEvent(change: .overflowed, watch: -1, name: [], isFolder: false))
        }
    }
}
