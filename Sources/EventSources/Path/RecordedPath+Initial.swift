import Engine
import LinuxSystem
import WatchFile

/// `Initial=`: what is told when a source begins, and compared with what its last life has handled.
extension RecordedPath {
    /// Microseconds after which it is looked whether the root is back.
    private var pause: Int { 5_000_000 }

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
