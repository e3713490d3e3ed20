extension Manager {
    /// Processes that watchd starts and supervises.
    static let processDescriptions = """
        # Start a [Process] with Command=, all copies of it. The reply comes when they are up; at once, if they are already. A
        # pause before a restart is over.
        method Start(
          # The process.
          name: string
        ) -> (
          # The process, with its kind.
          name: string,
          # How its copies stand.
          processes: []SupervisedProcess
        )

        # Stop a [Process] with Command= by its KillSignal=, after TimeoutStopSec= by SIGKILL. The reply comes when it is gone.
        # It stays down until Start, Restart, or the next start of watchd.
        method StopProcess(
          # The process.
          name: string
        ) -> (
          # The process, with its kind.
          name: string,
          # How its copies stand.
          processes: []SupervisedProcess
        )

        # Stop and start a [Process] with Command=; one that is down is started. The reply comes when the new one is up.
        method Restart(
          # The process.
          name: string
        ) -> (
          # The process, with its kind.
          name: string,
          # How its copies stand.
          processes: []SupervisedProcess
        )

        # One copy of a process that watchd starts and supervises, or a worker of a handler with Stream=.
        type SupervisedProcess (
          # Which of Workers=, from 1.
          copy: int,
          # backing_off: it has ended, and is started again after a pause.
          state: (down, starting, up, stopping, backing_off),
          # Whether it is to run: by the watch file, or by who spoke last.
          wanted: bool,
          # Of its process, while there is one.
          pid: ?int,
          # Since when it is in this state.
          since: string,
          # Restarts that its end called for.
          restarts: int,
          # When it is started again.
          next_start: ?string,
          # How it ended last.
          last_end: ?string,
          # Of a worker: lines that it holds.
          lines: ?int,
          # Of a worker: the oldest operations whose lines it holds, at most 20.
          operations: ?[]int
        )


        """

    static let processErrorDescriptions = """
        # This process is not started by watchd: its section has no Command=.
        error NotSupervised (
          # The process, with its kind.
          name: string
        )

        # What was asked of a process has not come about.
        error NotUp (
          # The process, with its kind.
          name: string,
          # Why.
          reason: string
        )


        """
}
