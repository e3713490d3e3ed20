import ControlInterface
import Engine
import LinuxSystem
import Schedule
import Store
import WatchFile

/// The part of `GetStatus` about the store, and about stored operations that cannot run.
extension Runtime {
    func store(_ role: Peer.Role) -> GetStatus.Store? {
        guard let persistence else { return nil }
        var store = GetStatus.Store(state: persistence.failure == nil ? .working : .failing)
        if role == .administrator { store.path = persistence.folder.printable }
        store.reason = persistence.failure.map { Self.reason($0.error, role) }
        (store.historyBytes, store.maxHistoryBytes) = (persistence.historyBytes, engine.settings.keepHistoryBytes)
        store.since = persistence.failure.map { wireTime($0.since) }
        return store
    }

    func storeProblems(_ role: Peer.Role) -> [GetStatus.Problem] {
        let damage = storeLoss.map { loss in
            GetStatus.Problem(
                object: "store", since: wireTime(loss.since), problem: loss.problem(names: role == .administrator),
                action: loss.action, help: loss.help + "; shown until watchd is restarted")
        }
        guard let persistence, let failure = persistence.failure else { return damage.map { [$0] } ?? [] }
        let waiting =
            persistence.hasOpened
            ? "durable queues wait" : "durable queues, every Tail=, and what changed before the start wait"
        return (damage.map { [$0] } ?? []) + [
            GetStatus.Problem(
                object: "store", since: wireTime(failure.since), problem: Self.reason(failure.error, role),
                action: "\(waiting), the rest goes on; \(unsavedOnce)watchd tries again by itself",
                help: failure.error.help)
        ]
    }

    /// Handlers whose `Once=` is fulfilled since, the first few.
    private var unsavedOnce: String {
        let names = persistence?.unsavedOnce ?? []
        guard !names.isEmpty else { return "" }
        let more = names.count > Self.namesShown ? " and \(names.count - Self.namesShown) more" : ""
        let shown = names.prefix(Self.namesShown).joined(separator: ", ")
        return "after a crash Once= of \(shown)\(more) is not known; "
    }

    private static let namesShown = 5

    /// Sources that hold events, and are in no watch file any more.
    var orphanHolds: [GetStatus.Problem] {
        engine.orphanHolds.map { hold in
            let count = hold.events.reduce(0) { $0 + $1.count }
            return GetStatus.Problem(
                object: hold.source.description, since: wireTime(hold.events.first?.time ?? engine.started.realtime),
                problem: "\(counted(count, "event")) kept, but it is in no watch file any more",
                action: "kept until it is there again")
        }
    }

    /// Handlers and queues that operations wait for, and that are in no watch file any more.
    var orphans: [GetStatus.Problem] {
        engine.missingSections.sorted { $0.key < $1.key }.map { name, waiting in
            let parts = name.split(separator: "/", maxSplits: 1)
            return GetStatus.Problem(
                object: name, since: wireTime(waiting.since),
                problem: "\(counted(waiting.count, "operation")) kept, but it is in no watch file any more",
                action: "kept until it is there again",
                help: "watchctl operations --\(parts[0]) \(parts[1]) · "
                    + (parts[0] == "queue" ? "watchctl cancel \(parts[1])" : "watchctl cancel ID"))
        }
    }
}

extension StoreError {
    /// In a few words, without a path.
    var kind: String {
        switch self {
        case .locked: "the store is in use by another watchd"
        case .newer: "the store is of a newer version"
        case .notAFile: "something else stands in the store's place"
        case .foreign: "the store belongs to another user"
        case .writable, .linked: "others may change the store"
        case .full: "no space left for the store"
        case .readOnly: "the store cannot be written: read-only"
        case .gone: "the store was removed"
        case .damaged: "the store is damaged"
        case .notAFolder, .unavailable: "the store cannot be used"
        case .silent: "the disk of the store does not answer"
        }
    }

    /// A remedy; `nil`: its description says it.
    fileprivate var help: String? {
        switch self {
        case .full: "make room on its file system"
        case .readOnly: "make its folder writable for watchd"
        case .gone: "watchd makes a new one, if it may make its folder"
        case .unavailable, .silent: "look at its folder and at the disk below it"
        case .locked, .newer, .notAFile, .notAFolder, .foreign, .writable, .linked, .damaged: nil
        }
    }
}
