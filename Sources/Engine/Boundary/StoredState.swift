package import WatchFile

/// The state that outlives the daemon, as the store gives it back at the next start.
package struct StoredState: Sendable {
    /// In any order.
    package var operations: [StoredOperation] = []
    /// Events that a source held back or that came while it was suspended, for durable queues.
    package var held: [StoredHold] = []
    /// Handlers whose `Once=` is fulfilled.
    package var once: Set<String> = []
    /// Administrative suspensions, by full name (`path/uploads`, `queue/images`).
    package var suspensions: [String: [Suspension]] = [:]
    package var timers: [SourceID: TimerStamp] = [:]
    /// Timers whose `OnBootSec=` has elapsed in this boot.
    package var booted: Set<SourceID> = []
    /// Processes of supervised commands that ran when it was written.
    package var processes: [StoredProcess] = []
    /// Workers that the watchd before has left running. The store does not know them.
    package var workers: [StoredWorker] = []
    /// How far sources had read, as they said it (`Input.lines`).
    package var positions: [SourceID: [UInt8]] = [:]
    /// How operations ended that others waited for when watchd stopped.
    package var results: [UInt64: Result] = [:]
    /// Of handlers with `OnChange=`, whether the last run was done or has failed.
    package var verdicts: [String: Result] = [:]
    /// The operations that the last stop cancelled, as the runtime wrote them.
    package var cancelledByStop = ""
    /// Work that a kill would have lost when it was last noted, as the runtime wrote it.
    package var waiting: [UInt8] = []
    /// Of groups, how many operations a crash would have lost when it was last written (`Engine.membersAtRisk`).
    package var groups: [SourceID: Int] = [:]
    /// Of groups, what has ended since they fired last (`Engine.tallies`).
    package var tallies: [SourceID: GroupFact] = [:]
    /// Of groups, the tickets that last as long as a process, by their numbers.
    package var tickets: [SourceID: [GroupTicket]] = [:]
    /// No event or operation up to these ids is new.
    package var lastEventID: UInt64 = 0
    package var lastOperationID: UInt64 = 0
    /// As many ids behind these are this watchd's: the store has that already.
    package var idsReserved: UInt64 = 0

    package init() {}
}

/// A worker of a `Stream=` handler that an earlier watchd has left running.
package struct StoredWorker: Equatable, Sendable {
    package var handler: String
    package var run: RunID
    package var pid: Int32
    /// Wall clock, microseconds.
    package var started: Int64

    package init(handler: String, run: RunID, pid: Int32, started: Int64) {
        (self.handler, self.run, self.pid, self.started) = (handler, run, pid, started)
    }
}

