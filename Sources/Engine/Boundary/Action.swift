package import WatchFile

/// An effect that the engine wants; the runtime performs it after `handle` has returned.
package enum Action: Sendable {
    /// Watch this source (never a timer or a custom one: those live in the engine).
    indirect case open(SourceDefinition)
    case close(SourceID)
    /// Take in no more of a source until `release`; what cannot wait is remembered as "something changed". Events that
    /// have already been read may still be handed in, up to 1 000.
    case hold(SourceID)
    case release(SourceID)
    /// Tell how a condition of `HoldUntil=` stands (`Input.hold`), now and at each change; until `unwatch`.
    indirect case watch(HoldCondition)
    indirect case unwatch(HoldCondition)
    /// Send `Input.clock` at this microsecond of the clock.
    case arm(Clock, at: Int64)
    indirect case start(StartRequest)
    /// Starts a worker: its request has no events. Its start and its end are told as those of any run.
    indirect case startWorker(StartRequest)
    /// A worker gets the line of an operation; what becomes of it is told with `Input.answered`.
    indirect case hand(StartRequest, to: RunID)
    /// A worker is to give up a line. One of which nothing is written comes back at once.
    case takeBack(RunID, from: RunID)
    /// A worker gets no further lines: its standard input is closed when all it was given is written.
    case closeInput(RunID)
    /// Watches a process that outlived the daemon which started it; its end is told as that of any run.
    indirect case adopt(AdoptRequest)
    case store(StoreWrite)
    /// An operation begins that the store need not have: after a kill of this watchd the next one finds its process.
    indirect case began(StoredOperation)
    /// These changes of a path source are handled, the older one of a path first: the snapshot is to show it.
    /// `isStored`: the store keeps an operation for them, and has to have both at once.
    case handled(SourceID, [PathMoment], isStored: Bool)
    /// To be performed when everything stored until now, by this `handle` too, is safe.
    indirect case committed(Action)
    /// The same, but it does not wait for a store that fails.
    indirect case stored(Action)
    /// Send a signal to a run; one whose spawn is on its way gets it as soon as it is there, one that waits for another
    /// try is not started any more.
    case signal(RunID, number: Int32, mode: KillMode)
    /// A `Log=` handler's line.
    indirect case log(handler: String, operation: UInt64, text: [UInt8])
    case reply(Token, Reply)
    case report(Report)
    /// A reload has been applied.
    indirect case reloaded(Token, ConfigurationChange)
    /// A drain is over: nothing runs any more but what could not be ended, and what `OnStop=leave` lets run.
    case drained(leftBehind: [UInt64], leftRunning: [AdoptRequest])
}

/// The clocks of `Moment`; each has a timerfd in the rim.
package enum Clock: Int, CaseIterable, Sendable {
    case realtime, boottime, monotonic
}

/// A command to be run.
package struct StartRequest: Sendable {
    package var run: RunID
    package var definition: SharedDefinition
    package var queue: String
    /// The lowest of the queue's and its targets': nice, I/O class and CPU weight of the children.
    package var qos: QoS
    /// `Environment=` of the queue and its targets, the queue's own last; the handler's own comes behind it.
    package var environment: [EnvironmentVariable]
    package var origin: Origin
    /// The entries, in the order they came. Empty only for a supervised process, which has no queue either.
    package var events: [Event]
    /// A run of this operation may have happened before.
    package var isRedelivered = false
    /// A run of this attempt may have: nobody knows how it ended.
    package var startsAgain = false
    /// A stop of watchd has ended that run.
    package var wasStopped = false
    /// The members of semaphores that it holds.
    package var acquired: [AcquiredMembers] = []
    /// The span of the run; `nil`: of what no event has started.
    package var trace: TraceContext?
    /// Of a mail about a failed operation: why that could not be tried again; `nil`: it could.
    package var retryObstacle: String?
    /// Of a supervised process: what `Input.ready` is to tell of.
    package var readiness = SupervisedCommand.Readiness.running
}

/// A process to be watched again.
package struct AdoptRequest: Sendable {
    package var run: RunID
    package var definition: SharedDefinition
    package var pid: Int32
    /// Of a handler's run: wall clock, microseconds.
    package var started: Int64?
    /// Of a supervised process: one that was started later (boot time, microseconds) is another one.
    package var seen: Int64?
    /// Of a process that holds units: one that was not started then (boot time, microseconds) is another one.
    package var born: Int64?
    /// A supervised process that nothing asks for any more: it is ended.
    package var isUnwanted = false
    /// Of a worker: its run is that of no operation.
    package var isWorker = false

    package init(
        run: RunID, definition: SharedDefinition, pid: Int32, started: Int64? = nil, seen: Int64? = nil
    ) {
        self.run = run
        self.definition = definition
        self.pid = pid
        self.started = started
        self.seen = seen
    }
}

