/// The due entries of each clock, in the order of their times. An entry that no longer holds is dropped when it comes
/// to the front, so taking one back costs nothing.
struct Deadlines: Sendable {
    enum Kind: Hashable, Sendable {
        case timer(source: Int)
        case silence(Int)
        case run(OperationRef, part: Int)
        /// The end of `DelaySec=`, or of `SettleSec=` unless events have come since.
        case submission(OperationRef)
        /// When nobody else has written what a handler may be writing itself.
        case loop(OperationRef)
        /// When the store is told how much is left of a delay or a pause.
        case storedDelay(OperationRef)
        case startTimeout(OperationRef)
        /// `LateSec=`, `SlowSec=`.
        case late(OperationRef)
        case slow(OperationRef)
        /// The end of the pause before another attempt.
        case retry(OperationRef)
        case queueRate(Int)
        case sourceRate(Int)
        case wait(Token)
        /// A pause before a restart, or the patience of a stop.
        case supervised(source: Int, copy: Int)
        /// The same of a worker, or the end of its idleness.
        case worker(Seat)
        case resumeSource(Int)
        case resumeQueue(Int)
        case reload
        /// Problems that the rate of `OnProblem=` keeps waiting.
        case problems
        /// The next part of it.
        case queueCancellation
        case drain
    }

    private struct Entry: Comparable, Sendable {
        var time: Int64
        var order: UInt64
        var kind: Kind

        static func < (left: Entry, right: Entry) -> Bool {
            left.time != right.time ? left.time < right.time : left.order < right.order
        }
    }

    /// Of a `[Timer]`, of which there may be a hundred thousand: a third of an `Entry`. Those due at one time come in
    /// the order of their sources.
    private struct TimerEntry: Comparable, Sendable {
        var time: Int64
        var source: Int32

        static func < (left: TimerEntry, right: TimerEntry) -> Bool {
            left.time != right.time ? left.time < right.time : left.source < right.source
        }
    }

    /// One that may come later than it is due: the same entry by the latest time, and by when it is due.
    private struct LateEntry: Comparable, Sendable {
        var latest: Int64
        var due: Int64
        var kind: Kind

        static func < (left: LateEntry, right: LateEntry) -> Bool { left.latest < right.latest }
    }

    private var heaps = Clock.allCases.map { _ in Heap<Entry>() }
    private var timers = Clock.allCases.map { _ in Heap<TimerEntry>() }
    /// Deadlines with a leeway: the clock is armed for the latest time of the one that can wait least, and whatever is
    /// due then is taken with it. So one wake-up serves all whose spans have that instant in common.
    private var latest = Clock.allCases.map { _ in Heap<LateEntry>() }
    private var due = Clock.allCases.map { _ in Heap<Entry>() }
    /// Above this many entries those that no longer hold are looked for.
    private var limits = Clock.allCases.map { _ in Self.smallestLimit }
    private static let smallestLimit = 256
    private var armed: [Int64?] = Clock.allCases.map { _ in nil }
    private var lastOrder: UInt64 = 0

    mutating func add(_ kind: Kind, _ clock: Clock, at time: Int64) {
        if case .timer(let source) = kind {
            timers[clock.rawValue].insert(TimerEntry(time: time, source: Int32(source)))
        } else {
            lastOrder += 1
            heaps[clock.rawValue].insert(Entry(time: time, order: lastOrder, kind: kind))
        }
    }

    /// It may come as much later.
    mutating func add(_ kind: Kind, _ clock: Clock, at time: Int64, leeway: Int64) {
        lastOrder += 1
        due[clock.rawValue].insert(Entry(time: time, order: lastOrder, kind: kind))
        latest[clock.rawValue].insert(LateEntry(latest: time + leeway, due: time, kind: kind))
    }

    /// Takes the first entry that is due.
    mutating func next(_ clock: Clock, due now: Int64) -> Kind? {
        if let first = first(clock), first.time <= now {
            removeFirst(clock)
            return first.kind
        }
        guard let first = due[clock.rawValue].first, first.time <= now else { return nil }
        due[clock.rawValue].removeFirst()
        return first.kind
    }

    func firstWithLeeway(_ clock: Clock) -> (kind: Kind, due: Int64)? {
        latest[clock.rawValue].first.map { ($0.kind, $0.due) }
    }

    mutating func removeFirstWithLeeway(_ clock: Clock) { latest[clock.rawValue].removeFirst() }

    func first(_ clock: Clock) -> (kind: Kind, time: Int64)? {
        if let timer = firstTimer(clock) { return (.timer(source: Int(timer.source)), timer.time) }
        return heaps[clock.rawValue].first.map { ($0.kind, $0.time) }
    }

    mutating func removeFirst(_ clock: Clock) {
        if firstTimer(clock) != nil {
            timers[clock.rawValue].removeFirst()
        } else {
            heaps[clock.rawValue].removeFirst()
        }
    }

    /// The first of all, if it is a timer's.
    private func firstTimer(_ clock: Clock) -> TimerEntry? {
        guard let timer = timers[clock.rawValue].first else { return nil }
        return timer.time < heaps[clock.rawValue].first?.time ?? .max ? timer : nil
    }

    func count(_ clock: Clock) -> Int {
        heaps[clock.rawValue].count + timers[clock.rawValue].count + latest[clock.rawValue].count
            + due[clock.rawValue].count
    }

    func needsTrim(_ clock: Clock) -> Bool { count(clock) > limits[clock.rawValue] }

    /// Drops what no longer holds. Costs O(1) for each entry added, since the next time is at twice the number left.
    mutating func trim(_ clock: Clock, where holds: (Kind, Int64) -> Bool) {
        heaps[clock.rawValue].removeAll { !holds($0.kind, $0.time) }
        timers[clock.rawValue].removeAll { !holds(.timer(source: Int($0.source)), $0.time) }
        latest[clock.rawValue].removeAll { !holds($0.kind, $0.due) }
        due[clock.rawValue].removeAll { !holds($0.kind, $0.time) }
        limits[clock.rawValue] = max(Self.smallestLimit, 2 * count(clock))
    }

    /// The timer of a clock may have been cancelled.
    mutating func disarm(_ clock: Clock) { armed[clock.rawValue] = nil }

    /// The time a clock must newly be armed for. One that is armed too early is left so: it wakes once in vain, which
    /// is cheaper than setting it anew for every run.
    mutating func toArm(_ clock: Clock, now: Int64) -> Int64? {
        if let time = armed[clock.rawValue], time <= now { armed[clock.rawValue] = nil }
        let (exact, late) = (first(clock)?.time, latest[clock.rawValue].first?.latest)
        let first = min(exact ?? .max, late ?? .max)
        guard first != .max else { return nil }
        if let time = armed[clock.rawValue], time <= first { return nil }
        armed[clock.rawValue] = first
        return first
    }
}
