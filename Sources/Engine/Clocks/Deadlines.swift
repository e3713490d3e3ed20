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

    /// The deadlines of one clock.
    private struct Line: Sendable {
        var heap = Heap<Entry>()
        var timers = Heap<TimerEntry>()
        /// Deadlines with a leeway: the clock is armed for the latest time of the one that can wait least, and whatever
        /// is due then is taken with it. So one wake-up serves all whose spans have that instant in common.
        var latest = Heap<LateEntry>()
        var due = Heap<Entry>()
        /// Above this many entries those that no longer hold are looked for.
        var limit = Deadlines.smallestLimit
        var armed: Int64?

        var count: Int { heap.count + timers.count + latest.count + due.count }

        /// The first of all, if it is a timer's.
        var firstTimer: TimerEntry? {
            guard let timer = timers.first else { return nil }
            return timer.time < heap.first?.time ?? .max ? timer : nil
        }
    }

    private var lines = InlineArray<3, Line> { _ in Line() }
    private static let smallestLimit = 256
    private var lastOrder: UInt64 = 0

    /// Nothing is due on that clock, ever.
    func isEmpty(_ clock: Clock) -> Bool { lines[clock.rawValue].count == 0 }

    mutating func add(_ kind: Kind, _ clock: Clock, at time: Int64) {
        if case .timer(let source) = kind {
            lines[clock.rawValue].timers.insert(TimerEntry(time: time, source: Int32(source)))
        } else {
            lastOrder += 1
            lines[clock.rawValue].heap.insert(Entry(time: time, order: lastOrder, kind: kind))
        }
    }

    /// It may come as much later.
    mutating func add(_ kind: Kind, _ clock: Clock, at time: Int64, leeway: Int64) {
        lastOrder += 1
        lines[clock.rawValue].due.insert(Entry(time: time, order: lastOrder, kind: kind))
        lines[clock.rawValue].latest.insert(LateEntry(latest: time + leeway, due: time, kind: kind))
    }

    /// Takes the first entry that is due.
    mutating func next(_ clock: Clock, due now: Int64) -> Kind? {
        if let first = first(clock), first.time <= now {
            removeFirst(clock)
            return first.kind
        }
        guard let first = lines[clock.rawValue].due.first, first.time <= now else { return nil }
        lines[clock.rawValue].due.removeFirst()
        return first.kind
    }

    func firstWithLeeway(_ clock: Clock) -> (kind: Kind, due: Int64)? {
        lines[clock.rawValue].latest.first.map { ($0.kind, $0.due) }
    }

    mutating func removeFirstWithLeeway(_ clock: Clock) { lines[clock.rawValue].latest.removeFirst() }

    func first(_ clock: Clock) -> (kind: Kind, time: Int64)? {
        if let timer = lines[clock.rawValue].firstTimer { return (.timer(source: Int(timer.source)), timer.time) }
        return lines[clock.rawValue].heap.first.map { ($0.kind, $0.time) }
    }

    mutating func removeFirst(_ clock: Clock) {
        if lines[clock.rawValue].firstTimer != nil {
            lines[clock.rawValue].timers.removeFirst()
        } else {
            lines[clock.rawValue].heap.removeFirst()
        }
    }

    func count(_ clock: Clock) -> Int { lines[clock.rawValue].count }

    func needsTrim(_ clock: Clock) -> Bool { count(clock) > lines[clock.rawValue].limit }

    /// Drops what no longer holds. Costs O(1) for each entry added, since the next time is at twice the number left.
    mutating func trim(_ clock: Clock, where holds: (Kind, Int64) -> Bool) {
        lines[clock.rawValue].heap.removeAll { !holds($0.kind, $0.time) }
        lines[clock.rawValue].timers.removeAll { !holds(.timer(source: Int($0.source)), $0.time) }
        lines[clock.rawValue].latest.removeAll { !holds($0.kind, $0.due) }
        lines[clock.rawValue].due.removeAll { !holds($0.kind, $0.time) }
        lines[clock.rawValue].limit = max(Self.smallestLimit, 2 * count(clock))
    }

    /// The timer of a clock may have been cancelled.
    mutating func disarm(_ clock: Clock) { lines[clock.rawValue].armed = nil }

    /// The time a clock must newly be armed for. One that is armed too early is left so: it wakes once in vain, which
    /// is cheaper than setting it anew for every run.
    mutating func toArm(_ clock: Clock, now: Int64) -> Int64? {
        if let time = lines[clock.rawValue].armed, time <= now { lines[clock.rawValue].armed = nil }
        let (exact, late) = (first(clock)?.time, lines[clock.rawValue].latest.first?.latest)
        let first = min(exact ?? .max, late ?? .max)
        guard first != .max else { return nil }
        if let time = lines[clock.rawValue].armed, time <= first { return nil }
        lines[clock.rawValue].armed = first
        return first
    }
}
