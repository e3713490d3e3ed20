import Engine
import LinuxSystem
import WatchFile

/// How the snapshot of what was handled below a root stands.
struct HandledRecord {
    enum State {
        /// There is none.
        case none
        /// The store, which may have one, cannot be opened yet.
        case unknown
        case kept
    }

    enum Beginning {
        /// It was not asked for yet.
        case due
        /// The root is missing, or is on another file system: the comparison waits.
        case waiting
        case loading
        case over
    }

    var state = State.none
    var beginning = Beginning.due
    /// The comparison with what was handled before is not over.
    var isComparing = false
    /// The first snapshot is being stored.
    var isStoring = false
    /// What the store has of the root itself.
    var identity: RootIdentity?
    /// The store has been told what stands there instead.
    var hasSeenInstead = false
    /// The kernel has kept what happened before the start.
    var isReplayed = false
    /// It is looked now and then whether the root is back.
    var isLooking = false
    /// It is compared with nothing.
    var tellsAll = false
}

/// What was handled before, and what is to be stored: `Initial=`.
///
/// A source begins with what its last life has handled: the folder is compared with that, beside the core and in turns,
/// while the source is armed already. Where nothing is known, what stands there now counts as handled.
extension PathRoot {
    /// Microseconds after which it is looked whether the root is back.
    private static let pause = 5_000_000

    var isRecorded: Bool { record.state == .kept }

    /// Whether what is told is recorded when it is handled.
    var isRecording: Bool { record.state == .kept && record.beginning == .over }

    /// What stands at a name, as it was told.
    func state(_ name: [UInt8]) -> PathState? { isRecording ? snapshot.entries[name]?.state ?? .nothing : nil }

    /// What the source says of it: a sentence.
    var comparisonText: String? {
        switch record.beginning {
        case .waiting where exists:
            "\(path.printable) is on another file system than what was handled there; that is compared when it is back"
        case .due, .waiting,
            .over where !record.isComparing:
            nil
        case .over where record.tellsAll: "telling of all that stands at \(path.printable)"
        case .loading, .over: "comparing \(path.printable) with what was handled before"
        }
    }

    // MARK: The beginning

    /// False: what it is compared with is not there yet.
    func mayList() -> Bool {
        switch record.beginning {
        case .over: return true
        case .loading: return false
        case .due, .waiting: return begin()
        }
    }

    private func begin() -> Bool {
        record.beginning = .over
        guard let store = owner.snapshots else { return true }
        switch owner.initial {
        case .none: store.forget(path, of: owner.id)
        case .existing:
            store.forget(path, of: owner.id)
            beginWithNothing()
        case .changed, .once:
            guard store.missing == nil else {
                record.state = .unknown
                return true
            }
            record.state = .kept
            if let known = store.root(path, of: owner.id) { return compare(with: known, store) }
            if hasBegun {
                storeAll(snapshot.rows(isFolder: isFolder))
            } else if owner.initial == .once {
                store.begin(path, of: owner.id)
                noteIdentity()
                beginWithNothing()
            }
        }
        return true
    }

    /// All that stands there is told.
    private func beginWithNothing() {
        (snapshot, hasBegun, isSettled) = (FolderSnapshot(), true, true)
        (record.isComparing, record.tellsAll) = (true, true)
    }

    /// Not there is not deleted: below a root that is missing, or on another file system, nothing is compared, unless it
    /// was so at the start before.
    private func compare(with known: SnapshotRoot, _ store: any PathSnapshotStore) -> Bool {
        let now = identity
        record.identity = known.identity
        let isExpected =
            known.identity == .missing
            || now != .missing && (known.identity.isOnSameFileSystem(as: now) || isKnown(now, known, store))
        guard isExpected else {
            record.beginning = .waiting
            if now != .missing { lookLater() }
            return false
        }
        record.beginning = .loading
        (record.isComparing, record.isReplayed) = (true, isReplayed)
        let number = keepEvents()
        store.read(path, of: owner.id) { [weak self] entries in self?.read(entries, number) }
        return false
    }

    private func isKnown(_ now: RootIdentity, _ known: SnapshotRoot, _ store: any PathSnapshotStore) -> Bool {
        if let before = known.instead, before.isOnSameFileSystem(as: now), !record.hasSeenInstead { return true }
        if !record.hasSeenInstead {
            record.hasSeenInstead = true
            store.complete(path, of: owner.id, SnapshotRoot(known.identity, instead: now))
        }
        return false
    }

