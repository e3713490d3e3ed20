import Engine
import Handlers
import LinuxSystem
import Store
import WatchFile

/// The watchd before ended without a stop: it was killed, it crashed, or power was lost.
struct UncleanEnd {
    /// Of an operation that was lost by it, in the history.
    static let reason = "lost: watchd ended without a stop, and nothing says that it was done"

    /// The work that was lost, as it was noted last.
    let lost: WaitingNote
    /// The store is as the watchd before had it; else that may have stopped, and the store has lost it.
    let isKnown: Bool

    /// `nil`: it was stopped, or nothing is known of it.
    init?(_ contents: StoreContents, _ state: StoredState, hasEnded: (UInt64) -> Bool) {
        guard !contents.wasClosed, !contents.wasRemoved else { return nil }
        isKnown = contents.setAside == nil && contents.missing == 0
        let found = Set(state.operations.map(\.id))
        lost = WaitingNote(bytes: state.waiting).without { found.contains($0) || hasEnded($0) }
    }

    /// For the log.
    ///
    /// - Parameter unkept: the sources whose FIFO or socket no service manager has kept.
    func sentence(unkept: [SourceID]) -> String {
        let first =
            isKnown
            ? "watchd did not shut down cleanly last time"
            : "whether watchd was stopped last time is not known, as the store has lost that"
        let loss =
            lost.isEmpty
            ? (isKnown ? "; nothing waited on queues that are not durable when that was last noted" : "")
            : (isKnown ? " and lost " : "; it lost ") + WaitingByHandler(lost.counts).sentence
        let more = unkept.count > Self.namesShown ? " and \(unkept.count - Self.namesShown) more" : ""
        let names = unkept.prefix(Self.namesShown).map(\.description).joined(separator: ", ") + more
        return first + loss + (names.isEmpty ? "" : "; what was not read yet of \(names) may be lost")
    }

    private static let namesShown = 5

    /// `nil`: nothing was lost, as far as is known.
    var problem: String? {
        if lost.isEmpty { return nil }
        let end = isKnown ? "ended without a stop and lost" : "has lost"
        return "the last watchd \(end) \(WaitingByHandler(lost.counts).sentence)"
    }
}

extension Runtime {
    /// Each end is told of at one start.
    func tellUncleanEnd(_ contents: StoreContents, _ state: StoredState, hasEnded: (UInt64) -> Bool) {
        waitingNotes.restore(WaitingNote(bytes: state.waiting))
        guard let end = UncleanEnd(contents, state, hasEnded: hasEnded) else { return }
        uncleanEnd = end
        logger.log(end.lost.isEmpty ? .notice : .warning, end.sentence(unkept: manager.isManaged ? [] : unkept))
    }

    /// Sources whose data goes with watchd where nobody else has the descriptor open.
    private var unkept: [SourceID] {
        parts.configuration.sources.filter { source in
            guard case .descriptor(let trigger) = source.trigger else { return false }
            switch trigger.listener {
            case .fifo, .datagram, .stream, .sequentialPacket: return true
            case .special, .netlink, .messageQueue, .passed, .command, .tail, .pressure: return false
            }
        }.map(\.id)
    }

    /// The work that was lost joins the history, so that its numbers can be asked for, and is noted no more.
    func recordLost() {
        var writes = (uncleanEnd?.lost.operations ?? []).map { StoreWrite.lost($0) }
        if waitingNotes.change(to: WaitingNote()) != nil { writes.append(.waiting([])) }
        persistence?.write(writes)
    }
}
