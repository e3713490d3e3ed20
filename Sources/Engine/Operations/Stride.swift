import Schedule
import WatchFile

/// `Stride=`, and `%@` with more than a command takes: an operation with many entries runs in parts, beside each other.
extension Engine {
    mutating func split(_ ref: OperationRef, _ stride: Int) {
        let split = Split(operations[ref].entries.events, stride: stride, started: now.realtime)
        splits[operations[ref].id] = split
        operations[ref].progress.toStart = Int32(split.count)
    }

    /// Takes the part to start out; with nothing more to start it leaves its line.
    mutating func nextPart(_ ref: OperationRef) -> Int {
        let id = operations[ref].id
        let part = operations[ref].progress.toStart == 1 && splits.isEmpty ? 0 : splits[id]?.waiting.popLast() ?? 0
        operations[ref].progress.toStart -= 1
        if operations[ref].progress.toStart == 0 { operations[ref].turn.station = .none }
        return part
    }

    /// Of a part of a split operation.
    func events(_ ref: OperationRef, part: Int) -> [Event]? {
        splits.isEmpty ? nil : splits[operations[ref].id]?.events(of: part)
    }

    mutating func partEnded(_ ref: OperationRef, _ index: Int, _ part: Int, _ verdict: Verdict) {
        let id = operations[ref].id
        if verdict.result == .done { splits[id]?.done.insert(part..<part + 1) }
        if verdict.result == .failed { splits[id]?.failed.append(part) }
        // The other parts have conditions of their own.
        if verdict.result == .skipped { splits[id]?.skipped = verdict }
        let isUnmet = verdict.result == .skipped
        if verdict.result != .done, !isUnmet, splits[id]?.failure.map({ $0.result == .failed }) ?? true {
            splits[id]?.failure = verdict
            let pid = operations[ref].runs[index].pid
            splits[id]?.failedPID = pid
        }
        // An operation that is being ended starts no further parts.
        if verdict.result != .done, !isUnmet, verdict.result != .failed {
            startNoMore(ref, verdict.result)
        }
        guard operations[ref].runs.count == 1, operations[ref].progress.toStart == 0 else {
            let run = operations[ref].runs.remove(at: index)
            splits[id]?.usage.add(run.usage.value)
            releaseAwaited(run.definition.value.completions.all)
            if operations[ref].record.isDurable { save(ref) }
            return
        }
        allEnded(ref, operations[ref].runs[index], splits[id].flatMap { $0.failure ?? $0.skipped } ?? verdict)
    }

    /// Only the parts that failed are tried again.
    mutating func nextParts(_ id: UInt64) -> Int32 {
        guard !splits.isEmpty, var split = splits[id] else { return 1 }
        split.waiting = split.failed.sorted(by: >)
        split.failed = []
        split.failure = nil
        split.usage = ResourceUsage()
        split.started = now.realtime
        splits[id] = split
        return Int32(split.waiting.count)
    }
}

/// An operation that was split: its parts are runs beside each other.
struct Split: Sendable {
    var stride: Int
    /// All entries; a part is a stretch of them.
    var events: [Event]
    /// Parts of this attempt still to be started, the next one last.
    var waiting: [Int]
    /// Parts of this attempt that failed: the next attempt is theirs.
    var failed: [Int] = []
    /// In whatever attempt, also under an earlier watchd.
    var done = PartSet()
    /// How the first part that failed in this attempt ended.
    var failure: Verdict?
    /// The process of that part.
    var failedPID: Int32?
    /// Of a part, in whatever attempt, whose conditions did not hold.
    var skipped: Verdict?
    /// Of parts of this attempt that have ended.
    var usage = ResourceUsage()
    /// When the first part of this attempt was started: wall clock, microseconds.
    var started: Int64

    init(_ events: [Event], stride: Int, started: Int64) {
        self.started = started
        self.stride = stride
        self.events = events
        waiting = (0..<((events.count + stride - 1) / stride)).reversed()
    }

    var count: Int { (events.count + stride - 1) / stride }

    /// Goes on where an earlier watchd left it. All of it runs again if nothing would.
    mutating func resume(done: PartSet, running: Set<Int>) {
        let left = waiting.filter { !done.contains($0) && !running.contains($0) }
        guard !(left.isEmpty && running.isEmpty) else { return }
        waiting = left
        for range in done.ranges { self.done.insert(range.clamped(to: 0..<count)) }
    }

    func events(of part: Int) -> [Event] { Array(events[(part * stride)..<min(events.count, (part + 1) * stride)]) }
}