    private func lookLater() {
        guard !record.isLooking else { return }
        record.isLooking = true
        hub.after(Self.pause) { [weak self] in
            self?.record.isLooking = false
            guard let self, !isOver, record.beginning == .waiting, let identity = record.identity else { return }
            if identity.isOnSameFileSystem(as: self.identity) { rearm() } else { lookLater() }
        }
    }

    private func read(_ entries: [[UInt8]: PathState]?, _ number: Int) {
        guard let events = takeKeptEvents(number) else { return }
        record.beginning = .over
        defer { owner.rootChanged() }
        guard let entries else {
            // What was handled stays as it is in the store: the next start compares.
            (record.state, record.isComparing) = (.none, false)
            carry(events)
            return list()
        }
        let stored = owner.snapshots?.takeStoredPaths(of: owner.id) ?? []
        snapshot = FolderSnapshot()
        let ownName = Array(path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...])
        snapshot.entries.reserveCapacity(entries.count)
        for (below, state) in entries {
            let name = below.isEmpty ? ownName : below
            snapshot.entries[name] = FolderSnapshot.Stamp(state)
            // Whatever has happened to it since, its handler is still to run.
            if state.isFresh, stored.contains(fullPath(name)) { snapshot.entries[name]?.isFresh = false }
        }
        (hasBegun, isSettled) = (true, true)
        guard record.isReplayed else {
            carry(events)
            return list()
        }
        // The kernel has kept what happened meanwhile, which says more than a comparison.
        for event in events { take(event) }
        hub.whenCaughtUp { [weak self] in self?.list() }
    }

    // MARK: What is stored

    /// The root as it stands now.
    private var identity: RootIdentity { RootIdentity(path, (try? Linux.lstat(path)).map { Self.followed($0, path) }) }

    /// What stands there counts as handled from now on.
    func storeAll(_ rows: [(path: [UInt8], state: PathState)]) {
        guard let store = owner.snapshots else { return }
        owner.handled?.forget(owner.id, path)
        store.begin(path, of: owner.id)
        store.write(rows, path, of: owner.id)
        record.identity = nil
        noteIdentity()
        let fresh = rows.filter { $0.state.isFresh }.map {
            PathMoment(root: path, path: isFolder ? fullPath($0.path) : path, state: $0.state)
        }
        owner.handled?.note(owner.id, fresh)
        record.isStoring = true
        store.whenWritten { [weak self] in
            self?.record.isStoring = false
            self?.owner.rootChanged()
        }
    }

    /// Everything that is known is told.
    func compared() {
        (record.isComparing, record.tellsAll) = (false, false)
        if isRecording { noteIdentity() }
    }

    private func noteIdentity() {
        // Where it may hang, it is not looked at again.
        let now = mayHang ? look?.identity ?? identity : identity
        guard record.identity != now || record.hasSeenInstead else { return }
        (record.identity, record.hasSeenInstead) = (now, false)
        owner.snapshots?.complete(path, of: owner.id, SnapshotRoot(now))
    }

    /// The store could not be opened before: what it has is known now, and compared with.
    func storeCame() {
        guard record.state == .unknown else { return }
        record = HandledRecord()
        list()
    }

    /// The store has lost what it had.
    func storeAgain() {
        guard isRecording, hasBegun, !isListing else { return }
        storeAll(snapshot.rows(isFolder: isFolder))
    }

    /// After a reload: what it newly lets in is no change.
    func initialChanged() {
        guard let store = owner.snapshots, record.beginning != .due else { return }
        switch (owner.initial, record.state) {
        case (.none, .kept), (.none, .unknown), (.existing, .kept), (.existing, .unknown):
            store.forget(path, of: owner.id)
            owner.handled?.forget(owner.id, path)
            record.state = .none
        case (.changed, .none), (.once, .none):
            guard record.beginning == .over, hasBegun else { return }
            record.state = .kept
            storeAgain()
        default: break
        }
    }
}

extension FolderSnapshot {
    /// As the store has them.
    func rows(isFolder: Bool) -> [(path: [UInt8], state: PathState)] {
        entries.compactMap { name, stamp in
            let state = stamp.state
            return state.kind == .nothing ? nil : (isFolder ? name : [], state)
        }
    }
}
