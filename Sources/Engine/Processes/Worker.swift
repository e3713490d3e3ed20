import Schedule
import WatchFile

/// One copy of the command of a `Stream=` handler: where its process is, and how it ended last.
///
///                    start                spawned
///         down ──────────────▶ starting ─────────▶ up ──┐ ended by itself
///          ▲                       │                │   ▼
///          │ elapsed               │ close,         │  backingOff ──▶ down
///          └── backingOff          │ terminate      │
///                                  ▼                ▼
///                   down or backingOff ◀── ended ── ending (closing ▶ terminating ▶ killed)
///
/// Each method is one input. It changes the state and returns what has to be done. A copy is started from `down` only,
/// in which nothing of it runs: so it never runs twice.
struct Worker: Sendable {
    /// A process, or a spawn that is on its way.
    struct Process: Equatable, Sendable {
        var run: RunID
        var pid: Int32?
        /// When it was started; before it is up, when that was asked for.
        var since: Moment
    }

    /// Why it is made to end.
    enum Reason: Equatable, Sendable {
        /// `IdleSec=`.
        case idle
        /// A reload has changed what it is started with.
        case replaced
        /// A reload has lowered `Workers=`, or removed the handler.
        case unwanted
        case stopping
        /// `TimeoutSec=` of a line is over.
        case late(UInt64)
        /// It did not answer the cancel of a line within `TimeoutStopSec=`.
        case deaf(UInt64)
        /// Its answers cannot be understood, or it has closed its end of a pipe. A sentence.
        case broken(String)

        /// An earlier watchd started it, and was killed: its standard input has ended.
        case left

        /// The worker wrote what is no answer, and the line it has may be why.
        var isNonsense: Bool { if case .broken = self { true } else { false } }

        /// It is to blame, so a pause comes before its next start.
        var isFault: Bool {
            switch self {
            case .idle, .replaced, .unwanted, .stopping, .left: false
            case .late, .deaf, .broken: true
            }
        }
    }

    /// How far its end has come. Each step is harder.
    private enum Step: Equatable, Sendable {
        /// Its standard input is closed, or is as soon as all lines are written.
        case closing
        /// It has its `KillSignal=`.
        case terminating
        case killed
    }

    private enum State: Equatable, Sendable {
        case down
        case starting(Process)
        case up(Process)
        /// `until`: monotonic.
        case backingOff(until: Int64)
        /// `deadline`: monotonic, of the next step; `nil`: there is none, or it holds lines that it may finish.
        case ending(Process, Step, Reason, deadline: Int64?)
    }

    /// The steps that an input may call for.
    enum Call: Equatable, Sendable {
        case nothing
        case start(RunID)
        /// No further line comes: its standard input is closed when all it has been given is written.
        case close(RunID)
        case signal(RunID, Int32)
    }

    /// A process that ran so long (and no shorter than the pause before it) has done well: the next pause is the
    /// shortest again. Microseconds.
    static let healthyRun: Int64 = 10_000_000

    private var state = State.down
    /// How it ended last, in a few words.
    private(set) var outcome: String?
    /// Wall clock: when that was.
    private(set) var outcomeTime: Int64?
    /// Starts after an end that nobody had asked for.
    private(set) var restarts = 0
    private var isRestart = false
    /// The pause before its last restart; 0: there was none.
    private var pause: Int64 = 0
    /// Wall clock: since when it is where it is.
    private(set) var since: Int64

    init(at now: Moment) { since = now.realtime }

    // MARK: Views of it

    var process: Process? {
        switch state {
        case .starting(let process), .up(let process), .ending(let process, _, _, _): process
        case .down, .backingOff: nil
        }
    }

    /// It takes lines.
    var isOpen: Bool { if case .up = state { true } else { false } }
    var isStarting: Bool { if case .starting = state { true } else { false } }
    var isDown: Bool { state == .down }
    var isBackingOff: Bool { if case .backingOff = state { true } else { false } }

    /// `nil`: it is not made to end.
    var reason: Reason? { if case .ending(_, _, let reason, _) = state { reason } else { nil } }

    /// When it wants to be told of the time (monotonic).
    var deadline: Int64? {
        switch state {
        case .backingOff(let until): until
        case .ending(_, _, _, let deadline): deadline
        case .down, .starting, .up: nil
        }
    }

    var stage: SupervisedView.Stage {
        switch state {
        case .down: .down
        case .starting: .starting
        case .up: .up
        case .backingOff: .backingOff
        case .ending: .stopping
        }
    }

    // MARK: Inputs

    mutating func start(as run: RunID, at now: Moment) -> Call {
        guard isDown else { return .nothing }
        if isRestart { restarts += 1 }
        isRestart = false
        enter(.starting(Process(run: run, pid: nil, since: now)), now)
        return .start(run)
    }

    /// A process that an earlier watchd started: nothing takes its place before it has ended.
    mutating func adopt(_ process: Process, _ definition: HandlerDefinition, at now: Moment) {
        guard isDown else { impossible("adopted") }
        enter(.ending(process, .closing, .left, deadline: Self.patience(definition, now)), now)
    }

    mutating func spawned(_ pid: Int32, at now: Moment) {
        switch state {
        case .starting(let process):
            enter(.up(Process(run: process.run, pid: pid, since: now)), now)
        // The rim keeps the wish of the engine until it can be done.
        case .ending(let process, let step, let reason, let deadline):
            state = .ending(Process(run: process.run, pid: pid, since: now), step, reason, deadline: deadline)
        case .down, .up, .backingOff: impossible("spawned")
        }
    }

