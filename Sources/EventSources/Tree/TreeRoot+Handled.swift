import Engine
import LinuxSystem
import WatchFile

/// The handled state of a tree, read and stored.
///
/// The tree begins as it was handled, and the first listing is a comparison with that, as any other. Files that have
/// gone meanwhile are told when every folder is watched, and written ones when that is known: so the source is armed
/// before it has told anything of them.
extension TreeRoot: RecordedPath {
    /// Nodes whose state is given to the store before others get their turn.
    private static let rowsPerTurn = 2048
    /// Turns after which it is waited until that is written.
    private static let turnsPerWrite = 8

    var scope: SnapshotScope {
        SnapshotScope(
            isRecursive: true, prune: prune.globs.map(\.description), followsLinks: owner.followsLinks,
            patterns: prune.scope?.patterns.map(\.description) ?? [],
            isDeepInPatterns: prune.scope?.isRecursive ?? false)
    }

    /// Whether what is told is recorded when it is handled. Files on another file system that stands there for a while
    /// are not.
    var isRecording: Bool { record.state == .kept && record.beginning == .over && isTreeRecorded }

    /// The state of a node, as far as it is told.
    func state(of id: FileTree.ID) -> PathState? {
        guard isRecording else { return nil }
        var state = tree.stamp(of: id).state
        // Nothing of a folder is compared but whether it is the same, and who may use it.
        if tree.isFolder(id) { state.isFresh = false }
        // Its content is still to be told: whatever is recorded before, a comparison finds a difference.
        if tree.has(.isDue, id) { state.size = -1 }
        return state
    }

    /// The state that is told with a change. A node that nobody has looked at yet has content that is still to be told.
    func toldState(of id: FileTree.ID) -> PathState? {
        state(of: id).map { $0.kind == .nothing ? .untold(tree.isFolder(id) ? .folder : .file) : $0 }
    }

    var identity: RootIdentity { RootIdentity(path, (try? Self.rootStatus(path)) ?? nil) }

    // MARK: The beginning

    func beginWithNothing() {
        hasBegun = true
        (record.isComparing, record.tellsAll) = (true, true)
        due.isPaused = isArming
    }

    func beginAgain() {
        lookAtRoot()
        pump()
        owner.rootChanged()
    }

    func load(_ known: SnapshotRoot, from store: any PathSnapshotStore) {
        let stored = store.takeStoredPaths(of: owner.id)
        store.read(path, of: owner.id, into: HandledTree(below: path, stored: stored)) {
            $0.add($1, $2)
        } then: { [weak self] handled in
            self?.loaded(handled, known)
        }
    }

    private func loaded(_ handled: HandledTree?, _ known: SnapshotRoot) {
        guard !isOver, record.beginning == .loading else { return }
        record.beginning = .over
        guard let handled else {
            // The handled state stays as it is in the store: the next start compares.
            (record.state, record.isComparing) = (.none, false)
            return beginAgain()
        }
        var started = owner.snapshots?.takeStartedPaths(of: owner.id, below: path) ?? [:]
        started.merge(handled.told) { $1 }
        record.started = started.filter { handled.tree.node(at: HandledPaths.relative($0.key, to: path)) == nil }
        owner.snapshots?.write(handled.trusted, path, of: owner.id)
        var tree = handled.tree
        if known.scope.isRecursive {
            formerPrunes = [PathPrune(known.scope)]
            for (path, isFolder) in handled.belowFiles.reversed() { departed.add(path, isFolder: isFolder) }
        } else {
            tree.makeShallow()
        }
        begin(with: tree)
        if known.scope.isRecursive, prune != PathPrune(known.scope) { dropPruned() }
        // What was known is that of the links, or of what they lead to.
        if known.scope.followsLinks != owner.followsLinks { links.wereFollowed = known.scope.followsLinks }
        beginAgain()
    }

    private func begin(with known: FileTree) {
        replaceTree(with: known)
        (aside, isTreeRecorded, hasBegun) = (nil, true, true)
        // It is the tree of what stands there now, whatever stood there while it was waited for.
        standing = nil
        due.isPaused = isArming
    }

