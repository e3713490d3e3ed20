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

    package var description: String {
        switch self {
        case .source(let id): id.description
        case .completion(let handler): "completion/\(handler)"
        case .run(let handler): "run/\(handler)"
        case .finalizer(let queue): "finalizer/\(queue)"
        }
    }

    /// The bare name, as `%{source}` gives it.
    package var name: String {
        switch self {
        case .source(let id): id.name
        case .completion(let handler), .run(let handler): handler
        case .finalizer(let queue): queue
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

    package init(id: UInt64, time: Int64, count: Int = 1, fact: Fact) {
        self.id = id
        self.time = time
        self.count = count
        self.fact = fact
    }
}

/// What an event says, by kind.
package enum Fact: Equatable, Sendable {
    /// `scheduled`: the wall-clock microsecond it was due.
    case timer(scheduled: Int64)
    case signal(SignalFact)
    case path(PathFact)
    case line(LineFact)
    case process(ProcessFact)
    case custom(CustomFact)
    case group(GroupFact)
    indirect case completion(CompletionFact)

    /// The `kind` a handler is told.
    package var kind: String {
        switch self {
        case .timer: "timer"
        case .signal: "signal"
        case .path: "path"
        case .line: "descriptor"
        case .process: "process"
        case .custom: "custom"
        case .group: "group"
        case .completion: "completion"
        }
    }

    /// The `event` a handler is told: what happened, in one word.
    package var eventName: String {
        switch self {
        case .timer: "elapsed"
        case .signal: "received"
        case .path(let path): path.change.rawValue
        case .line: "line"
        case .process: "exit"
        case .custom: "emitted"
        case .group: "finished"
        case .completion(let completion): completion.outcome.rawValue
        }
    }
}

package struct SignalFact: Equatable, Sendable {
    package var number: Int32
    package var senderPID: Int32
    package var senderUID: UInt32
    /// What `sigqueue(3)` sent along; `nil` for `kill(2)`.
    package var value: Int32?

    package init(number: Int32, senderPID: Int32, senderUID: UInt32, value: Int32? = nil) {
        self.number = number
        self.senderPID = senderPID
        self.senderUID = senderUID
        self.value = value
    }
}

/// What happened to a path.
package enum PathChange: String, CaseIterable, Sendable {
    case created, written, modified, attributes, deleted, renamed
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

    package init(
        _ change: PathChange, path: [UInt8], oldPath: [UInt8]? = nil, root: [UInt8] = [], isRecovered: Bool = false,
        hasReplaced: Bool = false
    ) {
        self.change = change
        self.path = path
        self.oldPath = oldPath
        self.root = root
        self.isRecovered = isRecovered
        self.hasReplaced = hasReplaced
    }
}

/// A line or a datagram, without its terminator.
package struct LineFact: Equatable, Sendable {
    package var bytes: [UInt8]
    /// The writer went away before it ended the line, or the line was cut at `MaxLength=`.
    package var isIncomplete: Bool
    /// Who sent the datagram, where that is known.
    package var peer: String?

    package init(_ bytes: [UInt8], isIncomplete: Bool = false, peer: String? = nil) {
        self.bytes = bytes
        self.isIncomplete = isIncomplete
        self.peer = peer
    }
}

package struct ProcessFact: Equatable, Sendable {
    package var pid: Int32
    /// `nil`: the kernel did not tell (before 6.15, for a process that is not ours).
    package var exit: Exit?
    /// Microseconds from its start to its end.
    package var runTime: Int64?

    package init(pid: Int32, exit: Exit?, runTime: Int64? = nil) {
        self.pid = pid
        self.exit = exit
        self.runTime = runTime
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

    package init(ran: Int = 0, failed: Int = 0, cancelled: Int = 0) {
        self.ran = ran
        self.failed = failed
        self.cancelled = cancelled
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
    }

    package var outcome: Outcome
    package var operation: UInt64
    package var result: Result
    package var exit: Exit?
    /// The end of what it wrote.
    package var output: [UInt8]
    /// The newest event of the reported operation and where it came from: its scalars are told too.
    package var cause: Event
    package var causeOrigin: Origin

    package init(
        outcome: Outcome, operation: UInt64, result: Result, exit: Exit?, output: [UInt8], cause: Event,
        causeOrigin: Origin
    ) {
        self.outcome = outcome
        self.operation = operation
        self.result = result
        self.exit = exit
        self.output = output
        self.cause = cause
        self.causeOrigin = causeOrigin
    }
}

/// How an operation ended.
package enum Result: String, CaseIterable, Sendable {
    case done, failed, cancelled, skipped, dropped, annulled
    /// `Overlap=restart`: terminated for a newer operation, which has its events now.
    case superseded
}
