/// One operation, as lists show it.
package struct OperationSummary: Codable, Equatable, Sendable {
    package enum State: String, Codable, CaseIterable, Sendable {
        case pending, ready, executing, finished, cancelled

        /// It has ended; only remembered now.
        package var isEnded: Bool { self == .finished || self == .cancelled }
    }

    package enum Result: String, Codable, CaseIterable, Sendable {
        case done, failed, cancelled, skipped, dropped, annulled, superseded, stopped

        /// It failed, or watchd stopped and ended it: `retry` or `forget` deals with it.
        package var isFailure: Bool { self == .failed || self == .stopped }
    }

    package enum CodingKeys: String, CodingKey {
        case id, handler, queue, source, key, state, result, entries, deliveries, cause, submitted, started, ended
        case attempt, pid, signal, reason, dependencies, successor, parts, durable, redelivered, settled, used, acquired
        case progress, unit, unsaved
        case waitingFor = "waiting_for"
        case waitReason = "wait_reason"
        case retryObstacle = "retry_obstacle"
        case nextAttempt = "next_attempt"
        case notBefore = "not_before"
        case partsEnded = "parts_ended"
        case tookUsec = "took_usec"
        case usualUsec = "usual_usec"
        case exitStatus = "exit_status"
        case foundAgain = "found_again"
        case leftProcesses = "left_processes"
        case invocationID = "invocation_id"
        case byHand = "by_hand"
        case traceID = "trace_id"
        case spanID = "span_id"
        case parentSpanID = "parent_span_id"
    }

    package var id: Int
    package var handler: String
    package var queue: String
    /// `path/uploads`; `nil`: started by a person or by another operation.
    package var source: String?
    package var key: String?
    package var state: State
    package var result: Result?
    /// Why it does not run yet: a phrase.
    package var waitingFor: String?
    /// The same as one word for programs: `barrier`, `semaphore`, …
    package var waitReason: String?
    /// Operations that have to end first.
    package var dependencies: [Int]
    /// Of one that was superseded, joined another, or failed and was tried again by hand: that one.
    package var successor: Int?
    package var entries: Int
    package var deliveries: Int
    /// `/srv/a.jpg`, or `path/data, 212 changes`.
    package var cause: String
    /// `watchctl run` made its events; else `nil`.
    package var byHand: Bool?
    package var submitted: String
    package var started: String?
    package var ended: String?
    package var tookUsec: Int?
    /// How long the runs of its handler usually take; only of those that run, in `GetStatus`.
    package var usualUsec: Int?
    /// Counts from 1; 0 before the first.
    package var attempt: Int
    /// Of a command that has a time.
    package var notBefore: String?
    /// When it is tried again.
    package var nextAttempt: String?
    /// By `Stride=`, and how many of them have ended; `nil` for one that is not split.
    package var parts: Int?
    package var partsEnded: Int?
    package var pid: Int?
    package var exitStatus: Int?
    /// `SIGKILL`.
    package var signal: String?
    /// Why it ended as it did, where its exit status does not say it.
    package var reason: String?
    /// It is kept until it has run, whatever becomes of watchd; `nil`: not known any more.
    package var durable: Bool?
    /// A run of it may have happened before.
    package var redelivered = false
    /// Of a failed one: it was tried again (`successor`) or forgotten.
    package var settled: Bool?
    /// Of a failed one that nobody has dealt with: why `Retry` would refuse it; `nil`: it would not. In `GetOperation` and
    /// `ListHistory`.
    package var retryObstacle: String?
    /// Why the store does not know its end, and a crash of watchd would make it run again; `nil`: it does, or it does not
    /// matter. Only in `GetOperation` and `Wait`.
    package var unsaved: String?
    /// The last words of its run on how far it is (`Progress=`).
    package var progress: String?
    /// The members of semaphores that its runs hold, by the name of the semaphore.
    package var acquired: [String: [String]]?
    /// Of its last run that has ended.
    package var used: ResourcesUsed?
    /// A later watchd has found the run: what it had written before is in the log only.
    package var foundAgain: Bool?
    /// Processes that went on after its end, as `KillMode=` says; `nil`: none.
    package var leftProcesses: Int?
    /// The service that it is, and its invocation (`RunIn=unit`).
    package var unit: String?
    package var invocationID: String?
    /// Of W3C Trace Context, in hexadecimal digits: that of its first event.
    package var traceID: String?
    /// Of its last run.
    package var spanID: String?
    /// The span that its first event came from; `nil`: it has begun the trace.
    package var parentSpanID: String?

    /// Members that are not named here are `nil` or empty at first.
    package init(
        id: Int, handler: String, queue: String, source: String?, state: State, entries: Int, deliveries: Int,
        cause: String, submitted: String, attempt: Int = 0
    ) {
        self.id = id
        self.handler = handler
        self.queue = queue
        self.source = source
        self.state = state
        self.entries = entries
        self.deliveries = deliveries
        self.cause = cause
        self.submitted = submitted
        self.attempt = attempt
        dependencies = []
    }
}
