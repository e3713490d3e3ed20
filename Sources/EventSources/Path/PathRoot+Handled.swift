import Engine
import LinuxSystem
import WatchFile

/// The handled state, read and stored, of a folder by itself or a file.
extension PathRoot: RecordedPath {
    private static let slash = UInt8(ascii: "/")

    var scope: SnapshotScope { SnapshotScope() }

    /// Whether what is told is recorded when it is handled.
    var isRecording: Bool { record.state == .kept && record.beginning == .over && mounts.isRecorded }

    /// The state of a name, as it was told; of the folder itself nothing is recorded.
    func state(_ name: [UInt8]) -> PathState? {
        isRecording && !name.isEmpty ? snapshot.entries[name]?.state ?? .nothing : nil
    }

    // MARK: The beginning

    /// False: what it is compared with is not there yet.
    func mayList() -> Bool {
        begin()
        return record.beginning == .over
    }

    func beginWithNothing() {
        (snapshot, hasBegun, isSettled) = (FolderSnapshot(), true, true)
        (record.isComparing, record.tellsAll) = (true, true)
    }

    func beginAgain() { rearm() }

    /// The stored state of the path: entries by their name, and what the store had of a tree.
    private struct Known: Sendable {
        var entries = StampTable()
        /// Paths that some handlers alone were told of.
        var told: [[UInt8]: PathState.Kind] = [:]
        /// Below the folders in it.
        var deeper: [[UInt8]] = []
    }

    func load(_ known: SnapshotRoot, from store: any PathSnapshotStore) {
        record.isReplayed = isReplayed
        let number = keepEvents()
        store.read(path, of: owner.id, into: Known()) { known, path, state in
            if path.contains(Self.slash) {
                known.deeper.append(path)
            } else if state.isTold {
                known.told[path] = state.kind
            } else {
                known.entries[path] = FolderSnapshot.Stamp(state)
            }
        } then: { [weak self] known in
            self?.read(known, number)
        }
    }

    private func read(_ known: Known?, _ number: Int) {
        guard let events = takeKeptEvents(number) else { return }
        record.beginning = .over
        defer { owner.rootChanged() }
        guard var known else {
            // The handled state stays as it is in the store: the next start compares.
            (record.state, record.isComparing) = (.none, false)
            carry(events)
            return list()
        }
        // Of a root that is a folder, the tree knew itself.
        if known.entries[[]]?.isFolder == true { known.entries[[]] = nil }
        owner.snapshots?.write(known.deeper.map { ($0, .nothing) }, path, of: owner.id)
        let wasFile = known.entries[[]] != nil
        // Where nothing stands now, it is still what it was.
        if !exists, !known.entries.isEmpty { isFolder = !wasFile }
        take(known.entries, told: known.told)
        (hasBegun, isSettled) = (true, true)
        if exists { tellReplaced(wasFile: wasFile) }
        guard record.isReplayed else {
            carry(events)
            return list()
        }
        // The kernel has kept what happened meanwhile, which says more than a comparison.
        for event in events { take(event) }
        hub.whenCaughtUp { [weak self] in self?.list() }
    }

    /// The known state is that of a file, and a folder stands there now; or the reverse.
    private func tellReplaced(wasFile: Bool) {
        guard isFolder == wasFile else { return }
        isFolder.toggle()
        tellAllGone()
        isFolder.toggle()
    }

    private func take(_ entries: StampTable, told: [[UInt8]: PathState.Kind]) {
        snapshot = FolderSnapshot()
        snapshot.entries = entries
        // That of a path which is no folder.
        let ownName = name(of: path)
        let own = snapshot.entries[[]]
        if let own {
            snapshot.entries[[]] = nil
            snapshot.entries[ownName] = own
        }
        var started = owner.snapshots?.takeStartedPaths(of: owner.id, below: path) ?? [:]
        for (name, kind) in told { started[name.isEmpty ? path : fullPath(name)] = kind }
        record.started = started.filter { snapshot.entries[name(of: $0.key)] == nil }
        let stored = owner.snapshots?.takeStoredPaths(of: owner.id) ?? []
        if stored.isEmpty { return }
        // However it has changed since, its handler is still to run. The next start knows nothing of that.
        var trusted: [(path: [UInt8], state: PathState)] = []
        for (name, var stamp) in snapshot.entries where stamp.isFresh && stored.contains(fullPath(name)) {
            stamp.isFresh = false
            snapshot.entries[name] = stamp
            trusted.append((own != nil && name == ownName ? [] : name, stamp.state))
        }
        owner.snapshots?.write(trusted, path, of: owner.id)
    }

    /// Of a path directly below, or of the root where it is a file.
    private func name(of full: [UInt8]) -> [UInt8] {
        full == path
            ? Array(path[((path.lastIndex(of: Self.slash) ?? -1) + 1)...]) : HandledPaths.relative(full, to: path)
    }

    // MARK: Another way to watch

    func handOver() -> Handover? {
        guard hasBegun, record.beginning == .over, !record.isComparing, !record.isStoring, mounts.isRecorded else {
            return nil
        }
        var told = FolderSnapshot()
        told.entries = snapshot.entries.filter { !$1.isOpen }
        return Handover(record: record, snapshot: told, isFolder: isFolder)
    }

    func take(over other: Handover) {
        (record, snapshot, isFolder) = (other.record, other.snapshot, other.isFolder)
        (hasBegun, isSettled) = (true, true)
        record.isComparing = true
    }

    // MARK: The stored state

    var identity: RootIdentity { RootIdentity(path, (try? Linux.lstat(path)).map { Self.followed($0, path) }) }

    /// Where it may hang, it is not looked at again.
    var comparedIdentity: RootIdentity { mayHang ? look?.identity ?? identity : identity }

    func storeAll() { storeAll(snapshot.rows(isFolder: isFolder)) }

    /// The present state counts as handled from now on.
    func storeAll(_ rows: [(path: [UInt8], state: PathState)]) {
        guard let store = owner.snapshots else { return }
        owner.handled?.forget(owner.id, path)
        store.begin(path, of: owner.id)
        store.write(rows, path, of: owner.id)
        record.known = nil
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
        // A file that comes there meanwhile is new: no handled state had one.
        for (full, kind) in record.takeStarted() where snapshot.entries[name(of: full)] == nil {
            owner.tell(
                PathFact(
                    .deleted, path: full, root: path, isRecovered: true, isNew: true, isFolder: kind == .folder),
                state: isRecording ? .nothing : nil)
        }
        (record.isComparing, record.tellsAll) = (false, false)
        if isRecording { noteIdentity() }
    }

    /// The store has lost what it had.
    func storeAgain() {
        guard isRecording, hasBegun, !isListing else { return }
        storeAll()
    }
}

extension FolderSnapshot {
    /// As the store has them.
    /// In the order of their bytes, which the store takes in several times faster than any other.
    func rows(isFolder: Bool) -> [(path: [UInt8], state: PathState)] {
        let rows = entries.compactMap { name, stamp -> (path: [UInt8], state: PathState)? in
            let state = stamp.state
            return state.kind == .nothing ? nil : (isFolder ? name : [], state)
        }
        return rows.sorted { $0.path.lexicographicallyPrecedes($1.path) }
    }
}
