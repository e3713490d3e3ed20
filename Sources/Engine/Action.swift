package import WatchFile

/// What the engine wants done; the runtime performs it after `handle` has returned.
package enum Action: Sendable {
    /// Watch this source (never a timer or a custom one: those live in the engine).
    case open(SourceDefinition)
    case close(SourceID)
    /// Take in no more of a source until `release`; what cannot wait is remembered as "something changed". What has
    /// already been read may still be handed in, up to 1 000 events.
    case hold(SourceID)
    case release(SourceID)
    /// Send `Input.clock` at this microsecond of the clock.
    case arm(Clock, at: Int64)
    case start(StartRequest)
    /// Send a signal to a run; one whose spawn is on its way gets it as soon as it is there, one that waits for another
    /// try is not started any more.
    case signal(RunID, number: Int32, mode: KillMode)
    /// A `Log=` handler's line.
    case log(handler: String, operation: UInt64, text: [UInt8])
    case reply(Token, Reply)
    case report(Report)
    /// A reload has been applied.
    case reloaded(Token, ConfigurationChange)
    /// A drain is over: nothing runs any more (or what runs could not be ended).
    case drained(leftBehind: [UInt64])
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
    package var origin: Origin
    /// The entries, in the order they came. Never empty.
    package var events: [Event]
}

/// What happened, for logs and followers.
package enum Report: Sendable {
    /// An event was accepted, for these handlers.
    case event(Event, Origin, handlers: [String])
    /// An operation changed its state; `Engine.operation(_:)` tells the rest.
    case operation(UInt64, OperationState)
    /// An operation has ended and is gone from the engine.
    case ended(OperationView)
    /// Deliveries that ended without an operation of their own.
    case refused(Event, Origin, handler: String, Result, reason: String)
}

package enum OperationState: String, CaseIterable, Sendable {
    case pending, ready, executing, finished, cancelled
}

/// The answer to a `Command`.
package enum Reply: Sendable {
    case done
    case events([UInt64])
    case operations([UInt64])
    /// The end of the operations that a `Run` with `wait` started; the worst one.
    case ran(OperationView)
    /// A run that the policies of its handler did not let start.
    case refused(Result, reason: String)
    case cancelled(Int)
    case failure(CommandError)
}

package enum CommandError: Error, Equatable, Sendable {
    case noSuchName(String, nearest: String?)
    case ambiguousName(String, candidates: [String])
    case noSuchOperation(UInt64)
    case queueFull(queue: String, backlog: Int)
    case notSuspended(String)
    case notCustom(String)
    case draining
    case notSupported(String)
}

/// What a reload changed, by full names.
package struct ConfigurationChange: Equatable, Sendable {
    package var added: [String] = []
    package var changed: [String] = []
    package var removed: [String] = []

    package init() {}
}
