import Engine
import EventSources
import Handlers
import LinuxSystem
import Store
import WatchFile

/// Snapshots of what path sources have handled, in the store. Confined to the core.
final class SnapshotStore: PathSnapshotStore {
    private struct Key: Hashable {
        var source: SourceID
        var root: [UInt8]
    }

    /// Paths of one write: a transaction has several, and no more than the writer takes at once.
    private static let pathsPerWrite = 5000
    /// A source that is in no watch file is remembered for so many starts.
    private static let startsWithout = 5
    /// Roots remembered for which there is no source; the rest is forgotten at once.
    private static let rootsWithout = 100

    unowned private let runtime: Runtime
    private var roots: [Key: SnapshotRoot] = [:]
    /// Of operations that an earlier watchd has left.
    private var storedPaths: [SourceID: Set<[UInt8]>] = [:]
    private var startedPaths: [Key: [[UInt8]: PathState.Kind]] = [:]

    init(_ runtime: Runtime) { self.runtime = runtime }

    // MARK: The store

    /// The snapshots in the store that was opened.
    ///
    /// - Parameters:
    ///   - state: the same contents, as the engine takes them up.
    ///   - isAnew: it is another one: what it has of this watchd is nothing.
    func take(_ contents: StoreContents, _ state: StoredState? = nil, isAnew: Bool = false) {
        roots = [:]
        startedPaths = [:]
        for (id, paths) in state?.startedPaths ?? [:] {
            for (path, started) in paths {
                startedPaths[Key(source: id, root: started.root), default: [:]][path] = started.kind
            }
        }
        for (source, root, about) in contents.snapshots {
            // One that cannot be read counts as none.
            guard !isAnew, let id = SourceID(description: source), let known = StateCoding.snapshotRoot(about) else {
                continue
            }
            roots[Key(source: id, root: root)] = known
        }
    }

    /// Forgets what no source has asked for at some starts, which this is one of. To be called when the engine has
    /// taken up what the store has.
    func begin(_ configuration: Configuration) {
        storedPaths = runtime.engine.storedPaths
        if roots.isEmpty { return }
        var wanted: Set<Key> = []
        for source in configuration.sources {
            guard case .path(let trigger) = source.trigger else { continue }
            for path in trigger.paths { wanted.insert(Key(source: source.id, root: path)) }
        }
        let unwanted = roots.filter { !wanted.contains($0.key) }.sorted {
            $0.value.startsWithout < $1.value.startsWithout
        }
        for (index, (key, known)) in unwanted.enumerated() {
            var known = known
            known.startsWithout += 1
            if known.startsWithout >= Self.startsWithout || index >= Self.rootsWithout {
                forget(key.root, of: key.source)
            } else {
                complete(key.root, of: key.source, known)
            }
        }
    }

    private func write(_ change: SnapshotWrite, _ root: [UInt8], _ id: SourceID) {
        runtime.persistence?.write([.snapshot(id, root: root, change)])
    }

    // MARK: PathSnapshotStore

    var missing: String? { runtime.positionsMissing }

    var isFailing: Bool { runtime.persistence?.failure != nil }

    func root(_ root: [UInt8], of id: SourceID) -> SnapshotRoot? {
        guard var known = roots[Key(source: id, root: root)] else { return nil }
        if known.startsWithout > 0 {
            known.startsWithout = 0
            complete(root, of: id, known)
        }
        return known
    }

    func read<Known: Sendable>(
        _ root: [UInt8], of id: SourceID, into known: Known,
        _ add: @escaping @Sendable (inout Known, [UInt8], PathState) -> Void, then: @escaping (Known?) -> Void
    ) {
        guard let persistence = runtime.persistence else { return then(nil) }
        let source = id.description
        let logger = runtime.logger
        persistence.whenWritten(orFailing: true) {
            persistence.read { reader throws(StoreError) in
                var known = known
                try reader.snapshot(source: source, root: root) { path, bytes in
                    // A state that cannot be read counts as changed.
                    if let state = StateCoding.pathState(bytes) { add(&known, path, state) }
                }
                return known
            } then: { result in
                if case .failure(let error) = result {
                    let what = "what was handled below \(root.printable) cannot be read and is not compared"
                    logger.log(.err, "\(source): \(what): \(error)", [("WATCHD_SOURCE", source)])
                }
                then(try? result.get())
            }
        }
    }

    func begin(_ root: [UInt8], of id: SourceID) {
        roots[Key(source: id, root: root)] = nil
        write(.begin, root, id)
    }

    func write(_ entries: [(path: [UInt8], state: PathState)], _ root: [UInt8], of id: SourceID) {
        for start in stride(from: 0, to: entries.count, by: Self.pathsPerWrite) {
            let part = entries[start..<min(start + Self.pathsPerWrite, entries.count)]
            write(.entries(part.map { ($0.path, $0.state) }), root, id)
        }
    }

    func complete(_ root: [UInt8], of id: SourceID, _ known: SnapshotRoot) {
        roots[Key(source: id, root: root)] = known
        write(.complete(known), root, id)
    }

    func forget(_ root: [UInt8], of id: SourceID) {
        guard roots.removeValue(forKey: Key(source: id, root: root)) != nil else { return }
        write(.forget, root, id)
    }

    func whenWritten(_ work: @escaping () -> Void) {
        guard let persistence = runtime.persistence else { return work() }
        persistence.whenWritten(orFailing: true, work)
    }

    /// Asked of each path of a snapshot: the engine as a whole is not copied for it.
    func isBeingHandled(_ path: [UInt8], of id: SourceID) -> Bool {
        runtime.askEngine { $0.handling.newest(path, of: id) != nil }
    }

    func takeStoredPaths(of id: SourceID) -> Set<[UInt8]> { storedPaths[id] ?? [] }

    func takeStartedPaths(of id: SourceID, below root: [UInt8]) -> [[UInt8]: PathState.Kind] {
        startedPaths.removeValue(forKey: Key(source: id, root: root)) ?? [:]
    }
}

extension Persistence {
    /// The changes handled by operations that the store keeps go with them, in one transaction.
    static func writes(_ moments: [PathMoment], of id: SourceID) -> [StoreWrite] {
        moments.map { moment in
            let path = HandledPaths.relative(moment.path, to: moment.root)
            return .snapshot(id, root: moment.root, .entries([(path, moment.state)]))
        }
    }
}
