package import WatchFile

/// Where an event comes from: a source of the watch file, or watchd itself.
package enum Origin: Hashable, Sendable, CustomStringConvertible {
    case source(SourceID)
    /// `OnSuccess=`, `OnFailure=`, `OnFinished=` of the handler named.
    case completion(handler: String)
    /// `watchctl run` of the handler named.
    case run(handler: String)
    /// `Finalizer=` of the queue named.
    case finalizer(queue: String)
    /// `OnSilence=`, `OnSound=` of the source named.
    case silence(SourceID)
    /// `OnProblem=`, `OnSolved=`: something that does not work, or does again.
    case problem(object: String)
    /// `DigestSec=` of the handler named.
    case digest(handler: String)

    package var description: String {
        switch self {
        case .source(let id): id.description
        case .completion(let handler): "completion/\(handler)"
        case .run(let handler): "run/\(handler)"
        case .finalizer(let queue): "finalizer/\(queue)"
        case .silence(let id): "silence/\(id)"
        case .problem(let object): "problem/\(object)"
        case .digest(let handler): "digest/\(handler)"
        }
    }

    /// The kind of the source; of what watchd makes itself none.
    var kind: String { if case .source(let id) = self { id.kind.rawValue } else { "" } }

    /// Of a completion: the handler that has ended.
    package var completedHandler: String? { if case .completion(let handler) = self { handler } else { nil } }

    /// The bare name, as `%{source}` gives it.
    package var name: String {
        switch self {
        case .source(let id), .silence(let id): id.name
        case .completion(let handler), .run(let handler), .digest(let handler): handler
        case .finalizer(let queue): queue
        case .problem(let object): object
        }
    }
}

/// One immutable fact, or several of one subject merged into their net effect.
package struct Event: Equatable, Sendable {
    /// Of the newest event merged in; ids increase and start at 1.
    package var id: UInt64
    /// When the newest one came: microseconds of the wall clock since the epoch.
    package var time: Int64
    /// How many were merged; at least 1. It is also the number of deliveries the entry stands for.
    package var count: Int
    package var fact: Fact
    /// `watchctl run` made it: nothing has happened that its source would tell of.
    package var isByHand = false
    /// Empty, or one: a word, for what few events have.
    private var extras: [Extras] = []

    struct Extras: Equatable, Sendable {
        var trace: TraceContext?
        var origin: Origin?
    }

    /// The span that it came from; `nil`: it begins a trace of its own.
    package var trace: TraceContext? {
        get { extras.first?.trace }
        set { extra { $0.trace = newValue } }
    }

    /// Of an event in a digest: where it came from. `nil`: from the origin of its operation.
    package var origin: Origin? {
        get { extras.first?.origin }
        set { extra { $0.origin = newValue } }
    }

    private mutating func extra(_ change: (inout Extras) -> Void) {
        var extra = extras.first ?? Extras()
        change(&extra)
        extras = extra == Extras() ? [] : [extra]
    }

    package init(id: UInt64, time: Int64, count: Int = 1, fact: Fact) {
        self.id = id
        self.time = time
        self.count = count
        self.fact = fact
    }

    /// The event with another net effect.
    func telling(_ fact: Fact, count: Int) -> Event {
        var event = Event(id: id, time: time, count: count, fact: fact)
        event.isByHand = isByHand
        event.extras = extras
        return event
    }

    /// By hand, and without anything that the caller gave: the fact is as a source makes it.
    package var isMadeUp: Bool {
        guard isByHand else { return false }
        return switch fact {
        case .timer: true
        case .custom(let fact): fact.data == 1 && fact.payload == nil
        default: false
        }
    }

    /// Data 0 without a payload, which is no event, as in Dispatch.
    var isNothing: Bool {
        if case .custom(let fact) = fact { fact.data == 0 && fact.payload == nil } else { false }
    }

    /// An operation that was stored before a crash may stand for it, too.
    var isRepeated: Bool { if case .line(let line) = fact { line.isRepeated } else { false } }
}

