import WatchFile

/// One attempt of an operation, or a part of it.
struct Run: Sendable {
    enum Phase: Sendable {
        /// The spawn is on its way, or there is none (`Log=`, `Emit=`).
        case starting
        /// Its start takes something that is used up now, and is tried again.
        case delayed
        /// The rim performs it. `nil`: without a process of its own.
        case running(pid: Int32?)
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
    /// The shares of semaphores that it gives back when it ends.
    var held: [SemaphoreShare]
    var ending: Ending?
    /// Of a line: the worker that holds it.
    var seat: Seat?
    /// Monotonic microsecond of the last step of its end: when its signal was sent.
    var endingSince: Int64 = 0
    /// SIGKILL has been sent.
    var isKilled = false
    /// Its process is that of a condition: nothing of what it is for has been done, and only this watchd goes on with it.
    var isAsking = false
    /// It outlived the daemon that started it.
    var isAdopted = false
    /// The last words of its processes on how far they are; while its start is delayed, why.
    var words: String?
    /// Once its processes have ended.
    var usage = Rare<ResourceUsage>()
    /// Monotonic microsecond of the next step of its end (time-out, then SIGKILL).
    var deadline: Int64?

    var pid: Int32? { if case .running(let pid) = phase { pid } else { nil } }
    /// Why its start is tried again and again.
    var delay: String? { if case .delayed = phase { words } else { nil } }
    var progress: String? { hasBegun ? words : nil }
    var hasBegun: Bool { if case .running = phase { true } else { false } }
    /// It is ended while its start waits, for the store or for the rim.
    var isEndedUnbegun: Bool { !hasBegun && ending != nil && definition.value.isOfRim }
    /// It is jobs of units and nothing else: no process, which may end well because it was told to end.
    var isOfUnits: Bool {
        if case .unit = definition.value.action { definition.value.conditions.isEmpty } else { false }
    }
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

/// How a run, and with it perhaps its operation, ended.
struct Verdict: Sendable {
    var result: Result
    var reason: String?
    var exit: Exit?
    var output: [UInt8] = []
    /// The run may have done its work, or not: nobody saw its end.
    var isUnknown = false
    /// It asks for another attempt that `Retry=` does not count, as exit status 75 does.
    var wantsRetry = false
}