/// An operation that a durable queue has accepted, or one whose process was left running.
package struct StoredOperation: Equatable, Sendable {
    package var id: UInt64
    package var handler: String
    package var queue: String
    package var origin: Origin
    /// The values of `Key=`; none with `Key=none`, two for a rename.
    package var keys: [[UInt8]] = []
    /// How events that come later combine with those waiting; `nil`: not at all.
    package var merge: CustomTrigger.Merge?
    /// How many completions or `Emit=` lie between an outside event and this operation.
    package var depth = 0
    /// Wall clock, microseconds.
    package var submitted: Int64
    /// Its place in the order of submission; 0: not submitted.
    package var place: UInt64 = 0
    /// Microseconds left of its delay, or of its pause between two attempts, when it was written.
    package var left: Int64?
    /// Microseconds left, when it was written, until it is submitted though events of its key come; `nil`: it does not
    /// settle.
    package var settleLeft: Int64?
    /// The same as a microsecond of the wall clock, in a store of an older watchd.
    package var notBefore: Int64?
    /// From 1; the one that runs, or comes next.
    package var attempt = 1
    /// Attempts used up of `Retry=`, and those that exit status 75 asked for.
    package var countedAttempts = 0
    package var temporaryAttempts = 0
    /// The operations that it waits for.
    package var dependencies: [StoredDependency] = []
    /// This attempt has begun: its handler may have run.
    package var isExecuting = false
    /// A run of it may have happened before.
    package var isRedelivered = false
    /// A stop has ended the run before.
    package var wasStopped = false
    /// It was cancelled while it ran, and has not ended yet.
    package var isCancelled = false
    package var isClosed = false
    package var isByHand = false
    /// Its caller's own: it joins no other operation, and no event joins it.
    package var isOwn = false
    package var isRerun = false
    package var hasConsumed = false
    /// The handlers of `OnLate=`, `OnSlow=` have been started for it.
    package var isLateTold = false
    package var isSlowTold = false
    /// How many events each part has of one that `Stride=` has split at its first start.
    package var stride: Int?
    /// Of its parts those that are done: they do not run again.
    package var partsDone = PartSet()
    /// By `watchctl priority`; `nil`: that of its handler.
    package var priority: OperationPriority?
    /// Kept until it has run. False: it is here because its process runs, and is failed when that is gone.
    package var isDurable = true
    /// The store does not have it.
    package var isYoung = false
    /// Processes of this attempt. At a restart, those that still run.
    package var runs: [StoredRun] = []
    /// Entries as they stood when it was last saved as a whole.
    package var events: [Event] = []
    /// Events that came after that, to be merged in in their order.
    package var appended: [Event] = []

    package init(id: UInt64, handler: String, queue: String, origin: Origin, submitted: Int64) {
        self.id = id
        self.handler = handler
        self.queue = queue
        self.origin = origin
        self.submitted = submitted
    }
}

package struct StoredDependency: Equatable, Sendable {
    package var operation: UInt64
    /// `Requires=`.
    package var isRequired: Bool

    package init(operation: UInt64, isRequired: Bool) {
        self.operation = operation
        self.isRequired = isRequired
    }
}

/// A process of an operation.
package struct StoredRun: Equatable, Sendable {
    /// By `Stride=`, from 0.
    package var part: Int
    package var pid: Int32
    /// Wall clock, microseconds.
    package var started: Int64
    /// The members of semaphores that it holds.
    package var acquired: [AcquiredMembers] = []

    package init(part: Int, pid: Int32, started: Int64) {
        self.part = part
        self.pid = pid
        self.started = started
    }
}

/// A place in a group, taken by a client.
package struct GroupTicket: Equatable, Sendable {
    package var number: UInt64
    /// It lasts as long as this one; `nil`: as long as the client's connection.
    package var holder: CommandFact.Holder?

    package init(number: UInt64, holder: CommandFact.Holder?) { (self.number, self.holder) = (number, holder) }
}

package struct StoredHold: Equatable, Sendable {
    package var source: SourceID
    package var events: [Event]

    package init(source: SourceID, events: [Event]) {
        self.source = source
        self.events = events
    }
}

/// An elapse that `RandomizedDelaySec=` puts off. Microseconds of one clock; in the store, of the wall clock.
package struct DelayedElapse: Equatable, Sendable {
    /// Its nominal time, which is what a handler is told.
    package var scheduled: Int64
    package var due: Int64

    package init(scheduled: Int64, due: Int64) {
        self.scheduled = scheduled
        self.due = due
    }

    /// The elapse on another clock.
    func moved(by distance: Int64) -> DelayedElapse {
        DelayedElapse(scheduled: scheduled + distance, due: due + distance)
    }
}

/// Where a timer stood, and the silence of any source.
package struct TimerStamp: Equatable, Sendable {
    /// Wall-clock microsecond of its last elapse.
    package var lastElapse: Int64?
    /// Microseconds left of `AfterSec=` when it was written.
    package var after: Int64?
    /// Wall-clock microsecond before which nothing was missed.
    package var seen: Int64?
    /// Microseconds left of `SilenceSec=` when watchd stopped.
    package var silenceLeft: Int64?
    /// Of a source whose `OnSilence=` has been started: since when it is silent, on the wall clock.
    package var silentSince: Int64?
    /// The next elapse of `OnCalendar=` and `OnCron=`, and that of `EverySec=`, if they are put off.
    package var delayedCalendar: DelayedElapse?
    package var delayedSlot: DelayedElapse?
    /// The timer has still to catch up from `seen` on, whatever has elapsed later.
    package var isCatchingUp = false
    /// Of the stop: nothing has elapsed since then that it does not know.
    package var isLast = false
    /// Handlers are told of it: it must be safe first. Not stored itself.
    package var isTold = false

    package init(lastElapse: Int64? = nil, after: Int64? = nil) {
        self.lastElapse = lastElapse
        self.after = after
    }
}