/// The data of an event, by kind.
package enum Fact: Equatable, Sendable {
    /// `scheduled`: the wall-clock microsecond it was due.
    case timer(scheduled: Int64)
    case signal(SignalFact)
    case path(PathFact)
    case line(LineFact)
    case process(ProcessFact)
    case unit(UnitFact)
    case custom(CustomFact)
    case group(GroupFact)
    /// A queue is to go, and its last operation has ended.
    case finalizer
    indirect case completion(CompletionFact)
    case silence(SilenceFact)
    indirect case command(CommandFact)
    indirect case problem(ProblemFact)

    /// The number by which a source is told that all that was made of it has ended.
    package var handover: UInt64? {
        switch self {
        case .line(let line): line.handover
        case .path(let path): path.handover
        case .timer, .signal, .process, .unit, .custom, .group, .finalizer, .completion, .silence, .command,
            .problem:
            nil
        }
    }

    /// The `kind` a handler is told.
    package var kind: String {
        switch self {
        case .timer: "timer"
        case .signal: "signal"
        case .path: "path"
        case .line: "descriptor"
        case .process: "process"
        case .unit: "unit"
        case .custom: "custom"
        case .group: "group"
        case .finalizer: "finalizer"
        case .completion: "completion"
        case .silence: "silence"
        case .command: "command"
        case .problem: "problem"
        }
    }

    /// The `event` a handler is told: what happened, in one word.
    package var eventName: String {
        switch self {
        case .timer: "elapsed"
        case .signal: "received"
        case .path(let path): path.change.rawValue
        case .line(let line): line.form.rawValue
        case .process(let process): process.event.rawValue
        case .unit(let unit): unit.change.rawValue
        case .custom: "emitted"
        case .group, .finalizer: "finished"
        case .completion(let completion): completion.outcome.rawValue
        case .silence(let silence): silence.isOver ? "sound" : "silence"
        case .command: "submitted"
        case .problem(let fact): fact.isSolved ? "solved" : "problem"
        }
    }
}

package struct SignalFact: Equatable, Sendable {
    package var number: Int32
    package var senderPID: Int32
    package var senderUID: UInt32
    /// The value sent along by `sigqueue(3)`; `nil` for `kill(2)`.
    package var value: Int32?
    /// The path of the sender's executable, where it could still be read.
    package var senderExecutable: [UInt8]?

    package init(
        number: Int32, senderPID: Int32, senderUID: UInt32, value: Int32? = nil, senderExecutable: [UInt8]? = nil
    ) {
        self.number = number
        self.senderPID = senderPID
        self.senderUID = senderUID
        self.value = value
        self.senderExecutable = senderExecutable
    }
}

/// A change at a path.
package enum PathChange: String, CaseIterable, Sendable {
    case created, written, modified, attributes, deleted, renamed
}

extension PathEvents {
    package init(_ change: PathChange) {
        self =
            switch change {
            case .created: .created
            case .written: .written
            case .modified: .modified
            case .attributes: .attributes
            case .deleted: .deleted
            case .renamed: .renamed
            }
    }
}

package struct PathFact: Equatable, Sendable {
    package var change: PathChange
    /// Byte-exact; the new path of a rename.
    package var path: [UInt8]
    package var oldPath: [UInt8]?
    /// The watched path it was found below.
    package var root: [UInt8]
    /// Found by comparing, not reported by the kernel.
    package var isRecovered: Bool
    /// The rename replaced something that stood at the new path.
    package var hasReplaced: Bool

    package enum Before: Sendable {
        case nothing, file, folder
    }

    /// The thing that stood at the path before, where the change does not say it; `nil`: it does. Nothing did where
    /// something is created, something of the same kind where a rename has replaced it or anything else has happened.
    package var before: Before?
    /// Of a condition that holds: to be told, by this number, when all that was made of it has ended.
    package var handover: UInt64?
    /// A folder of a tree, of which nothing is ever `written`.
    package var isFolder: Bool
    /// The end of a folder that came and went at once: it counts on top of what waits, and is nothing by itself.
    package var isUntold = false

    /// - Parameter isNew: nothing stood at the path before, although the change is not told as `created`.
    package init(
        _ change: PathChange, path: [UInt8], oldPath: [UInt8]? = nil, root: [UInt8] = [], isRecovered: Bool = false,
        hasReplaced: Bool = false, isNew: Bool = false, isFolder: Bool = false
    ) {
        self.change = change
        self.path = path
        self.oldPath = oldPath
        self.root = root
        self.isRecovered = isRecovered
        self.hasReplaced = hasReplaced
        before = isNew ? .nothing : nil
        self.isFolder = isFolder
    }
}

