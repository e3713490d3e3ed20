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
    /// Paths at which something stands as far as runs were told that an earlier watchd has left, and of which nothing is
    /// recorded: where nothing stands when all is compared, nobody else tells of the end.
    var started: [[UInt8]: PathState.Kind] = [:]

    /// In the order of their bytes.
    mutating func takeStarted() -> [(path: [UInt8], kind: PathState.Kind)] {
        defer { started = [:] }
        return started.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { (path: $0.key, kind: $0.value) }
    }
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
}
