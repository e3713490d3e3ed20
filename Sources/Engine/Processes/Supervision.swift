import Schedule
package import WatchFile

/// The copies of one supervised command.
struct Supervision: Sendable {
    let id: SourceID
    /// As it stands in the watch file now, or stood there last.
    var command: SupervisedCommand
    var definition: SharedDefinition
    /// `Workers=` of them are wanted; those behind are on their way out.
    var copies: [SupervisedProcess] = []
    /// Ends that it has seen.
    var ends = 0

    init(_ id: SourceID, _ command: SupervisedCommand) {
        self.id = id
        self.command = command
        definition = SharedDefinition(command.process)
    }

    var isDown: Bool { copies.allSatisfy { $0.stage == .down } }

    /// All copies that are wanted are.
    var isReady: Bool { command.workers > 0 && copies.prefix(command.workers).allSatisfy { $0.stage == .up } }

    /// A stop has to wait for it: with `KillMode=none` it is left running, and found again at the next start.
    var isWaitedFor: Bool { command.process.killMode != .none && copies.contains { $0.life != nil } }

    /// Those that nobody wants any more and that have ended.
    mutating func trim() {
        while copies.count > command.workers, copies.last?.stage == .down { copies.removeLast() }
    }
}

/// One copy of a supervised command, for readers.
package struct SupervisedView: Equatable, Sendable {
    package enum Stage: String, CaseIterable, Sendable {
        case down, starting, up
        case backingOff = "backing-off"
        case stopping
    }

    /// From 1.
    package var copy: Int
    package var stage: Stage
    package var isWanted: Bool
    package var pid: Int32?
    /// Since when it is in this stage. Times are microseconds of the wall clock.
    package var since: Int64
    package var restarts: Int
    /// When it is started again, while it is backing off.
    package var nextStart: Int64?
    /// How it ended last, in a few words.
    package var lastEnd: String?
    /// When that was.
    package var lastEndTime: Int64?
}

/// A process of a supervised command, as the store keeps it.
package struct StoredProcess: Equatable, Sendable {
    package var source: SourceID
    /// From 0.
    package var copy: Int
    /// `RunID.operation` of its start: later starts have higher numbers.
    package var start: UInt64
    package var pid: Int32
    /// Wall clock, microseconds.
    package var started: Int64
    /// Boot-time microsecond at which the number was this process's: one that was started later is another one.
    package var seen: Int64
    /// Tells what it was started with; `nil`: that is not known, and it is taken to be what its section says.
    package var launch: LaunchFingerprint?
    /// Whether it still runs. Not stored.
    package var isAlive = true

    package init(
        source: SourceID, copy: Int, start: UInt64, pid: Int32, started: Int64, seen: Int64,
        launch: LaunchFingerprint?
    ) {
        self.source = source
        self.copy = copy
        self.start = start
        self.pid = pid
        self.started = started
        self.seen = seen
        self.launch = launch
    }

    package var run: RunID { RunID(operation: start, attempt: 1, part: copy) }
}
