package import Schedule
package import WatchFile

/// A fact from outside, for the engine.
package enum Input: Sendable {
    /// A source of the rim saw something; `count` of it at once.
    case event(SourceID, Fact, count: Int = 1)
    /// A path source that keeps a snapshot of what was handled tells a change; what stands at its path now. At the old
    /// path of a rename stands nothing.
    case change(SourceID, PathFact, PathState)
    /// A descriptor brought these, one event each, in their order. `position`: how far that is in what it reads, to be
    /// stored in the same transaction as what becomes of them, and given back after a restart.
    case lines(SourceID, [LineFact], position: [UInt8]? = nil)
    /// Where a source of the rim stands.
    case source(SourceID, SourceCondition)
    /// The kernel is known to have dropped events of a source.
    case gap(SourceID, Int)
    /// Lines were cut at `MaxLength=`, as whoever wrote them wanted: counted as gaps, but no trouble.
    case cut(SourceID, Int)
    /// A source of the rim refused events by its filter.
    case filtered(SourceID, Int)
    /// A clock that was armed has come to its time, or the wall clock was set.
    case clock
    /// The local time zone is another one, or the rules of one have changed.
    indirect case zones(ZoneTable)
    /// `pid`: of its process, or of the next one; `nil`: it is done without one. `asks`: it is only that of a condition,
    /// behind which watchd has something done that is no process of its own.
    case runStarted(RunID, pid: Int32?, asks: Bool = false)
    /// Something is used up that a start takes, and it is tried again: no time passes for the run until then. `reason`
    /// as below.
    case runDelayed(RunID, reason: String)
    /// The run never came to be; `reason` is a sentence.
    case runNotStarted(RunID, reason: String)
    /// The run waited for something that is used up, and watchd stops: it is not tried again. `reason` as above.
    case runGivenUp(RunID, reason: String)
    /// A condition of the handler does not hold, so nothing was done; `reason` says which.
    case runSkipped(RunID, output: [UInt8] = [], reason: String)
    /// `output`: the end of what it wrote. `reason`: what the rim adds to a failure.
    case runEnded(RunID, Exit?, output: [UInt8] = [], reason: String? = nil)
    /// A worker has a line that had to wait for the store.
    case handed(RunID, pid: Int32)
    /// A worker is through with lines.
    case answered(worker: RunID, [LineAnswer])
    /// A worker cannot be used any more, though it runs: it is ended. The string says what it did, as the end of a
    /// sentence.
    case workerIsBroken(RunID, String)
    /// How a condition stands that is watched: `nil`, it holds; else why not, as the end of a sentence.
    indirect case hold(HoldCondition, obstacle: String?)
    /// A process of a run has said how far it is (`Progress=`): text on one line.
    case progress(RunID, String)
    /// The resources that the processes of a run have used together; the end of the run is the next input.
    case runUsed(RunID, ResourceUsage)
    /// A running supervised process has become ready (`StartRequest.readiness`).
    case ready(RunID)
    /// All that does not work now, for those who are told (`OnProblem=`, `OnSolved=`).
    case problems([Problem])
    /// A run has gone on for so long that it is kept in mind beyond a crash of the daemon.
    case runIsLong(RunID)
    case store(StoreCondition)
    /// The store could not be opened before: what stands in it.
    indirect case restored(StoredState)
    /// The store is new and empty: the engine has to write down all its state.
    case storeIsNew
    case command(Command, Token)
    /// The sender of a command no longer waits for its answer: it gets none.
    case abandon(Token)
    case reload(Configuration, Token)
    /// Starts nothing more and ends when what runs has ended.
    case drain
    /// Terminates what a drain waits for; once more: kills it.
    case hurry
}

/// A worker's answer about a line that it was given.
package struct LineAnswer: Equatable, Sendable {
    package enum Outcome: String, Sendable {
        /// Without `Ack=`: it stands in the pipe, to its end.
        case written
        case ok, retry, fail
        /// It was taken back before anything of it was written.
        case withdrawn
    }

    package var run: RunID
    package var outcome: Outcome

    package init(_ run: RunID, _ outcome: Outcome) { (self.run, self.outcome) = (run, outcome) }
}

/// Where a source stands.
package enum SourceCondition: Equatable, Sendable {
    /// Not tried yet.
    case opening
    case armed
    /// Not there yet; it is armed by itself when it comes. A sentence.
    indirect case waiting(String)
    /// It could not be armed; a sentence, and when it is tried again by itself: wall clock, microseconds.
    indirect case failed(String, retryAt: Int64? = nil)
    case closed

    /// The same but for the time of the next try.
    package func isSame(as other: SourceCondition) -> Bool {
        if case .failed(let reason, _) = self, case .failed(let otherReason, _) = other { return reason == otherReason }
        return self == other
    }
}