/// A decision or an effect of the past, for logs and followers.
package enum Report: Sendable {
    /// An event was accepted, for these handlers. `isKept`: its source is suspended and keeps it until then.
    indirect case event(Event, Origin, handlers: [String], isKept: Bool = false)
    /// An operation changed its state; `Engine.operation(_:)` tells the rest.
    case operation(UInt64, OperationState)
    /// An operation has ended and is gone from the engine.
    indirect case ended(OperationView)
    /// An attempt has failed and another one comes: `result`, `exit`, `output` and `reason` are the attempt's,
    /// `nextAttempt` is set.
    indirect case retrying(OperationView)
    /// An operation is late or slow; `reason` says how, and a `result` it has not.
    indirect case overdue(OperationView)
    /// An operation that runs has told how far it is.
    case progress(UInt64)
    indirect case refused(RefusedDelivery)
    /// Where a source that lives in the engine stands now; the processes of it that run.
    case condition(SourceID, SourceCondition, processes: [Int32])
    case worker(WorkerNews)
    /// So many elapses of a timer were missed and are not caught up; with a reason.
    case missed(SourceID, count: Int, String)
    /// A handler writes what its source watches.
    case loop(FoundLoop)
}

/// A worker has started or ended.
package struct WorkerNews: Equatable, Sendable {
    package var handler: String
    /// From 1.
    package var copy: Int
    /// Of several: more than one is wanted.
    package var isOneOfSeveral: Bool
    package var pid: Int32?
    /// How it ended, in a few words; `nil`: it has started.
    package var end: String?
    /// It ended by itself, or because of what it did.
    package var isTrouble = false
    /// Lines that it gave back, which run again.
    package var givenBack = 0
    /// Microseconds until it starts again.
    package var pause: Int64?
}

package enum OperationState: String, CaseIterable, Sendable {
    case pending, ready, executing, finished, cancelled
}

/// The answer to a `Command`.
package enum Reply: Sendable {
    case done
    case events([UInt64])
    case operations([UInt64])
    /// The operations that an emitted event has started have ended.
    indirect case emitted(UInt64, EmitEnd)
    /// The end of the operations that a `Run` with `wait` started; the worst one.
    indirect case ran(OperationView)
    /// A run that the policies of its handler did not let start.
    case refused(Result, reason: String)
    case cancelled(Int)
    /// Where the copies of a supervised process stand; the full name of its source.
    indirect case processes(String, [SupervisedView])
    /// The free units of a semaphore; negative after a reload that lowered `Value=`.
    case signaled(available: Int)
    /// A group was entered.
    case ticket(UInt64)
    /// The condition of a `wait` holds; with the end of the operation if it waited for a single one.
    indirect case waited(OperationView?)
    /// These queues are suspended, and nothing runs there. `waiting`: operations in those that were suspended before.
    case drained([String], waiting: Int)
    /// It has not come in time.
    case timedOut
    indirect case failure(CommandError)
}

package enum CommandError: Error, Equatable, Sendable {
    case noSuchName(String, nearest: String?)
    case ambiguousName(String, candidates: [String])
    case noSuchOperation(UInt64)
    /// It has ended, and the rim has to say how (`SubmitCommand.ends`).
    case endUnknown(UInt64)
    /// `bytes`: `BacklogBytes=`, where that is what is used up.
    case queueFull(queue: String, backlog: Int, bytes: Int? = nil)
    case notSuspended(String)
    case notCustom(String)
    /// Paths were given to a source that has none in its events.
    case takesNoPaths(String)
    /// This handler reads a descriptor that its source hands over, and there is none for it.
    case needsDescriptor(handler: String)
    case draining
    /// Nobody has entered the group with that ticket. `isEarlier`: this watchd never gave it out; an
    /// earlier one may have.
    case noSuchTicket(group: String, ticket: UInt64, isEarlier: Bool = false)
    /// It is no process that watchd starts itself.
    case notSupervised(String)
    /// A process that was to be up could not be started, or was stopped meanwhile. A sentence.
    case notUp(String, reason: String)
    /// A count below 1, or one that would overflow.
    case badCount(Int)
    /// It could only end after the caller ends. One sentence for each link, from what is waited for to the caller.
    case wouldDeadlock(chain: [String])
    /// It could not be kept safe, as a durable queue has to.
    case storeFailing(String)
    case notSupported(String)
    /// It cannot be taken in as it is. A sentence.
    case refused(String)
}

/// The changes of a reload, by full names.
package struct ConfigurationChange: Equatable, Sendable {
    package var added: [String] = []
    package var changed: [String] = []
    package var removed: [String] = []
    /// Unchanged definitions.
    package var kept: [String] = []
    /// Consequences that somebody should know before the reload, one sentence each.
    package var warnings: [String] = []

    package init() {}
}