    /// No further line comes. `isEmpty`: it holds none, so its time runs; else it may finish them.
    mutating func close(_ reason: Reason, _ definition: HandlerDefinition, isEmpty: Bool, at now: Moment) -> Call {
        switch state {
        case .down: return .nothing
        case .backingOff:
            if reason == .unwanted || reason == .stopping || reason == .replaced { enter(.down, now) }
            return .nothing
        case .starting(let process), .up(let process):
            let deadline = isEmpty ? Self.patience(definition, now) : nil
            enter(.ending(process, .closing, reason, deadline: deadline), now)
            return .close(process.run)
        case .ending: return .nothing
        }
    }

    /// It has answered for all lines that it held.
    mutating func emptied(_ definition: HandlerDefinition, at now: Moment) {
        guard case .ending(let process, .closing, let reason, nil) = state else { return }
        state = .ending(process, .closing, reason, deadline: Self.patience(definition, now))
    }

    /// It is to end now, whatever it holds.
    mutating func terminate(_ reason: Reason, _ definition: HandlerDefinition, at now: Moment) -> Call {
        switch state {
        case .down, .ending(_, .terminating, _, _), .ending(_, .killed, _, _): return .nothing
        case .backingOff:
            if !reason.isFault { enter(.down, now) }
            return .nothing
        case .starting(let process), .up(let process), .ending(let process, .closing, _, _):
            enter(.ending(process, .terminating, reason, deadline: Self.patience(definition, now)), now)
            return .signal(process.run, definition.killSignal)
        }
    }

    mutating func kill(_ reason: Reason, at now: Moment) -> Call {
        switch state {
        case .down, .ending(_, .killed, _, _): return .nothing
        case .backingOff:
            enter(.down, now)
            return .nothing
        case .starting(let process), .up(let process), .ending(let process, _, _, _):
            enter(.ending(process, .killed, self.reason ?? reason, deadline: nil), now)
            return .signal(process.run, 9)
        }
    }

    /// Its process has ended, or never came to be. `hasServed`: it was through with a line since its start.
    mutating func ended(
        _ exit: Exit?, reason: String?, _ stream: StreamAction, hasServed: Bool, at now: Moment
    ) {
        let before = state
        guard let process else { impossible("ended") }
        outcomeTime = now.realtime
        outcome = outcome(of: process, exit, reason, now)
        let ran = max(0, now.boottime - process.since.boottime)
        if process.pid != nil, ran >= max(Self.healthyRun, pause) || (exit == .exited(0) && hasServed) { pause = 0 }
        if case .ending(_, _, let why, _) = before, !why.isFault {
            isRestart = false
            return enter(.down, now)
        }
        isRestart = true
        let first = Self.bounded(stream.restartDelay)
        pause = pause == 0 ? first : min(max(first, 2 * pause), Self.bounded(stream.restartMaxDelay))
        enter(.backingOff(until: now.monotonic + pause), now)
    }

    /// The time may have come that it waits for. From a pause it is down afterwards.
    mutating func elapsed(_ definition: HandlerDefinition, at now: Moment) -> Call {
        guard let deadline, deadline <= now.monotonic else { return .nothing }
        switch state {
        case .backingOff:
            enter(.down, now)
            return .nothing
        case .ending(_, .closing, let reason, _): return terminate(reason, definition, at: now)
        case .ending(_, .terminating, let reason, _): return kill(reason, at: now)
        case .ending(_, .killed, _, _), .down, .starting, .up: return .nothing
        }
    }

    // MARK: States

    private mutating func enter(_ next: State, _ now: Moment) {
        state = next
        since = now.realtime
    }

    private func outcome(of process: Process, _ exit: Exit?, _ reason: String?, _ now: Moment) -> String {
        guard process.pid != nil else { return "could not be started: \(reason ?? "its end is unknown")" }
        let ran = SpanText.elapsed(now.boottime - process.since.boottime)
        let end = "\(exit?.sentence ?? reason ?? "ended, how is unknown,") after \(ran)"
        guard let why = self.reason else { return end }
        return "\(why.sentence); \(end)"
    }

    private static func patience(_ definition: HandlerDefinition, _ now: Moment) -> Int64? {
        let span = definition.timeoutStop.microseconds
        return span < UInt64(Int64.max / 4) ? now.monotonic + Int64(span) : nil
    }

    private static func bounded(_ span: TimeSpan) -> Int64 { Int64(min(span.microseconds, UInt64(Int64.max / 8))) }

    private func impossible(_ input: String) -> Never {
        preconditionFailure("\(input) of a worker that is \(state)")
    }
}

extension Worker.Reason {
    /// `ended for a reload`.
    var sentence: String {
        switch self {
        case .idle: "ended when idle"
        case .replaced: "ended for a reload"
        case .unwanted: "ended as nothing asks for it any more"
        case .stopping: "ended because watchd stops"
        case .late(let id): "ended because TimeoutSec= of operation \(id) was over"
        case .deaf(let id): "ended because it did not answer the cancel of operation \(id)"
        case .broken(let why): "ended because it \(why)"
        case .left: "ended, as the watchd that had started it was killed"
        }
    }
}
