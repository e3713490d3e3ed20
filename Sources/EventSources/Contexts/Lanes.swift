import Dispatch
import LinuxSystem
import Synchronization

/// A set of serial contexts for work that may block, or hang for ever: spawning, listing folders, looking at paths.
///
/// A lane has one job at a time and gets the next when it comes back, so no job stands behind a hung one (an exec from
/// a hung mount); a lane that has not come back in time is given up and replaced. Confined to the core.
package final class Lanes {
    /// Microseconds after which a job counts as hung.
    package static let patience: Int64 = 5_000_000
    /// Lanes given up at once: each is a thread that may never end.
    package static let hungLimit = 32

    struct Lane {
        let context: Context
        fileprivate let life = Life()
        /// Monotonic microsecond at which its job began; `nil`: idle.
        fileprivate(set) var busySince: Int64?
        fileprivate var job: Job?
    }

    /// When a job said last that it goes on.
    fileprivate final class Life: Sendable {
        let seen = Atomic<Int64>(0)
    }

    private static let key = DispatchSpecificKey<Life>()

    /// To be called by a job now and then that works for long: it does not count as hung then. Elsewhere it does nothing.
    package static func goesOn() {
        DispatchQueue.getSpecific(key: key)?.seen.store(Linux.now(.monotonic), ordering: .relaxed)
    }

    fileprivate struct Job {
        var name: String?
        var isInOrder: Bool
        var work: Reactor.Job
    }

    private let core: Context
    private(set) var lanes: [Int: Lane] = [:]
    private var idle: [Int] = []
    private var waiting = Waiting()
    /// Behind the one of that name which waits, or has a lane.
    private var following: [String: [Job]] = [:]
    private var lastLane = 0
    private var isCheckPlanned = false
    private let name: String
    private let count: Int
    private let replacement: Int64
    private let borrows: Bool
    private var bound: QueueBound<Lanes> { QueueBound(self, to: core) }

    private struct Waiting {
        private var jobs: [Job] = []
        private var head = 0

        var isEmpty: Bool { head == jobs.count }
        var count: Int { jobs.count - head }

        mutating func append(_ job: Job) { jobs.append(job) }

        mutating func popFirst() -> Job? {
            guard head < jobs.count else { return nil }
            defer {
                head += 1
                if head == jobs.count {
                    jobs.removeAll(keepingCapacity: jobs.capacity <= 128)
                    head = 0
                }
            }
            return jobs[head]
        }
    }

    /// - Parameters:
    ///   - name: of the contexts, which get numbers.
    ///   - count: of lanes that have not been given up.
    ///   - replacement: microseconds after which a lane is replaced if somebody waits for one.
    ///   - borrows: a lane's job may run on a thread of the core's reactor instead of the lane's own.
    package init(
        core: Context, name: String = "watchd.lane", count: Int, replacement: Int64 = Lanes.patience,
        borrows: Bool = false
    ) {
        self.core = core
        self.name = name
        self.count = count
        self.replacement = replacement
        self.borrows = borrows
        for _ in 0..<count { addLane() }
    }

    /// Runs `work` on a lane.
    ///
    /// - Parameters:
    ///   - name: whose it is, for people; `nil`: somebody else says when it hangs.
    ///   - inOrder: one at a time of those of that name, in the order of the calls.
    package func submit(_ name: String?, inOrder: Bool = false, _ work: @escaping @Sendable () -> Void) {
        let job = Job(name: name, isInOrder: inOrder && name != nil) {
            work()
            return {}
        }
        if job.isInOrder, let name {
            guard following[name] == nil else { return following[name, default: []].append(job) }
            following[name] = []
        }
        waiting.append(job)
        assign()
    }

    /// Runs `work` on a lane, and then on the core what it returns.
    package func start(_ name: String, _ work: @escaping Reactor.Job) {
        waiting.append(Job(name: name, isInOrder: false, work: work))
        assign()
    }

    /// Lanes that have hung for longer than the patience, for people.
    package var hung: [String] {
        let now = Linux.now(.monotonic)
        return lanes.values.filter { lane in
            max(lane.busySince ?? now, lane.life.seen.load(ordering: .relaxed)) + Self.patience < now
        }.compactMap(\.job?.name).sorted()
    }

    /// Something is being done, or waits.
    package var isBusy: Bool { !waiting.isEmpty || lanes.values.contains { $0.busySince != nil } }

    /// Jobs that wait for one of so many hung lanes that none is added.
    package var starving: Int { lanes.count - count >= Self.hungLimit ? waiting.count : 0 }

    private func addLane() {
        lastLane += 1
        let lane = Lane(context: Context("\(name).\(lastLane)"))
        lane.context.queue.setSpecific(key: Self.key, value: lane.life)
        lanes[lastLane] = lane
        idle.append(lastLane)
    }

    private func assign() {
        while !waiting.isEmpty, let number = idle.popLast(), let job = waiting.popFirst() {
            lanes[number]?.busySince = Linux.now(.monotonic)
            lanes[number]?.job = job
            run(on: number) { [bound] in
                let rest = job.work()
                return {
                    rest()
                    bound.value.finished(number)
                }
            }
        }
        planCheck()
    }

    private func run(on number: Int, _ work: @escaping Reactor.Job) {
        if borrows, let reactor = core.reactor, reactor.lend(to: work) { return }
        lanes[number]?.context.async { [core] in core.async(work()) }
    }

    private func finished(_ number: Int) {
        guard let job = lanes[number]?.job else { return }
        lanes[number]?.busySince = nil
        lanes[number]?.job = nil
        if job.isInOrder, let name = job.name { nextInOrder(name) }
        // One that was given up and has come back after all is one too many.
        if lanes.values.count(where: { $0.busySince == nil }) > count {
            lanes[number] = nil
        } else {
            idle.append(number)
        }
        assign()
    }

    private func nextInOrder(_ name: String) {
        guard var behind = following[name], !behind.isEmpty else {
            following[name] = nil
            return
        }
        waiting.append(behind.removeFirst())
        following[name] = behind
    }

    /// One look for all lanes, and only while jobs wait: a hung lane that nobody waits for does no harm.
    private func planCheck() {
        guard !isCheckPlanned, !waiting.isEmpty else { return }
        isCheckPlanned = true
        core.after(Int(replacement)) { [bound] in
            bound.value.isCheckPlanned = false
            bound.value.replaceHung()
        }
    }

    private func replaceHung() {
        let now = Linux.now(.monotonic)
        let hung = lanes.values.count { ($0.busySince ?? now) + replacement <= now }
        let missing = min(hung, Self.hungLimit) - (lanes.count - count)
        for _ in 0..<max(0, missing) { addLane() }
        assign()
    }
}
