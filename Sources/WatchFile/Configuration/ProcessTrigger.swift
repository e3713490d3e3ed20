package import Schedule

/// `[Process]`: which processes it tells of.
package enum ProcessTrigger: Equatable, Sendable {
    /// `PIDFile=`: an absolute path.
    case pidFile([UInt8])
    /// `Command=`: started and supervised by watchd.
    indirect case command(SupervisedCommand)
    /// `Match=`: any process with such an executable.
    case match(ProcessMatch)

    /// Its processes come and go, and none of them is missed.
    package var isMatch: Bool { if case .match = self { true } else { false } }
}

/// `Match=` with `Events=`.
package struct ProcessMatch: Equatable, Sendable {
    /// An absolute path; `*`, `?` and `[…]` stay within a folder, `**` does not.
    package var pattern: [UInt8]
    /// Never empty.
    package var events: Set<ProcessEvent>

    package init(pattern: [UInt8], events: Set<ProcessEvent> = [.exit]) {
        self.pattern = pattern
        self.events = events
    }
}

/// `Command=` of a `[Process]`: copies of one command that are kept running.
package struct SupervisedCommand: Equatable, Sendable {
    /// `Restart=`: what its end calls for.
    package enum Restart: String, CaseIterable, Sendable {
        case no
        case onFailure = "on-failure"
        case always
    }

    /// When a copy that runs is ready for those that come after it.
    package enum Readiness: Equatable, Sendable {
        /// As soon as it runs.
        case running
        /// `ReadyLine=`: it has written a line that matches this expression (`LinePattern`).
        case line([UInt8])
        /// `ReadyPath=`: something stands at this absolute path.
        case path([UInt8])
        /// `NotifyReady=`: it has said so, as `sd_notify(3)` does.
        case notification
    }

    package var readiness = Readiness.running
    /// `After=process/NAME`: names of other such processes that have to be ready before it is first started.
    package var after: [String] = []
    /// The launch and the stop of a copy: the keys that handlers have too. One command, no specifiers, nothing on
    /// standard input.
    package var process: HandlerDefinition
    /// `Workers=`: copies; at least 1.
    package var workers: Int
    package var restart: Restart
    /// `RestartSec=`: before the first restart, then twice as long each time, up to `restartMaxDelay`. At least 1 ms.
    package var restartDelay: TimeSpan
    /// `RestartMaxDelaySec=`; not shorter than `restartDelay`. `.infinity`: no limit.
    package var restartMaxDelay: TimeSpan

    /// `restartMaxDelay`: 30 s, or `restartDelay` where that is longer.
    package init(
        process: HandlerDefinition, workers: Int = 1, restart: Restart = .no,
        restartDelay: TimeSpan = .milliseconds(100), restartMaxDelay: TimeSpan? = nil
    ) {
        self.process = process
        self.workers = workers
        self.restart = restart
        self.restartDelay = restartDelay
        self.restartMaxDelay = restartMaxDelay ?? max(.seconds(30), restartDelay)
    }
}
