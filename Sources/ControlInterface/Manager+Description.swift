extension Manager {
    /// The interface in Varlink's definition language: the reference for every client.
    static let description = header + methodDescriptions + recordDescriptions + errorDescriptions

    private static let header = """
        # watchd: events on queues. Every name of a source, queue or handler is written bare (uploads) or, always allowed and
        # needed where it is ambiguous, with its kind (path/uploads, queue/images, handler/thumbnail). Times are UTC with
        # microseconds (2026-11-20T18:04:05.123456Z); members named _usec are spans in microseconds.
        interface io.watchd.Manager


        """

    private static let methodDescriptions = """
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
          # The accounting of all deliveries since the start.
          totals: Counters,
          # Processes of handlers that run now.
          processes: int,
          # How many may run at once.
          max_processes: int,
          # Operations that have not started yet.
          operations_pending: int,
          # Resident memory of the daemon.
          memory_bytes: int,
          # Next elapses of timers, the soonest first.
          next: []Elapse,
          # Operations that run now, the longest first; at most 20.
          running: []OperationSummary,
          # Operations that wait, the oldest first; at most 20.
          waiting: []OperationSummary,
          # Operations that ended, the newest first; at most 20.
          recent: []OperationSummary
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
          # There are more: pass it as after.
          next: ?int
        )

        # Everything about one operation.
        method GetOperation(id: int) -> (operation: OperationDetail)

        # Fire a custom source. The reply comes when the event is accepted.
        method Emit(
          # The source.
          name: string,
          # Combined with the data that waits, as Merge= says; 1 if there is no payload either.
          data: ?int,
          # Told to the handler as it is.
          payload: ?object
        ) -> (
          # Id of the event.
          event: int
        )

        # Fire custom sources; all of the events are accepted, or none.
        method EmitAll(
          # What Emit takes, for each event.
          events: []Emission
        ) -> (
          # Ids, in the order of the events.
          events: []int
        )

        # Start a handler, or all handlers of a source, now.
        method Run(
          # The handler or source.
          name: string,
          # One entry for each of these paths.
          paths: ?[]string,
          # One entry for each of these lines.
          lines: ?[]string,
          # A custom source's number.
          data: ?int,
          # Reply only when all the operations have ended.
          wait: ?bool
        ) -> (
          # Ids of the operations.
          operations: []int,
          # With wait: done, or how the first that was not done ended.
          result: ?OperationResult,
          # With wait: of that operation.
          exit_status: ?int,
          # With wait: why it was not done.
          reason: ?string
        )

        # Suspend a source or queue once more. What runs goes on.
        method Suspend(
          # The source or queue.
          name: string,
          # For people who wonder.
          reason: ?string,
          # Resume by itself at this time.
          until: ?string
        ) -> (
          # The source or queue, with its kind.
          name: string,
          # How often it is suspended now.
          suspended: int
        )

        # Take back one Suspend.
        method Resume(
          # The source or queue.
          name: string
        ) -> (
          # The source or queue, with its kind.
          name: string,
          # How often it is suspended still.
          suspended: int
        )

        # Cancel an operation, or all operations of a queue: what runs is terminated, what waits never starts. Exactly one of
        # the two parameters.
        method Cancel(
          # The operation.
          id: ?int,
          # The queue.
          queue: ?string
        ) -> (
          # How many operations were cancelled.
          cancelled: int
        )

        # Read the watch files again. The reply comes when the new ones are in force; if they have errors nothing changes.
        method Reload(
          # Only say what would change.
          plan: ?bool
        ) -> (
          # New sources, queues and handlers.
          added: []string,
          # Those that are defined differently now.
          changed: []string,
          # Those that are gone; what they still have to do is done.
          removed: []string,
          # Warnings about the watch files.
          diagnostics: []string
        )

        # Drain and exit. The reply comes at once.
        method Stop() -> ()

        # [Requires 'more' flag]
        # Events and changes of operations as they happen. Each reply holds one of event, operation and gap.
        method Follow(
          # First what happened after this sequence number.
          since: ?int
        ) -> (
          # Counts the records since the daemon started.
          sequence: int,
          # When it happened.
          time: string,
          # An event as handlers are told it.
          event: ?object,
          # The handlers the event goes to.
          handlers: ?[]string,
          # An operation that changed, as it is now.
          operation: ?OperationSummary,
          # Only in the first reply: what since asks for is not kept any more.
          gap: ?Gap
        )


        """

    private static let errorDescriptions = """
        # Nothing has this name.
        error NoSuchName (
          # What was asked for.
          name: string,
          # The most similar name there is.
          nearest: ?string
        )

        # Several things have this name.
        error AmbiguousName (
          # What was asked for.
          name: string,
          # The same with their kinds; one of these is meant.
          candidates: []string
        )

        # No operation has this id, or it is no longer remembered.
        error NoSuchOperation (id: int)

        # The watch files have errors; what was in force is still in force.
        error InvalidWatchFile (
          # Each as a person reads it: FILE:LINE:COLUMN: error: SENTENCE, the line, and a caret.
          diagnostics: []string
        )

        # The backlog is full, and so is the line of those who wait for it.
        error QueueFull (
          # The queue.
          queue: string,
          # How many entries it takes.
          backlog: int
        )

        # The call could only end after the caller's own operation has ended.
        error WouldDeadlock (
          # The chain of what waits for what.
          reason: string
        )

        # Resume of what is not suspended.
        error NotSuspended (name: string)

        # Emit to a source that is not a [Custom] one.
        error NotCustom (name: string)

        # The daemon stops; it accepts nothing new.
        error Draining ()

        # This version cannot do it.
        error NotSupported (what: string)

        # The last reply of a Follow whose client did not read. Follow again, since the last sequence number that was read.
        error TooSlow ()

        """
}
