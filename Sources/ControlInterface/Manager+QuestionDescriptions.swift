extension Manager {
    /// The methods that ask how things stand.
    static let questionDescriptions = """
        # One screen's worth of everything.
        method GetStatus() -> (
          # Of watchd.
          version: string,
          # Name of the machine.
          host: string,
          # Of the daemon.
          pid: int,
          # When the daemon started.
          started: string,
          # How long ago that is.
          uptime_usec: int,
          # The watchd before did not stop: it was killed, it crashed, or power was lost.
          after_unclean_end: bool,
          # What the daemon is doing: draining means that it stops.
          state: (starting, running, reloading, draining),
          # The watch files in force.
          files: []string,
          # How many sections they have.
          sections: int,
          # What does not work; empty when all is well.
          problems: []Problem,
          # Sources and queues that are suspended.
          pauses: []Pause,
          # Supervised processes that a client has stopped.
          stopped: []StoppedProcess,
          # The accounting of all deliveries since the start.
          totals: Counters,
          # Processes of handlers that run now.
          processes: int,
          # How many may run at once.
          max_processes: int,
          # Operations that have not started yet.
          operations_pending: int,
          # Operations that have started and not ended.
          operations_running: int,
          # Operations that this stop has left to the next start; absent where there are none.
          operations_kept: ?int,
          # Resident memory of the daemon.
          memory_bytes: int,
          # Bytes of what is pending: what events carry, and a fixed cost of each.
          pending_bytes: int,
          # And how many there may be: MaxMemory=.
          max_pending_bytes: int,
          # How the processes of a run are held together: "cgroups below FOLDER (CONTROLLERS)", or "process groups: REASON".
          containment: string,
          # Next elapses of timers, the soonest first.
          next: []Elapse,
          # Operations that run now, the longest first; at most 20.
          running: []OperationSummary,
          # Operations that wait, the oldest first; at most 20.
          waiting: []OperationSummary,
          # Events that wait to become operations; at most 20.
          held: []HeldEvents,
          # Operations that ended, the newest first; at most 20.
          recent: []OperationSummary,
          # Semaphores of which something is taken or wanted; at most 20.
          semaphores: []Semaphore,
          # Groups that are not empty; at most 20.
          groups: []Group,
          # What keeps operations beyond the end of the daemon; missing if nothing does.
          store: ?Store
        )

        # The sources, in the order of their names.
        method ListSources(
          # Only this one.
          name: ?string,
          # The next of the page before.
          after: ?string,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int
        ) -> (
          # One page of them.
          sources: []Source,
          # There are more: pass it as after.
          next: ?string
        )

        # The queues, in the order of their names.
        method ListQueues(
          # Only this one.
          name: ?string,
          # The next of the page before.
          after: ?string,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int
        ) -> (
          # One page of them.
          queues: []Queue,
          # There are more: pass it as after.
          next: ?string
        )

        # The semaphores, in the order of their names.
        method ListSemaphores(
          # Only this one.
          name: ?string,
          # The next of the page before.
          after: ?string,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int
        ) -> (
          # One page of them.
          semaphores: []Semaphore,
          # There are more: pass it as after.
          next: ?string
        )

        # The handlers, in the order of their names.
        method ListHandlers(
          # Only this one.
          name: ?string,
          # The next of the page before.
          after: ?string,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int
        ) -> (
          # One page of them.
          handlers: []Handler,
          # There are more: pass it as after.
          next: ?string
        )

        # Names for the completion of a shell, at most 1000, with their kinds: path/uploads, queue/images.
        method ListNames(
          # Which; processes are those with Command=, runnable is for Run, pausable for Suspend, suspended for Resume.
          kind: (names, sources, customs, timers, groups, processes, queues, handlers, semaphores, runnable, pausable, suspended),
          # Only those that begin so, with their kind or without it.
          prefix: ?string
        ) -> (names: []string)

        # Operations, in the order of their ids. Without a state those that have not ended; with finished or cancelled those of
        # the ended ones that are still remembered.
        method ListOperations(
          # Only those on this queue.
          queue: ?string,
          # Only those of this handler.
          handler: ?string,
          # Only those in this state.
          state: ?OperationState,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int,
          # The next of the page before.
          after: ?int
        ) -> (
          # One page of them.
          operations: []OperationSummary,
          # On the first page, where pending operations are asked for: events that wait to become operations.
          held: []HeldEvents,
          # There are more: pass it as after.
          next: ?int
        )

        # Operations that have ended, the one that ended last first. So are deliveries that were skipped or dropped without an
        # operation: each of the first ten of a source, handler and result; what follows them is counted by one record for
        # each span of 1 s, doubling to 64 s, until none has come for a minute.
        method ListHistory(
          # Only those of this handler or source; of those that have one bare name, the handler. Not with handler or source.
          name: ?string,
          # Only those of this handler.
          handler: ?string,
          # Only those of this source.
          source: ?string,
          # Only those that ended so.
          result: ?OperationResult,
          # Only failed ones that were neither tried again nor forgotten.
          unsettled: ?bool,
          # Ended at this time or later.
          since: ?string,
          # Ended before this time.
          until: ?string,
          # How many at most: 1 to 1000, which is also the default.
          limit: ?int,
          # The next of the page before.
          after: ?string
        ) -> (
          # One page of them.
          operations: []OperationSummary,
          # There are more: pass it as after.
          next: ?string
        )

        # Everything about one operation, also about one that has ended as long as the history has it.
        method GetOperation(id: int) -> (operation: OperationDetail)

        # The end of what an operation has written, or has written so far; or of what a process with Command= writes, over
        # its restarts. At most 64 KiB. Exactly one of id and name.
        method GetOutput(
          # The operation.
          id: ?int,
          # A handler or source, for its operation that runs or ran last; a process with Command=, for its own output. Of
          # those that have one bare name, the handler.
          name: ?string,
          # Of the operation, from 1; without it the last one. The outputs of the newest 50 are kept.
          attempt: ?int,
          # Of the process, from 1; without it the first one.
          copy: ?int
        ) -> (
          # Missing where nothing of the name has run, or for a process.
          operation: ?OperationSummary,
          # Whose output it is. Missing where the operation has had no such attempt.
          attempt: ?int,
          # process/web, or handler/index of one with workers: with an operation, a line for them, which has no
          # output of its own.
          source: ?string,
          # The copy of the process, or the worker, that wrote it. Missing where there is no such copy.
          process: ?SupervisedProcess,
          # The end of it.
          output: ?string,
          # The same, where it is not UTF-8.
          output_base64: ?string,
          # True: that is as much as watchd keeps.
          output_cut: ?bool,
          # Bytes written in all, while they are known.
          output_bytes: ?int,
          # True: a later watchd has found the run; what it had written before is in the log only.
          output_lacks_beginning: ?bool,
          # True: it is no longer kept.
          forgotten: ?bool
        )

        # Why an operation, queue, handler, source, group, semaphore or supervised process stands where it stands, and what
        # became of its events; of a path, which events of it are still known and what became of them, which sources see
        # it, and why others above it do not. Exactly one of the parameters.
        method Explain(
          # The operation.
          id: ?int,
          # The queue, handler, source, group, semaphore or process.
          name: ?string,
          # The path, absolute; it need not exist. Whoever may not change things is told PermissionDenied.
          path: ?string,
          # The same in Base64, where it is not UTF-8.
          path_base64: ?string
        ) -> (
          # queue/images, or handler/backup; of an operation its handler, of a path the path.
          object: string,
          # The operation that was asked for.
          operation: ?OperationSummary,
          # What has happened, oldest first, then what holds now.
          steps: []Step
        )


        """
}