/// The data of a descriptor: a line or a datagram without its terminator, a chunk, or the descriptor itself.
package struct LineFact: Equatable, Sendable {
    /// The form of the data; the raw value is the `event` a handler is told.
    package enum Form: String, CaseIterable, Sendable {
        case line, datagram, chunk
        /// `Framing=ready`: the descriptor can be read or written, and the handler does it.
        case ready
        /// `Accept=yes`: a connection, which the handler gets.
        case connection
        /// `Pressure=`: the stall was reached.
        case pressure
    }

    package var form: Form
    package var bytes: [UInt8]
    /// The writer went away before it ended the line, or the line was cut at `MaxLength=`.
    package var isIncomplete: Bool
    /// The sender of the datagram or the connecting process, where that is known.
    package var peer: String?
    /// `%1` to `%9`: what the groups of `Include=` matched; at most nine.
    package var captures: [[UInt8]]
    /// The descriptor that the handler gets as standard input and output, by the rim's number for it.
    package var handover: UInt64?
    /// The daemon before may have told it, too: it was killed before it had taken the bytes out.
    package var isRepeated = false

    package init(
        _ bytes: [UInt8], form: Form = .line, isIncomplete: Bool = false, peer: String? = nil,
        captures: [[UInt8]] = [], handover: UInt64? = nil
    ) {
        self.bytes = bytes
        self.form = form
        self.isIncomplete = isIncomplete
        self.peer = peer
        self.captures = captures
        self.handover = handover
    }
}

package struct ProcessFact: Equatable, Sendable {
    package var event: ProcessEvent
    package var pid: Int32
    /// Of a `Match=`: the path of its executable.
    package var executable: [UInt8]?
    /// `nil`: the kernel did not tell (of a process that is not ours: before 6.15, or where it may not be looked at).
    package var exit: Exit?
    /// Microseconds from its start to its end.
    package var runTime: Int64?

    package init(
        _ event: ProcessEvent = .exit, pid: Int32, exit: Exit? = nil, runTime: Int64? = nil, executable: [UInt8]? = nil
    ) {
        self.event = event
        self.executable = executable
        self.pid = pid
        self.exit = exit
        self.runTime = runTime
    }
}

/// The new state of a systemd unit.
package struct UnitFact: Equatable, Sendable {
    /// With its suffix: `postgresql.service`.
    package var unit: String
    package var change: UnitChange
    /// systemd's `Result` of the unit, where it has one: `success`, `exit-code`, `timeout`, ….
    package var result: String?

    package init(unit: String, change: UnitChange, result: String? = nil) {
        self.unit = unit
        self.change = change
        self.result = result
    }
}

/// A source has had no event for its `SilenceSec=`, or has one again.
package struct SilenceFact: Equatable, Sendable {
    /// Microseconds since its last event, or since it was armed.
    package var silent: Int64
    /// It is heard again.
    package var isOver: Bool

    package init(silent: Int64, isOver: Bool = false) {
        self.silent = silent
        self.isOver = isOver
    }
}

package struct CustomFact: Equatable, Sendable {
    package var data: Int64?
    /// JSON text, on one line.
    package var payload: [UInt8]?

    package init(data: Int64?, payload: [UInt8]? = nil) {
        self.data = data
        self.payload = payload
    }
}

