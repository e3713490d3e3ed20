package import Schedule

/// The constraints on the start of a handler's operations, besides its queue and its key.
package struct StartConstraints: Equatable, Sendable {
    /// `Barrier=`: waits for all submitted before it on its concurrent queue, runs alone, then lets the rest go on.
    package var isBarrier = false
    /// `Priority=`: among the ready operations of a concurrent queue.
    package var priority = OperationPriority.normal
    /// `After=process/NAME`: names of `[Process]` sections with `Command=` that have to be ready.
    package var afterProcesses: [String] = []
    /// `Acquire=`: held while it runs. Each semaphore at most once; likewise below.
    package var acquires: [SemaphoreCount] = []
    /// `Release=`: given when it succeeded.
    package var releases: [SemaphoreCount] = []
    /// `Consume=`: taken for good.
    package var consumes: [SemaphoreCount] = []
    /// `After=`: handlers of the same event whose operations have to end first.
    package var after: [String] = []
    /// `Requires=`: handlers that are started with this one and have to succeed first.
    package var requires: [String] = []
    /// `DelaySec=`: from the event to the submission.
    package var delay = TimeSpan.zero
    /// `BatchSize=`: with so many entries it is submitted before its delay is over; `nil`: the delay alone counts.
    package var batchSize: Int?
    /// `DigestSec=` of a `Mail=`: one mail for all of so long; 0: one for each.
    package var digest = TimeSpan.zero
    /// `Once=`.
    package var once: Once?
    /// `StartTimeoutSec=`; `.infinity`: none.
    package var startTimeout = TimeSpan.infinity

    package init() {}
}

/// `Priority=`, in the order of Foundation's `Operation.QueuePriority`.
package enum OperationPriority: String, CaseIterable, Comparable, Sendable {
    case veryLow = "very-low"
    case low, normal, high
    case veryHigh = "very-high"

    /// 0 is the highest.
    package var rank: Int {
        switch self {
        case .veryHigh: 0
        case .high: 1
        case .normal: 2
        case .low: 3
        case .veryLow: 4
        }
    }

    package static func < (left: OperationPriority, right: OperationPriority) -> Bool { left.rank > right.rank }
}

/// `NAME` or `NAME:COUNT` of `Acquire=`, `Release=`, `Consume=`; the count is at least 1.
package struct SemaphoreCount: Hashable, Sendable {
    package var name: String
    package var count: Int

    package init(name: String, count: Int = 1) {
        self.name = name
        self.count = count
    }
}

/// `Once=`: only the first event runs the handler (`dispatch_once`).
package enum Once: String, CaseIterable, Sendable {
    /// Until the machine boots anew.
    case boot
    case ever
}

/// `Retry=` and what belongs to it.
package struct RetryPolicy: Equatable, Sendable {
    /// `Retry=`: attempts after the first failure; `nil`: `infinity`.
    package var limit: Int?
    /// `RetrySec=`: before the first of them; doubles from one to the next.
    package var delay: TimeSpan
    /// `RetryMaxSec=`: no pause is longer.
    package var maxDelay: TimeSpan
    /// `RetryPreventExitStatus=`: after these it is not tried again.
    package var preventExitStatus: ExitStatusSet

    package init(
        limit: Int? = 0, delay: TimeSpan = .seconds(1), maxDelay: TimeSpan = .seconds(300),
        preventExitStatus: ExitStatusSet = ExitStatusSet()
    ) {
        self.limit = limit
        self.delay = delay
        self.maxDelay = maxDelay
        self.preventExitStatus = preventExitStatus
    }
}

/// The handlers that are told how an operation ended.
package struct Completions: Equatable, Sendable {
    /// `OnSuccess=`.
    package var success: [String] = []
    /// `OnFailure=`: after the last attempt.
    package var failure: [String] = []
    /// `OnRetry=`: after a failed attempt with one to come.
    package var retry: [String] = []
    /// `OnChange=`: when success turns to failure or back.
    package var change: [String] = []
    /// `OnFinished=`: once, however it ended, be it cancelled or skipped by its conditions (which is neither success
    /// nor failure). Nobody is told of what is skipped before its turn (`Overlap=`, `Once=`, `NotDuring=`), dropped,
    /// superseded or annulled.
    package var finished: [String] = []

    /// `OnLate=`: once, when it has not started in time.
    package var late: [String] = []
    /// `OnSlow=`: once, when it still runs after its time.
    package var slow: [String] = []

    package init() {}

    package var isEmpty: Bool {
        success.isEmpty && failure.isEmpty && retry.isEmpty && change.isEmpty && finished.isEmpty && late.isEmpty
            && slow.isEmpty
    }

    /// Every name, for checks.
    package var all: [String] { success + failure + retry + change + finished + late + slow }
}

/// How long nobody is told of an operation. Nothing is ended by it.
package struct Patience: Equatable, Sendable {
    /// `LateSec=`: until its first start, from its time or event on, its delay over; `.infinity`: none.
    package var late = TimeSpan.infinity
    /// `SlowSec=`: from the start of an attempt to its end; `.infinity`: none.
    package var slow = TimeSpan.infinity

    package init() {}
}
