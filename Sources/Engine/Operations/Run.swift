import WatchFile

/// One attempt of an operation, or a part of it.
struct Run: Sendable {
    enum Phase: Sendable {
        /// The spawn is on its way, or there is none (`Log=`, `Emit=`).
        case starting
        case running(pid: Int32)
    }

    /// Why it is being ended before its time, and so how it will be judged.
    enum Ending: Equatable, Sendable {
        case timedOut, cancelled, stopped, superseded
    }

    /// By `Stride=`, from 0.
    var part: Int
    var phase = Phase.starting
    /// The definition it was started with: a reload does not change it.
    var definition: SharedDefinition
    /// Wall clock, microseconds.
    var started: Int64
    /// The queue it was started on, and its targets then.
    let startedOn: [Int]
    /// The queues in whose width it counts: those, and after a reload those of now too.
    var queues: [Int]
    /// What it gives back when it ends.
    var held: [SemaphoreShare]
    var ending: Ending?
    /// SIGKILL has been sent.
    var isKilled = false
    /// It outlived the daemon that started it.
    var isAdopted = false
    /// Monotonic microsecond of the next step of its end (time-out, then SIGKILL).
    var deadline: Int64?

    var pid: Int32? { if case .running(let pid) = phase { pid } else { nil } }
}

/// One attempt of an operation, or a part of it, named for the rim.
package struct RunID: Hashable, Sendable {
    package var operation: UInt64
    /// From 1.
    package var attempt: Int
    /// Of an operation split by `Stride=`, from 0.
    package var part: Int

    package init(operation: UInt64, attempt: Int, part: Int = 0) {
        self.operation = operation
        self.attempt = attempt
        self.part = part
    }
}

/// An operation that `Stride=` has split: its parts are runs beside each other.
struct Split: Sendable {
    var stride: Int
    /// All entries; a part is a stretch of them.
    var events: [Event]
    /// Parts of this attempt still to be started, the next one last.
    var waiting: [Int]
    /// Parts of this attempt that failed: the next attempt is theirs.
    var failed: [Int] = []
    var ended = 0
    /// How the first part that failed in this attempt ended.
    var failure: Verdict?
    /// Of a part, in whatever attempt, whose conditions did not hold.
    var skipped: Verdict?
    /// When the first part of this attempt was started: wall clock, microseconds.
    var started: Int64

    init(_ events: [Event], stride: Int, started: Int64) {
        self.started = started
        self.stride = stride
        self.events = events
        waiting = (0..<((events.count + stride - 1) / stride)).reversed()
    }

    var count: Int { (events.count + stride - 1) / stride }

    func events(of part: Int) -> [Event] { Array(events[(part * stride)..<min(events.count, (part + 1) * stride)]) }
}

/// How a run, and with it perhaps its operation, ended.
struct Verdict: Sendable {
    var result: Result
    var reason: String?
    var exit: Exit?
    var output: [UInt8] = []
    /// The run may have done its work, or not: nobody saw its end.
    var isUnknown = false
}