/// The members of a group since it fired last: how many operations ran (failed ones too), failed, were cancelled.
package struct GroupFact: Equatable, Sendable {
    package var ran: Int
    package var failed: Int
    package var cancelled: Int
    /// Operations that were lost when watchd did not stop in good order, as far as it is known: a little before it
    /// ended.
    package var lost: Int
    /// The first of those that failed, at most `failureLimit`.
    package var failures: [Failure]

    package static let failureLimit = 100

    /// An operation of a member that failed for good, and why.
    package struct Failure: Equatable, Sendable {
        package var handler: String
        package var operation: UInt64
        /// A sentence.
        package var reason: String

        package init(handler: String, operation: UInt64, reason: String) {
            self.handler = handler
            self.operation = operation
            self.reason = reason
        }
    }

    package init(
        ran: Int = 0, failed: Int = 0, cancelled: Int = 0, lost: Int = 0, failures: [Failure] = []
    ) {
        self.ran = ran
        self.failed = failed
        self.cancelled = cancelled
        self.lost = lost
        self.failures = failures
    }

    /// The failures that an earlier watchd has counted come first.
    mutating func add(earlier: GroupFact) {
        ran += earlier.ran
        failed += earlier.failed
        cancelled += earlier.cancelled
        lost += earlier.lost
        failures = Array((earlier.failures + failures).prefix(Self.failureLimit))
    }
}

/// How a process ended.
package enum Exit: Hashable, Sendable {
    case exited(Int32)
    case signaled(Int32)
}

/// The record of a run, as a completion handler is told it.
package struct CompletionFact: Equatable, Sendable {
    package enum Outcome: String, Sendable {
        case success, failure, retry, change, finished
        /// It has not started in time; it still runs after its time. It has no result yet.
        case late, slow
    }

    package var outcome: Outcome
    package var operation: UInt64
    /// `nil`: it has not ended.
    package var result: Result?
    /// Why it ended so, or has not: a sentence. `nil`: it succeeded.
    package var reason: String?
    package var exit: Exit?
    /// The end of what it wrote.
    package var output: [UInt8]
    /// The newest event of the reported operation and where it came from: its scalars are told too.
    package var cause: Event
    package var causeOrigin: Origin

    package init(
        outcome: Outcome, operation: UInt64, result: Result?, reason: String? = nil, exit: Exit?, output: [UInt8],
        cause: Event, causeOrigin: Origin
    ) {
        self.outcome = outcome
        self.operation = operation
        self.result = result
        self.reason = reason
        self.exit = exit
        self.output = output
        self.cause = cause
        self.causeOrigin = causeOrigin
    }

    /// Before the span of `TimeoutSec=`, in the reason of a run that took longer.
    static let timedOut = "timed out after "

    /// How it ended, in a word or two: `done`, `exit 3`, `SIGTERM`, `timed out after 30s`, `stopped`, `late`.
    package var ending: String {
        guard let result else { return outcome.rawValue }
        guard result == .failed else { return result.rawValue }
        if let reason, reason.hasPrefix(Self.timedOut) { return String(reason.prefix { $0 != "," }) }
        return exit?.sentence ?? reason ?? result.rawValue
    }
}

extension CompletionFact {
    package var isFailure: Bool { result?.isFailure ?? false }
}

extension [Event] {
    /// Of completions that are told together, the one that a report is about: the newest that failed, else the newest.
    package var reported: Event? {
        last { if case .completion(let fact) = $0.fact { fact.isFailure } else { false } } ?? last
    }
}

/// How an operation ended.
package enum Result: String, CaseIterable, Sendable {
    case done, failed, cancelled, skipped, dropped, annulled
    /// `Overlap=restart`: terminated for a newer operation, which has its events now.
    case superseded
    /// watchd stopped, and ended it or did not try it again; to all that follows from a result it has failed.
    case stopped

    /// It is kept until it is tried again or forgotten.
    package var isFailure: Bool { self == .failed || self == .stopped }
    /// It tells how a handler did; else its events went elsewhere, or came to nothing.
    package var isOutcome: Bool { self != .annulled && self != .superseded }
}
