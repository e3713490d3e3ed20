package import EventSources
import LinuxSystem

/// The fixed set of serial contexts on which processes are spawned, the one part of a run that blocks.
///
/// A lane has one job at a time and gets the next when it comes back, so no job stands behind a hung one (an exec from
/// a hung mount); a lane that has not come back after five seconds is given up and replaced. Confined to the core.
package final class Lanes {
    /// Microseconds after which a lane counts as hung.
    package static let patience: Int64 = 5_000_000
    /// Lanes given up at once: each is a thread that may never end.
    private static let hungLimit = 32

    private struct Lane {
        let context: Context
        /// Monotonic microsecond at which its job began; `nil`: idle.
        var busySince: Int64?
        var job = ""
    }

    private let core: Context
    private var lanes: [Int: Lane] = [:]
    private var idle: [Int] = []
    private var waiting: [(name: String, work: @Sendable () -> Void)] = []
    private var waitingHead = 0
    private var lastLane = 0
    private var isCheckPlanned = false
    private let count: Int
    private var bound: QueueBound<Lanes> { QueueBound(self, to: core) }

    package init(core: Context, count: Int) {
        self.core = core
        self.count = count
        for _ in 0..<count { addLane() }
    }

    /// Runs `work` on a lane; `name` says whose it is.
    package func submit(_ name: String, _ work: @escaping @Sendable () -> Void) {
        waiting.append((name, work))
        assign()
    }

    /// What has hung for longer than the patience, for people.
    package var hung: [String] {
        let now = Linux.now(.monotonic)
        return lanes.values.filter { ($0.busySince ?? now) + Self.patience < now }.map(\.job).sorted()
    }

    private func addLane() {
        lastLane += 1
        lanes[lastLane] = Lane(context: Context("watchd.lane.\(lastLane)"))
        idle.append(lastLane)
    }

    private func assign() {
        while waitingHead < waiting.count, let number = idle.popLast() {
            let job = waiting[waitingHead]
            waitingHead += 1
            if waitingHead == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                waitingHead = 0
            }
            lanes[number]?.busySince = Linux.now(.monotonic)
            lanes[number]?.job = job.name
            lanes[number]?.context.async { [core, bound] in
                job.work()
                core.async { bound.value.finished(number) }
            }
        }
        planCheck()
    }

    private func finished(_ number: Int) {
        guard lanes[number] != nil else { return }
        lanes[number]?.busySince = nil
        // One that was given up and has come back after all is one too many.
        if lanes.values.count(where: { $0.busySince == nil }) > count {
            lanes[number] = nil
        } else {
            idle.append(number)
        }
        assign()
    }

    /// One look for all lanes, and only while jobs wait: a hung lane that nobody waits for does no harm.
    private func planCheck() {
        guard !isCheckPlanned, waitingHead < waiting.count else { return }
        isCheckPlanned = true
        core.after(Int(Self.patience)) { [bound] in
            bound.value.isCheckPlanned = false
            bound.value.replaceHung()
        }
    }

    private func replaceHung() {
        let now = Linux.now(.monotonic)
        let hung = lanes.values.count { ($0.busySince ?? now) + Self.patience <= now }
        let missing = min(hung, Self.hungLimit) - (lanes.count - count)
        for _ in 0..<max(0, missing) { addLane() }
        assign()
    }
}
