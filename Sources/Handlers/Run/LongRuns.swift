import Engine
import EventSources
import LinuxSystem

/// Tells which runs have gone on for a second, once each: those are kept in mind beyond a crash. One timer for all, and
/// none while nothing young runs. Confined to the core.
final class LongRuns {
    /// Microseconds.
    private static let age: Int64 = 1_000_000
    /// Runs whose descriptors are in the service manager's store at once.
    static let limit = 256

    private let core: Context
    var becameLong: (RunID) -> Void = { _ in }
    /// In the order they began, with when: monotonic microseconds. Those that have ended since are passed over.
    private var young: [(id: RunID, since: Int64)] = []
    private var running: Set<RunID> = []
    private var kept: Set<RunID> = []
    /// Those that there was no room for, the oldest first.
    private var waiting: [RunID] = []
    /// A place has come free for a run that was refused one, and is taken as used.
    var roomCame: (RunID) -> Void = { _ in }
    private var isPlanned = false
    private var bound: QueueBound<LongRuns> { QueueBound(self, to: core) }

    init(core: Context) { self.core = core }

    func began(_ id: RunID) {
        guard running.insert(id).inserted else { return }
        young.append((id, Linux.now(.monotonic)))
        plan(Self.age)
    }

    func ended(_ id: RunID) {
        running.remove(id)
        waiting.removeAll { $0 == id }
        guard kept.remove(id) != nil, !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        kept.insert(next)
        roomCame(next)
    }

    /// Whether its descriptors may be stored, which is taken as done; if not, `roomCame` tells when they may.
    func hasRoom(for id: RunID) -> Bool {
        guard !kept.contains(id) else { return true }
        guard kept.count < Self.limit else {
            if !waiting.contains(id) { waiting.append(id) }
            return false
        }
        kept.insert(id)
        return true
    }

    private func plan(_ delay: Int64) {
        guard !isPlanned else { return }
        isPlanned = true
        core.after(Int(delay)) { [bound] in
            bound.value.isPlanned = false
            bound.value.look()
        }
    }

    private func look() {
        let now = Linux.now(.monotonic)
        let old = young.prefix { $0.since + Self.age <= now }
        young.removeFirst(old.count)
        for run in old where running.remove(run.id) != nil { becameLong(run.id) }
        young.removeAll { !running.contains($0.id) }
        // Coarsely, so that many that began one after the other are told together.
        if let next = young.first { plan(max(next.since + Self.age - now, Self.age / 4)) }
    }
}
