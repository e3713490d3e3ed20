import Engine
import LinuxSystem
import Store

/// A store that was there is there no more: what is in its place, and what could be saved.
struct StoreLoss {
    enum Kind {
        /// It was damaged, and this is its name now.
        case setAside([UInt8])
        /// It was removed from this folder while no watchd ran.
        case removed([UInt8])
        /// In this folder it stands as it stood so many commits ago.
        case older([UInt8], commits: Int)
        /// Operations that cannot be read stay where they are.
        case unreadable([UInt64])
    }

    let kind: Kind
    /// The part of it that is taken over.
    let action: String
    /// Wall clock, microseconds.
    let since = Linux.now(.realtime)

    /// `nil`: all is as it was.
    init?(_ contents: StoreContents, _ state: StoredState, folder: [UInt8]) {
        if let path = contents.setAside {
            kind = .setAside(path)
            action = "taken over: \(Self.saved(contents, state)); the history is not"
        } else if contents.wasRemoved {
            kind = .removed(folder)
            action =
                "a new one is made, and ids go on from the time of day; what durable queues had accepted is lost, and so "
                + "are Once=, pauses and the history"
        } else if contents.missing > 0 {
            kind = .older(folder, commits: contents.missing)
            action =
                "it goes on with what is there, and ids go on from the time of day; what durable queues had accepted "
                + "since is lost, and what had ended since runs again"
        } else {
            let read = Set(state.operations.map(\.id))
            let others = contents.operations.map(\.id).filter { !read.contains($0) }
            guard !others.isEmpty else { return nil }
            kind = .unreadable(others)
            action = "the rest is taken over; what cannot be read stays in the store, and is not run"
        }
    }

    /// While watchd runs: it has in memory what nobody may lose. `nil`: nothing was there, or all is as it was.
    init?(replaced contents: StoreContents, folder: [UInt8]) {
        if let path = contents.setAside {
            kind = .setAside(path)
            action = "what waits and what runs was in memory and is written anew; the history is not"
        } else if contents.missing > 0 {
            kind = .older(folder, commits: contents.missing)
            action = "what waits and what runs was in memory and is written anew; of the history it is lost"
        } else {
            return nil
        }
    }

    private static func saved(_ contents: StoreContents, _ state: StoredState) -> String {
        let running = state.operations.count { !$0.runs.isEmpty }
        let held = contents.held.count
        let parts = [
            counted(contents.operations.count, "operation")
                + (running == 0 ? "" : ", \(running) of them running"),
            held == 0 ? nil : "what \(counted(held, "source")) held back",
            "\(counted(contents.marks.count, "mark")) of sources, queues and handlers",
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// - Parameter names: paths are told.
    func problem(names: Bool) -> String {
        switch kind {
        case .setAside(let path): names ? "was damaged: it is now \(path.printable)" : "was damaged"
        case .removed(let folder):
            names ? "watchd.db is gone from \(folder.printable), where a store was before" : "was removed"
        case .older(let folder, let commits):
            "has lost its last \(counted(commits, "commit"))"
                + (names
                    ? ": watchd.db-wal in \(folder.printable) was emptied or removed, or an older watchd.db was put "
                        + "there; or, with Sync=normal, power was lost" : "")
        case .unreadable(let ids):
            "cannot read \(counted(ids.count, "operation")): \(ids.prefix(Self.idsShown).map(String.init).joined(separator: ", "))"
                + (ids.count > Self.idsShown ? " and \(ids.count - Self.idsShown) more" : "")
        }
    }

    private static let idsShown = 5

    var help: String {
        switch kind {
        case .setAside: "look at that file"
        case .older: "if there is a copy of watchd.db and watchd.db-wal, stop watchd and put both there"
        case .removed, .unreadable: "if there is a copy of watchd.db, stop watchd and put it there"
        }
    }

    /// For the log.
    var sentence: String {
        switch kind {
        case .setAside, .older, .unreadable: "the store \(problem(names: true)); \(action)"
        case .removed: "the store is lost: \(problem(names: true)); \(action)"
        }
    }
}
