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
    /// The stored state of the root itself.
    var known: SnapshotRoot?
    /// The store has been told what stands there instead.
    var hasSeenInstead = false
    /// The kernel has kept what happened before the start.
    var isReplayed = false
    /// It is looked now and then whether the root is back.
    var isLooking = false
    /// It is compared with nothing.
    var tellsAll = false
}

/// The changes directly in a root that a source has told, for a source that goes on there in another way.
struct Handover {
    var record: HandledRecord
    /// Without what nobody was told of.
    var snapshot: FolderSnapshot
    var isFolder: Bool
}

/// A watched path whose source records what was handled: `Initial=`.
///
/// A source begins with what its last life has handled: what stands there is compared with that, beside the core and in
/// turns, while the source is armed already. Where nothing is known, what stands there now counts as handled. This is
/// how one begins, whatever it watches; confined to its context.
protocol RecordedPath: WatchedPath {
    var owner: PathSource { get }
    var hub: InotifyHub { get }
    var record: HandledRecord { get set }
    /// It is known what stands there, or what is to be compared with that.
    var hasBegun: Bool { get }
    var isOver: Bool { get }
    /// The root as it stands now.
    var identity: RootIdentity { get }
    /// The root as it stood when it was compared.
    var comparedIdentity: RootIdentity { get }
    /// The scope of its snapshot.
    var scope: SnapshotScope { get }

    /// All that stands there is told.
    func beginWithNothing()
    /// Reads what is known, and compares with it.
    func load(_ known: SnapshotRoot, from store: any PathSnapshotStore)
    /// The known state counts as handled from now on.
    func storeAll()
    /// Looks again, as the right root may stand there now.
    func beginAgain()
}

extension RecordedPath {
    /// Microseconds after which it is looked whether the root is back.
    private var pause: Int { 5_000_000 }

    var comparedIdentity: RootIdentity { identity }
    var isRecorded: Bool { record.state == .kept }

    /// The source's sentence about it.
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

    /// Finds out what is to be compared, where that is not known yet.
    func begin() {
        guard record.beginning == .due || record.beginning == .waiting else { return }
        record.beginning = .over
        guard let store = owner.snapshots else { return }
        switch owner.initial {
        case .none: store.forget(path, of: owner.id)
        case .existing:
            store.forget(path, of: owner.id)
            beginWithNothing()
        case .changed, .once:
            guard store.missing == nil else {
                record.state = .unknown
                return
            }
            record.state = .kept
            if let known = store.root(path, of: owner.id) { return compare(with: known, store) }
            if hasBegun {
                storeAll()
            } else if owner.initial == .once {
                store.begin(path, of: owner.id)
                noteIdentity()
                beginWithNothing()
            }
        }
    }

    /// Not there is not deleted: below a root that is missing, or on another file system, nothing is compared, unless it
    /// was so at the start before.
    private func compare(with known: SnapshotRoot, _ store: any PathSnapshotStore) {
        let now = identity
        record.known = known
        let isExpected =
            known.identity == .missing
            || now != .missing && (known.identity.isOnSameFileSystem(as: now) || isKnown(now, known, store))
        guard isExpected else {
            record.beginning = .waiting
            if now != .missing { lookLater() }
            return
        }
        record.beginning = .loading
        record.isComparing = true
        load(known, from: store)
    }

    private func isKnown(_ now: RootIdentity, _ known: SnapshotRoot, _ store: any PathSnapshotStore) -> Bool {
        if let before = known.instead, before.isOnSameFileSystem(as: now), !record.hasSeenInstead { return true }
        if !record.hasSeenInstead {
            record.hasSeenInstead = true
            var seen = known
            seen.instead = now
            store.complete(path, of: owner.id, seen)
        }
        return false
    }

    private func lookLater() {
        guard !record.isLooking else { return }
        record.isLooking = true
        hub.after(pause) { [weak self] in
            self?.record.isLooking = false
            guard let self, !isOver, record.beginning == .waiting, let known = record.known else { return }
            if known.identity.isOnSameFileSystem(as: identity) { beginAgain() } else { lookLater() }
        }
    }

    // MARK: The stored state

    func noteIdentity() {
        let now = SnapshotRoot(comparedIdentity, scope: scope)
        guard record.known != now || record.hasSeenInstead else { return }
        (record.known, record.hasSeenInstead) = (now, false)
        owner.snapshots?.complete(path, of: owner.id, now)
    }

    /// The store could not be opened before: what it has is known now, and compared with.
    func storeCame() {
        guard record.state == .unknown else { return }
        record = HandledRecord()
        beginAgain()
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
