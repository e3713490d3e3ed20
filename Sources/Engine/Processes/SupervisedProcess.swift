import Schedule
import WatchFile

/// One copy of a supervised command: what is wanted of it, where it is, and how it ended last are three things.
///
///                   start                 spawned
///         down ─────────────▶ starting ──────────▶ up ──┐ ended, not to be restarted: down
///          ▲  ◀──────────────    │  ▲              │    │
///          │       stop          │  │ elapsed      │ stop, restart
///          │                     ▼  │              ▼    ▼
///          └──────────────── backingOff         stopping ──▶ down, or starting again where it is wanted up
///
/// Each method is one input. It changes the state and returns what has to be done; who calls it does that. A copy is
/// started only from `down` and `backingOff`, in which nothing of it runs: so it never runs twice.
struct SupervisedProcess: Sendable {
    /// By the watch file, or by who spoke last.
    enum Wanted: Equatable, Sendable { case up, down }

    /// A process, or a spawn that is on its way.
    struct Life: Equatable, Sendable {
        var run: RunID
        var pid: Int32?
        /// When it was started; before it is up, when that was asked for.
        var since: Moment
    }

    private enum State: Sendable {
        case down
        case starting(Life)
        case up(Life)
        /// `until`: monotonic.
        case backingOff(until: Int64)
        /// `killAt`: monotonic; `nil`: it has had its SIGKILL, or never gets it.
        case stopping(Life, killAt: Int64?)
    }

    /// How it ended last.
    enum Outcome: Equatable, Sendable {
        /// `exit`: `nil` where nobody knows. `ran`: microseconds.
        case ended(Exit?, ran: Int64)
        /// It never came to be; a sentence.
        case notStarted(String)
    }

    /// The steps that an input may call for.
    enum Step: Equatable, Sendable {
        case nothing
        case start(RunID)
        case signal(RunID, Int32)
    }

    /// A process that ran so long (and no shorter than the pause before it) has done well: the next pause is the
    /// shortest again. Microseconds.
    static let healthyRun: Int64 = 10_000_000

    private(set) var wanted = Wanted.up
    private var state = State.down
    private(set) var outcome: Outcome?
    /// Wall clock: when that was.
    private(set) var outcomeTime: Int64?
    /// Restarts that its end called for.
    private(set) var restarts = 0
    /// The pause before its last restart; 0: there was none.
    private var pause: Int64 = 0
    /// Of what runs: those that come after it may start.
    private(set) var isReady = false
    /// Wall clock: since when it is where it is.
    private(set) var since: Int64

    init(at now: Moment) { since = now.realtime }

    // MARK: Views of it

    var life: Life? {
        switch state {
        case .starting(let life), .up(let life), .stopping(let life, _): life
        case .down, .backingOff: nil
        }
    }

    /// When it wants to be told of the time (monotonic).
    var deadline: Int64? {
        switch state {
        case .backingOff(let until): until
        case .stopping(_, let killAt): killAt
        case .down, .starting, .up: nil
        }
    }

    var stage: SupervisedView.Stage {
        switch state {
        case .down: .down
        case .starting: .starting
        case .up: isReady ? .up : .starting
        case .backingOff: .backingOff
        case .stopping: .stopping
        }
    }

    /// It runs, and those that come after it wait for more than that.
    var isGettingReady: Bool { if case .up = state { !isReady } else { false } }

    // MARK: Inputs

    /// It is to run. `run`: the number of its start, if it is started.
    mutating func start(as run: RunID, at now: Moment) -> Step {
        wanted = .up
        switch state {
        case .down, .backingOff:
            pause = 0
            return begin(run, now)
        case .starting, .up: return .nothing
        // It begins anew when the old one is gone.
        case .stopping: return .nothing
        }
    }

    /// It is not to run.
    mutating func stop(_ command: SupervisedCommand, at now: Moment) -> Step {
        wanted = .down
        switch state {
        case .down, .stopping: return .nothing
        case .backingOff:
            enter(.down, now)
            return .nothing
        case .starting(let life), .up(let life): return end(life, command, now)
        }
    }

    /// A new process is to run; what runs has to end first.
    mutating func restart(_ command: SupervisedCommand, as run: RunID, at now: Moment) -> Step {
        wanted = .up
        switch state {
        case .down, .backingOff: return start(as: run, at: now)
        case .starting(let life), .up(let life): return end(life, command, now)
        case .stopping: return .nothing
        }
    }

