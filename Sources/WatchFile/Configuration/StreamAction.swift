package import Schedule

/// `Stream=`: copies of a command that are kept running; each operation is one line on the standard input of one of
/// them.
package struct StreamAction: Equatable, Sendable {
    /// The most `Workers=`.
    package static let maximumWorkers = 1000
    /// The most `Prefetch=`.
    package static let maximumPrefetch = 100_000

    /// One command, no specifiers.
    package var command: Command
    /// `Workers=`: copies; at least 1.
    package var workers: Int
    /// `Prefetch=`: lines that a worker may hold; at least 1.
    package var prefetch: Int
    /// `Ack=`: an operation is done when its worker says so; else when its line is in the pipe.
    package var isAcknowledged: Bool
    /// `IdleSec=`: a worker that held nothing for so long is ended, and started again when there is a line for it.
    /// `.infinity`: all of them run all the time.
    package var idle: TimeSpan
    /// `RestartSec=`: before the first restart, then twice as long each time, up to `restartMaxDelay`. At least 1 ms.
    package var restartDelay: TimeSpan
    /// `RestartMaxDelaySec=`; not shorter than `restartDelay`. `.infinity`: no limit.
    package var restartMaxDelay: TimeSpan

    /// `restartMaxDelay`: 30 s, or `restartDelay` where that is longer.
    package init(
        command: Command, workers: Int = 1, prefetch: Int = 1, isAcknowledged: Bool = false,
        idle: TimeSpan = .infinity, restartDelay: TimeSpan = .milliseconds(100), restartMaxDelay: TimeSpan? = nil
    ) {
        self.command = command
        self.workers = workers
        self.prefetch = prefetch
        self.isAcknowledged = isAcknowledged
        self.idle = idle
        self.restartDelay = restartDelay
        self.restartMaxDelay = restartMaxDelay ?? max(.seconds(30), restartDelay)
    }
}