    /// The changes that another source has told of the same path, by itself.
    func take(over other: Handover) {
        record = other.record
        record.isComparing = true
        var known = HandledTree(below: path, stored: [])
        for row in other.snapshot.rows(isFolder: other.isFolder) {
            var state = row.state
            state.isFresh = false
            known.add(row.path, state)
        }
        var tree = known.tree
        tree.makeShallow()
        begin(with: tree)
        noteLetIn()
    }

    func handOver() -> Handover? {
        guard hasBegun, !isArming, record.beginning == .over, !record.isComparing, !record.isStoring, isTreeRecorded,
            let root = tree.root
        else { return nil }
        var snapshot = FolderSnapshot()
        let ownName = Array(path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...])
        for id in tree.isFolder(root) ? tree.children(of: root) : [root] where !tree.has(.isNew, id) {
            var stamp = tree.stamp(of: id)
            if tree.has(.isDue, id) { stamp.size = -1 }
            (stamp.isOpen, stamp.isFresh) = (false, false)
            snapshot.entries[id == root ? ownName : tree.name(of: id)] = stamp
        }
        if isRecording { forgetDeeper(root) }
        return Handover(record: record, snapshot: snapshot, isFolder: tree.isFolder(root))
    }

    /// A folder by itself knows nothing of what stands in those in it.
    private func forgetDeeper(_ root: FileTree.ID) {
        owner.handled?.forgetDeeper(owner.id, path)
        let deeper = tree.below(root).filter { tree.parent(of: $0) != root }
        owner.snapshots?.write(deeper.map { (tree.path(of: $0), .nothing) }, path, of: owner.id)
    }

    // MARK: The stored state

    func storeAll() {
        guard let store = owner.snapshots else { return }
        owner.handled?.forget(owner.id, path)
        store.begin(path, of: owner.id)
        record.known = nil
        record.isStoring = true
        storing += 1
        storeRows(from: tree.numbers.lowerBound, storing, turn: 1)
    }

    /// By their numbers, which stay when folders are moved meanwhile. Changes told in between are recorded by
    /// themselves, and those not handled yet are left out: the next start tells them again.
    private func storeRows(from first: FileTree.ID, _ number: Int, turn: Int) {
        guard number == storing, !isOver, let store = owner.snapshots else { return }
        guard isRecording else { return endStoring(number) }
        var (rows, fresh) = ([(path: [UInt8], state: PathState)](), [PathMoment]())
        var next = first
        while next < tree.numbers.upperBound, rows.count < Self.rowsPerTurn {
            defer { next += 1 }
            guard tree.exists(next), !tree.has(.isDue, next), let state = state(of: next), state.kind != .nothing
            else { continue }
            let full = fullPath(next)
            if store.isBeingHandled(full, of: owner.id) { continue }
            rows.append((HandledPaths.relative(full, to: path), state))
            if state.isFresh { fresh.append(PathMoment(root: path, path: full, state: state)) }
        }
        store.write(rows, path, of: owner.id)
        owner.handled?.note(owner.id, fresh)
        guard next >= tree.numbers.upperBound else {
            let goOn = { [weak self] in self?.storeRows(from: next, number, turn: turn + 1) ?? () }
            return turn % Self.turnsPerWrite == 0 ? store.whenWritten(goOn) : hub.after(0, goOn)
        }
        noteIdentity()
        store.whenWritten { [weak self] in self?.endStoring(number) }
    }

    private func endStoring(_ number: Int) {
        guard number == storing else { return }
        record.isStoring = false
        owner.rootChanged()
    }

    /// A former file there, of which nothing was known, counts as handled.
    func noteSilent(_ id: FileTree.ID) {
        guard hasBegun, let state = state(of: id), state.kind != .nothing else { return }
        taken.append(PathMoment(root: path, path: fullPath(id), state: state))
    }

    func storeSilent() {
        guard !taken.isEmpty else { return }
        owner.snapshots?.write(
            taken.map { (HandledPaths.relative($0.path, to: path), $0.state) }, path, of: owner.id)
        owner.handled?.note(owner.id, taken.filter(\.state.isFresh))
        taken = []
    }

    /// An end that is told to nobody, though it is recorded perhaps.
    func noteUntoldEnd(of id: FileTree.ID) {
        guard isRecording, let store = owner.snapshots else { return }
        let full = fullPath(id)
        if store.isBeingHandled(full, of: owner.id) { return }
        owner.handled?.note(owner.id, [PathMoment(root: path, path: full, state: .nothing)])
    }

    /// Renames that are told to nobody: of the two names of each, the new one alone is recorded.
    func noteUntold(_ renamed: [(id: FileTree.ID, oldPath: [UInt8])]) {
        guard isRecording, let store = owner.snapshots else { return }
        let ends = renamed.map { PathMoment(root: path, path: $0.oldPath, state: .nothing) }
        let places = renamed.compactMap { id, _ in
            state(of: id).map { PathMoment(root: path, path: fullPath(id), state: $0) }
        }
        owner.handled?.note(
            owner.id, (ends + places).filter { !store.isBeingHandled($0.path, of: owner.id) })
    }

    /// Every folder is watched; everything that is known is told, or on its way.
    func compared() {
        tellStartedGone()
        (record.isComparing, record.tellsAll) = (false, false)
        noteRoot()
        owner.rootChanged()
    }

    /// A file that comes there meanwhile is new: no handled state had one.
    private func tellStartedGone() {
        for (full, kind) in record.takeStarted() where tree.node(at: HandledPaths.relative(full, to: path)) == nil {
            if prune.prunes(anyOf: full, below: path) {
                owner.handled?.note(owner.id, [PathMoment(root: path, path: full, state: .nothing)])
                continue
            }
            tell(
                PathFact(.deleted, path: full, root: path, isRecovered: true, isNew: true, isFolder: kind == .folder),
                isRecording ? .nothing : nil)
        }
    }

    /// Paths that have gone while nobody was there.
    func tellGone() {
        if departed.isEmpty { return }
        let all = departed.all
        departed = GonePaths()
        for (below, isFolder) in all {
            let full = joined(path, below)
            if prune.prunes(anyOf: full, below: path) || isFolder && isLeftOut(full) { continue }
            tell(
                PathFact(.deleted, path: full, root: path, isRecovered: true, isFolder: isFolder),
                isRecording ? .nothing : nil)
        }
    }

    /// Something comes to this place: what stood there before, and has gone, is told first.
    func tellGone(at folder: FileTree.ID, _ name: [UInt8]) {
        if !departed.isEmpty, departed.contains(fullPath(folder, name).below(path)) { tellGone() }
    }

    /// Known names of a folder, which are told when every folder is watched.
    func removeLater(_ node: FileTree.ID) {
        for id in ([node] + tree.below(node)).reversed() {
            if !tree.has(.isNew, id) { departed.add(tree.path(of: id), isFolder: tree.isFolder(id)) }
            giveUpWatch(id)
            forget(id)
            tree.remove(id)
        }
    }

    func noteRoot() {
        guard isRecording, !record.isStoring else { return }
        isRootNews = false
        if isStoreDue { storeAgain() } else { noteIdentity() }
    }

    /// The store has lost what it had.
    func storeAgain() {
        guard isRecording, hasBegun else { return }
        isStoreDue = isArming || record.isComparing
        if !isStoreDue { storeAll() }
    }
}

extension PathPrune {
    /// That of a snapshot.
    fileprivate init(_ scope: SnapshotScope) {
        let patterns = scope.patterns.compactMap { PathPattern(description: $0) }
        self.init(
            globs: scope.prune.compactMap { PathGlob(description: $0) },
            scope: patterns.isEmpty ? nil : PathScope(patterns, isRecursive: scope.isDeepInPatterns))
    }
}
