import Engine
import EventSources
import Synchronization
import WatchFile

/// Snapshots that outlive a rim, as the store does. Of one source.
final class MemorySnapshots: PathSnapshotStore, Sendable {
    struct State: Sendable {
        var roots: [[UInt8]: SnapshotRoot] = [:]
        var entries: [[UInt8]: [[UInt8]: PathState]] = [:]
        /// Told and not handled.
        var open: Set<[UInt8]> = []
        /// Whatever is told is noted there, as the engine does.
        var notesOpen = false
        var stored: Set<[UInt8]> = []
        var started: [[UInt8]: PathState.Kind] = [:]
        var missing: String?
        /// Calls of `write`.
        var writes = 0
    }

    let state = Mutex(State())

    var missing: String? { state.withLock { $0.missing } }
    var isFailing: Bool { false }

    func root(_ root: [UInt8], of id: SourceID) -> SnapshotRoot? { state.withLock { $0.roots[root] } }

    func read<Known: Sendable>(
        _ root: [UInt8], of id: SourceID, into known: Known,
        _ add: @escaping @Sendable (inout Known, [UInt8], PathState) -> Void, then: @escaping (Known?) -> Void
    ) {
        guard let entries = state.withLock({ $0.entries[root] }) else { return then(nil) }
        var known = known
        for (path, state) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            add(&known, path, state)
        }
        then(known)
    }

    func begin(_ root: [UInt8], of id: SourceID) {
        state.withLock { state in (state.roots[root], state.entries[root]) = (nil, [:]) }
    }

    func write(_ entries: [(path: [UInt8], state: PathState)], _ root: [UInt8], of id: SourceID) {
        state.withLock { state in
            state.writes += 1
            for entry in entries {
                state.entries[root, default: [:]][entry.path] = entry.state.kind == .nothing ? nil : entry.state
            }
        }
    }

    func complete(_ root: [UInt8], of id: SourceID, _ known: SnapshotRoot) {
        state.withLock { $0.roots[root] = known }
    }

    func forget(_ root: [UInt8], of id: SourceID) {
        state.withLock { state in (state.roots[root], state.entries[root]) = (nil, nil) }
    }

    /// From now on a change that was told is open until all of them are handled, or a new life begins.
    func noteOpen() { state.withLock { $0.notesOpen = true } }

    func nothingIsOpen() { state.withLock { state in if state.notesOpen { state.open = [] } } }

    /// A change was told.
    func noteTold(_ fact: PathFact) {
        state.withLock { state in
            if state.notesOpen { state.open.formUnion([fact.path] + (fact.oldPath.map { [$0] } ?? [])) }
        }
    }

    func whenWritten(_ work: @escaping () -> Void) { work() }

    func isBeingHandled(_ path: [UInt8], of id: SourceID) -> Bool { state.withLock { $0.open.contains(path) } }

    func takeStoredPaths(of id: SourceID) -> Set<[UInt8]> { state.withLock { $0.stored } }

    func takeStartedPaths(of id: SourceID, below root: [UInt8]) -> [[UInt8]: PathState.Kind] {
        state.withLock { state in
            defer { state.started = [:] }
            return state.started
        }
    }

    /// Names with `?` behind those whose stamp is not trusted.
    func names(below root: [UInt8]) -> [String] {
        state.withLock { state in
            (state.entries[root] ?? [:]).map { path, state in
                String(decoding: path, as: UTF8.self) + (state.isFresh ? "?" : "")
            }.sorted()
        }
    }
}