/// A client's request; every one is answered with a `Reply` to its token.
package enum Command: Sendable {
    /// Fires custom sources, all or none of them. `caller`: the operation of whose run the client is a part; it does
    /// not wait for room that could only come after that.
    ///
    /// `waits`: of one event; answer when all that it starts has ended.
    case emit([Emission], caller: UInt64? = nil, waits: Bool = false)
    case run(RunCommand)
    /// A command for a queue.
    indirect case submit(SubmitCommand)
    /// `until`: wall clock, microseconds.
    case suspend(name: String, by: String, reason: String?, until: Int64?)
    case resume(name: String)
    /// As `suspend`; answered when nothing runs there any more, or `after` that many microseconds.
    case suspendAndWait(
        name: String, by: String, reason: String?, until: Int64?, after: Int64?, caller: UInt64?)
    /// Suspends queues behind all that has its place there; answered when nothing runs there any more.
    indirect case drain(DrainCommand)
    /// Units of a semaphore for a client; answered when it has them, with the operation that holds them.
    indirect case acquire(AcquireCommand)
    /// The client of an `acquire` has ended.
    case endHold(operation: UInt64)
    case cancel(operation: UInt64)
    case cancelQueue(name: String)
    case priority(OperationPriority, operation: UInt64)
    /// Runs failed operations again, as new ones with the same events.
    case retry([StoredOperation])
    /// Gives to a semaphore.
    case signal(semaphore: String, count: Int)
    /// Answered with a ticket. The rim leaves for clients that go without leaving, and for holders that end.
    case enterGroup(name: String, for: CommandFact.Holder? = nil)
    case leaveGroup(name: String, ticket: UInt64)
    /// Steers the processes of a `[Process]` with `Command=`: answered when they are up, or gone.
    case process(ProcessVerb, name: String)
    /// Answered when it has come, or `after` that many microseconds. `caller`: the operation of whose run the client is
    /// a part; a wait that could only end after it is refused.
    case wait(Awaited, after: Int64?, caller: UInt64?, raisesQoS: Bool = true)
}

package enum ProcessVerb: String, CaseIterable, Sendable {
    case start, stop, restart
}

/// A condition that a client may wait for.
package enum Awaited: Hashable, Sendable {
    /// The end of an operation.
    case operation(UInt64)
    /// That a queue (or group) is empty: nothing waits or runs there.
    case named(String)
    /// That a reload has been applied.
    case reload
    /// That watchd has stopped.
    case drain
}

/// `Engine.Command`, where `Command` alone could also be the watch file's.
package typealias ClientCommand = Command

extension Engine {
    package typealias Command = ClientCommand
}

extension Command {
    package struct Emission: Sendable {
        package var name: String
        package var fact: CustomFact
        /// The span of the client.
        package var trace: TraceContext?

        package init(name: String, fact: CustomFact, trace: TraceContext? = nil) {
            self.name = name
            self.fact = fact
            self.trace = trace
        }
    }

    package struct DrainCommand: Sendable {
        /// `nil`: all.
        package var queue: String?
        package var user: String
        package var reason: String?
        /// Microseconds; then all queues go on.
        package var timeout: Int64?
        /// The operation of whose run the client is a part.
        package var caller: UInt64?

        package init(
            queue: String?, by user: String, reason: String? = nil, timeout: Int64? = nil, caller: UInt64? = nil
        ) {
            (self.queue, self.user, self.reason) = (queue, user, reason)
            (self.timeout, self.caller) = (timeout, caller)
        }
    }

    package struct AcquireCommand: Sendable {
        package var semaphore: String
        package var count: Int
        /// Shown as what holds them.
        package var words: [String]
        package var user: String
        /// They are held as long as it lives.
        package var holder: CommandFact.Holder
        /// Microseconds.
        package var timeout: Int64?
        /// The operation of whose run the client is a part.
        package var caller: UInt64?

        package init(
            _ semaphore: String, count: Int, words: [String], by user: String, for holder: CommandFact.Holder,
            timeout: Int64? = nil, caller: UInt64? = nil
        ) {
            (self.semaphore, self.count, self.words, self.holder) = (semaphore, count, words, holder)
            (self.user, self.timeout, self.caller) = (user, timeout, caller)
        }
    }

    package struct SubmitCommand: Sendable {
        package var queue: String
        package var fact: CommandFact
        /// Operations that have to end first, however they end.
        package var after: [UInt64]
        /// All of `after` have to succeed; else it is cancelled.
        package var isRequired = false
        /// How those of `after` ended that are no more.
        package var ends: [UInt64: Result] = [:]
        /// Microseconds until its time, where it has none yet.
        package var delay: Int64?
        /// Answer when it has ended.
        package var waits: Bool
        /// The client waits for its end by its number.
        package var isAwaited = false
        /// It takes the QoS of a client who waits.
        package var raisesQoS = true
        /// The operation of whose run the client is a part.
        package var caller: UInt64?

        package init(
            queue: String, _ fact: CommandFact, after: [UInt64] = [], delay: Int64? = nil, waits: Bool = false,
            caller: UInt64? = nil
        ) {
            self.queue = queue
            self.fact = fact
            self.after = after
            self.delay = delay
            self.waits = waits
            self.caller = caller
        }
    }

    package struct RunCommand: Sendable {
        package var name: String
        package var paths: [[UInt8]]
        package var lines: [[UInt8]]
        package var data: Int64?
        /// Answer when it has ended.
        package var waits: Bool
        /// The client waits for its end by its number.
        package var isAwaited = false
        /// The operation of whose run the client is a part.
        package var caller: UInt64?
        /// The span of the client.
        package var trace: TraceContext?

        /// Nothing is given for the event.
        var isEmpty: Bool { paths.isEmpty && lines.isEmpty && data == nil }

        package init(
            name: String, paths: [[UInt8]] = [], lines: [[UInt8]] = [], data: Int64? = nil, waits: Bool = false,
            caller: UInt64? = nil, trace: TraceContext? = nil
        ) {
            self.name = name
            self.paths = paths
            self.lines = lines
            self.data = data
            self.waits = waits
            self.caller = caller
            self.trace = trace
        }
    }
}
