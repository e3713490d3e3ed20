package import Engine
import LinuxSystem
package import WatchFile

/// The changes handled since they were last written: written in batches, off the way of an event.
///
/// A stamp that was taken within 20 ms of a change may hide another one (Semantics.md, "Comparison"): such a path is looked at again
/// when it is written. If it still stands as it was told, and nothing is told of it that is not handled, its stamp is
/// trusted from then on; else the next comparison counts it as changed. Confined to the core.
package final class HandledPaths {
    private struct Root: Hashable {
        var id: SourceID
        var path: [UInt8]
    }

    private typealias Entries = [[UInt8]: PathState]

    /// Microseconds.
    private static let pause = 250_000
    private static let pauseWhileFailing = 1_000_000
    /// Microseconds that a stop waits for a file system.
    private static let patience = 2_000_000

    private let store: any PathSnapshotStore
    private let core: Context
    private let slow: Lanes
    private let hub: InotifyHub
    private var waiting: [Root: Entries] = [:]
    /// Paths that some handlers alone were told of (`PathState.told`). They count where nothing is known, and so come
    /// behind the others.
    private var told: [Root: Entries] = [:]
    /// Those that are being looked at.
    private var looking: [Root: Entries] = [:]
    private var isPlanned = false
    /// The sources were closed at this microsecond of the wall clock; `missesNothing`: all that had happened was told.
    private var closing: (time: Int64, missesNothing: Bool)?
    private var isOver = false
    private var whenClosed: (() -> Void)?
    private var bound: QueueBound<HandledPaths> { QueueBound(self, to: core) }

    package init(_ store: any PathSnapshotStore, core: Context, slow: Lanes, hub: InotifyHub) {
        self.store = store
        self.core = core
        self.slow = slow
        self.hub = hub
    }

    /// Whether something is not written yet.
    package var isBehind: Bool { !waiting.isEmpty || !looking.isEmpty || !told.isEmpty }

    /// The later of two changes of a path counts.
    package func note(_ id: SourceID, _ moments: [PathMoment]) {
        guard !isOver else { return }
        for moment in moments {
            let (root, path) = (Root(id: id, path: moment.root), Self.relative(moment.path, to: moment.root))
            if moment.state.isTold {
                told[root, default: [:]][path] = moment.state
            } else {
                waiting[root, default: [:]][path] = moment.state
                told[root]?[path] = nil
            }
        }
        plan()
    }

    /// The snapshot of a root begins anew.
    func forget(_ id: SourceID, _ root: [UInt8]) {
        waiting[Root(id: id, path: root)] = nil
        looking[Root(id: id, path: root)] = nil
        told[Root(id: id, path: root)] = nil
    }

    /// The snapshot of a root holds nothing any more below the folders in it.
    func forgetDeeper(_ id: SourceID, _ root: [UInt8]) {
        let root = Root(id: id, path: root)
        waiting[root] = waiting[root]?.filter { !$0.key.contains(UInt8(ascii: "/")) }
        looking[root] = looking[root]?.filter { !$0.key.contains(UInt8(ascii: "/")) }
        told[root] = told[root]?.filter { !$0.key.contains(UInt8(ascii: "/")) }
    }

    /// As the store has it: empty for the root itself.
    package static func relative(_ path: [UInt8], to root: [UInt8]) -> [UInt8] {
        Array(path.dropFirst(root.count + (root.last == UInt8(ascii: "/") ? 0 : 1)))
    }

    private static func full(_ path: [UInt8], below root: [UInt8]) -> [UInt8] {
        if path.isEmpty { return root }
        return root.last == UInt8(ascii: "/") ? root + path : root + [UInt8(ascii: "/")] + path
    }

    private func plan() {
        guard !isPlanned, closing == nil, !waiting.isEmpty || !told.isEmpty else { return }
        isPlanned = true
        core.after(store.isFailing ? Self.pauseWhileFailing : Self.pause) { [bound] in
            bound.value.isPlanned = false
            bound.value.look()
        }
    }

    // MARK: Looking again

    private func look() {
        // Meanwhile the newest of each path is kept.
        if isOver { return }
        if store.isFailing { return closing == nil ? plan() : end() }
        let now = Linux.now(.realtime)
        for (root, entries) in waiting where looking[root] == nil {
            // One that is too young is looked at later.
            let (due, young) = closing == nil ? Self.divide(entries, at: now) : (entries, [:])
            waiting[root] = young.isEmpty ? nil : young
            guard !due.isEmpty else { continue }
            looking[root] = due
            look(at: due, root)
        }
        for root in told.keys where looking[root] == nil && waiting[root] == nil { writeTold(root) }
        plan()
        tellClosed()
    }

    private static func divide(_ entries: Entries, at now: Int64) -> (due: Entries, young: Entries) {
        // Where clocks are in the future it would be young for long.
        func isYoung(_ state: PathState) -> Bool { state.isFresh(at: now) && state.changed <= now * 1000 }
        if !entries.values.contains(where: isYoung) { return (entries, [:]) }
        return (entries.filter { !isYoung($0.value) }, entries.filter { isYoung($0.value) })
    }

    private func look(at entries: Entries, _ root: Root) {
        let paths = entries.filter { $0.value.isFresh }.map {
            ($0.key, Self.full($0.key, below: root.path), $0.value.inode)
        }
        slow.submit(root.id.description, inOrder: true) { [core, bound] in
            let found = paths.map { key, path, inode in
                // The target of a link that is followed was told.
                let status = (try? Linux.statusOfAny(path)).map { $0.inode == inode ? $0 : PathRoot.followed($0, path) }
                return (key, status.map { FolderSnapshot.Stamp($0).state })
            }
            core.async { bound.value.looked(Dictionary(found) { $1 }, root) }
        }
    }

    private func looked(_ found: [[UInt8]: PathState?], _ root: Root) {
        guard closing == nil else { return take(found, root) }
        // A change that came before the look is told by then.
        hub.whenCaughtUp { [weak self] in self?.take(found, root) }
    }

    private func take(_ found: [[UInt8]: PathState?], _ root: Root) {
        guard let entries = looking.removeValue(forKey: root) else { return tellClosed() }
        let newer = waiting[root] ?? [:]
        var rows: [(path: [UInt8], state: PathState)] = []
        for (path, state) in entries where newer[path] == nil {
            let now = state.isFresh ? (found[path] ?? nil).flatMap { trusted(state, $0, path, root) } : nil
            rows.append((path, now ?? state))
        }
        store.write(rows, root.path, of: root.id)
        writeTold(root)
        if closing != nil { look() } else { plan() }
    }

    private func writeTold(_ root: Root) {
        guard let entries = told.removeValue(forKey: root) else { return }
        let early = entries.filter { waiting[root]?[$0.key] != nil }
        if !early.isEmpty { told[root] = early }
        let rows = entries.filter { early[$0.key] == nil }.map { (path: $0.key, state: $0.value) }
        store.write(rows, root.path, of: root.id)
    }

    /// The state of the path now, where that is known to be the one that was told: a later writer would have been told
    /// of. A change of mode or attributes, as many make behind the close, is none of the content.
    private func trusted(_ told: PathState, _ now: PathState, _ path: [UInt8], _ root: Root) -> PathState? {
        let (old, new) = (FolderSnapshot.Stamp(told), FolderSnapshot.Stamp(now))
        let isSame = old.isSameContent(as: new) || closing == nil && old.isSetBack(in: new)
        guard isSame, !now.isFresh else { return nil }
        if let closing, !closing.missesNothing || told.isFresh(at: closing.time) { return nil }
        return store.isBeingHandled(Self.full(path, below: root.path), of: root.id) ? nil : now
    }

    // MARK: The end

    /// The sources are about to be closed: what happens from here on, nobody tells.
    package func sourcesClose() {
        guard closing == nil else { return }
        closing = (Linux.now(.realtime), hub.isCaughtUp)
        // Changes that wait for the rest to be told are looked at again.
        for (root, entries) in looking { waiting[root, default: [:]].merge(entries) { newer, _ in newer } }
        looking = [:]
    }

    /// Gives the store all that was handled and calls back: at the latest in a moment, as a file system may hang.
    package func close(then done: @escaping () -> Void) {
        sourcesClose()
        whenClosed = done
        core.after(Self.patience) { [bound] in bound.value.end() }
        look()
    }

    private func tellClosed() { if closing != nil, !isBehind { end() } }

    private func end() {
        guard let done = whenClosed else { return }
        (isOver, whenClosed) = (true, nil)
        done()
    }
}

extension PathState {
    /// Whether another change may leave the times it has.
    ///
    /// - Parameter now: microseconds of the wall clock.
    func isFresh(at now: Int64) -> Bool {
        isFresh && FolderSnapshot.Stamp.isFresh(changed, at: now)
    }
}