/// A change of the stored state. The writes of one `handle` are one transaction.
package enum StoreWrite: Sendable {
    /// An operation that is new to the store, or whose entries have changed as a whole: `events` are all it has.
    indirect case insert(StoredOperation)
    /// Everything of it but its events, which stay; `appended` come behind them.
    indirect case update(StoredOperation)
    /// An operation has ended: it leaves the store if it was there, and joins the history. (The engine reports it; it
    /// is the runtime who writes it.)
    indirect case ended(OperationView)
    /// An attempt has failed and another one comes. (As above.)
    indirect case retrying(OperationView)
    /// A failed operation was tried again by hand, as another one.
    case retried(UInt64, by: UInt64)
    /// That one was cancelled or lost before it ran. (The runtime writes it.)
    case untried(UInt64)
    /// A failed operation is nobody's concern any more.
    case forgotten(UInt64)
    /// The events that a source holds for durable queues, behind those it held before or in their place.
    case held(SourceID, [Event], replacing: Bool)
    /// `Once=` of a handler is fulfilled, or is no more.
    case once(handler: String, Once?)
    case suspensions(String, [Suspension])
    indirect case timer(SourceID, TimerStamp)
    /// `OnBootSec=` of a timer has elapsed in this boot.
    case booted(SourceID)
    /// The process of a copy of a supervised command; `nil`: it has none.
    case process(SourceID, copy: Int, StoredProcess?)
    /// The part of a group that a crash would lose. (It is the runtime who writes it, now and then.)
    case members(SourceID, Int)
    /// The tally of a group since it fired last; empty: it has fired. (The runtime writes it too, now and then: the part
    /// that a crash would lose.)
    case tally(SourceID, GroupFact)
    /// The tickets of a group that last as long as a process: all of them.
    case tickets(SourceID, [GroupTicket])
    /// The operations that this stop cancelled; empty: none, or they are told. (The runtime writes it.)
    case cancelledByStop(String)
    /// Work that a kill of watchd would lose; empty: none. (The runtime writes it, now and then.)
    case waiting([UInt8])
    /// An operation that the end of the watchd before has lost. (The runtime writes it.)
    indirect case lost(WaitingOperation)
    /// How far a source has read; `isUrgent`: it is the first place that it has, or that of another file.
    case position(SourceID, [UInt8], isUrgent: Bool = false)
    /// The handled state below a root of a path source. (It is the runtime who writes it.)
    indirect case snapshot(SourceID, root: [UInt8], SnapshotWrite)
    /// Ids up to these may be given out; after a restart those behind them are.
    case reserved(lastEventID: UInt64, lastOperationID: UInt64)
}

/// A change of the snapshot of a root.
package enum SnapshotWrite: Sendable {
    /// It begins anew, and is complete when that is said.
    case begin
    /// Paths relative to the root, empty for the root itself. Nothing that stands there takes the path out.
    case entries([(path: [UInt8], state: PathState)])
    case complete(SnapshotRoot)
    case forget
}

/// Whether the store takes anything.
package enum StoreCondition: Equatable, Sendable {
    case working
    /// A sentence.
    case failing(String)
}

extension StoredOperation {
    /// The process that it holds units for, of which watchd knows no more.
    package var holder: CommandFact.Holder? {
        if case .command(let fact) = events.last?.fact { fact.holder } else { nil }
    }

    /// `process 4711`, `processes 4711, 4712`.
    var processes: String {
        (runs.count == 1 ? "process " : "processes ") + runs.map { "\($0.pid)" }.joined(separator: ", ")
    }
}