    /// There is a process; `isReady`: nothing more is waited for.
    mutating func spawned(_ pid: Int32, isReady: Bool = true, at now: Moment) {
        self.isReady = isReady
        switch state {
        case .starting(let life):
            enter(.up(Life(run: life.run, pid: pid, since: now)), now)
        // The rim keeps the wish of the engine until it can be done.
        case .stopping(let life, let killAt):
            enter(.stopping(Life(run: life.run, pid: pid, since: now), killAt: killAt), now)
        case .down, .up, .backingOff: impossible("spawned")
        }
    }

    /// Its process is ready. One that is stopping stays what it is.
    mutating func becomeReady() { isReady = true }

    /// A process of it that another watchd started; that had its time to become ready.
    mutating func adopt(_ life: Life, at now: Moment) {
        isReady = true
        switch state {
        case .down, .backingOff: enter(.up(life), now)
        case .starting, .up, .stopping: impossible("adopt")
        }
        since = life.since.realtime
    }

    /// Its process has ended, or never came to be. `run`: the number of the next start, if there is one.
    mutating func ended(
        _ exit: Exit?, reason: String?, _ command: SupervisedCommand, as run: RunID, at now: Moment
    ) -> Step {
        outcomeTime = now.realtime
        switch state {
        case .starting:
            outcome = .notStarted(reason ?? "its end is unknown")
            return backOff(command, isSuccess: false, now)
        case .up(let life):
            let ran = max(0, now.boottime - life.since.boottime)
            outcome = .ended(exit, ran: ran)
            if ran >= max(Self.healthyRun, pause) { pause = 0 }
            return backOff(command, isSuccess: exit.map(command.process.isSuccess) ?? false, now)
        case .stopping(let life, _):
            outcome =
                life.pid == nil
                ? .notStarted(reason ?? "stopped before it was started")
                : .ended(exit, ran: max(0, now.boottime - life.since.boottime))
            enter(.down, now)
            return wanted == .up ? start(as: run, at: now) : .nothing
        case .down, .backingOff: impossible("ended")
        }
    }

    /// The time may have come that it waits for.
    mutating func elapsed(as run: RunID, at now: Moment) -> Step {
        switch state {
        case .backingOff(let until):
            guard until <= now.monotonic else { return .nothing }
            restarts += 1
            return begin(run, now)
        case .stopping(let life, let killAt?):
            guard killAt <= now.monotonic else { return .nothing }
            return kill(life, now)
        case .down, .starting, .up, .stopping(_, nil): return .nothing
        }
    }

    /// It has no time left.
    mutating func kill(at now: Moment) -> Step {
        wanted = .down
        switch state {
        case .down: return .nothing
        case .backingOff:
            enter(.down, now)
            return .nothing
        case .starting(let life), .up(let life), .stopping(let life, _): return kill(life, now)
        }
    }

    // MARK: States

    private mutating func enter(_ next: State, _ now: Moment) {
        state = next
        since = now.realtime
    }

    private mutating func begin(_ run: RunID, _ now: Moment) -> Step {
        enter(.starting(Life(run: run, pid: nil, since: now)), now)
        return .start(run)
    }

    private mutating func end(_ life: Life, _ command: SupervisedCommand, _ now: Moment) -> Step {
        let patience = command.process.timeoutStop.microseconds
        let killAt = patience < UInt64(Int64.max / 4) ? now.monotonic + Int64(patience) : nil
        enter(.stopping(life, killAt: killAt), now)
        return .signal(life.run, command.process.killSignal)
    }

    private mutating func kill(_ life: Life, _ now: Moment) -> Step {
        enter(.stopping(life, killAt: nil), now)
        return .signal(life.run, 9)
    }

    /// It is down; it goes up again after a pause, where `Restart=` says so.
    private mutating func backOff(_ command: SupervisedCommand, isSuccess: Bool, _ now: Moment) -> Step {
        guard wanted == .up, command.restart == .always || (command.restart == .onFailure && !isSuccess) else {
            enter(.down, now)
            return .nothing
        }
        let first = Self.bounded(command.restartDelay)
        pause = pause == 0 ? first : min(max(first, 2 * pause), Self.bounded(command.restartMaxDelay))
        enter(.backingOff(until: now.monotonic + pause), now)
        return .nothing
    }

    private static func bounded(_ span: TimeSpan) -> Int64 { Int64(min(span.microseconds, UInt64(Int64.max / 8))) }

    private func impossible(_ input: String) -> Never {
        preconditionFailure("\(input) of a supervised process that is \(state)")
    }
}
