extension Manager {
    /// The methods that change something, or wait for a change.
    static let changeDescriptions = """
        # Fire a custom source. The reply comes when the event is accepted: where a queue is full that holds back, when
        # there is room. A part of a handler's run does not wait for room that only the end of the run could make; there
        # the event is accepted above the bounds, or QueueFull is returned.
        method Emit(
          # The source.
          name: string,
          # Combined with the data that waits, as Merge= says; 1 if there is no payload either.
          data: ?int,
          # Told to the handler as it is.
          payload: ?object,
          # Reply only when all operations that the event started, or joined, have ended.
          wait: ?bool,
          # Fire it at this time, also after a restart; at most one of at, in_usec and wait.
          at: ?string,
          # Fire it when so much time is over on the wall clock.
          in_usec: ?int,
          # The span that the caller is in, as the header traceparent of W3C Trace Context; what is none is passed over.
          traceparent: ?string
        ) -> (
          # Id of the event; 0: there is none, as data 0 is no event, or none yet, with a time. With Merge=replace, data 0 takes
          # the place of data that waits, so that nothing is told.
          event: int,
          # With wait: the first of the operations that was not done, else one of them. Missing if the event started none.
          # With a time: the operation that waits for it, and ends when the event is accepted.
          operation: ?int,
          # With wait: how it ended, or why nothing was started. Missing if no handler wants the event.
          result: ?OperationResult,
          # With wait: of that operation.
          exit_status: ?int,
          # With wait: why it was not done.
          reason: ?string,
          # With wait: the store does not know that end yet, and why. After a crash of watchd the operation runs again.
          unsaved: ?string,
          # With wait, where watchd stops before all has ended, and there is no result: the operations that have not ended, and
          # the worst of those that have. None: the event has not come to its handlers.
          unfinished: ?[]int
        )

        # Fire custom sources; all of the events are accepted, or none.
        method EmitAll(
          # What Emit takes, for each event.
          events: []Emission
        ) -> (
          # Ids, in the order of the events; 0 for data 0, as with Emit.
          events: []int
        )

        # Start a handler, or all handlers of a source, now. What a call starts is its caller's own: it joins no operation
        # that waits, and no later event joins it. With Overlap=restart, a run that is ended for a newer one comes again by
        # itself, behind that.
        method Run(
          # The handler or source.
          name: string,
          # One entry for each of these absolute paths.
          paths: ?[]string,
          # Instead of paths, in Base64: where one is not UTF-8.
          paths_base64: ?[]string,
          # One entry for each of these lines.
          lines: ?[]string,
          # A custom source's number.
          data: ?int,
          # Reply only when all the operations have ended: with the end of the caller's own.
          wait: ?bool,
          # The caller waits for them with Wait: they take its QoS from the start.
          awaited: ?bool,
          # With nothing but the name of a [Path]: compare what stands at its paths with what it has told. The differences are
          # events like others, marked recovered; they join what waits.
          changed: ?bool,
          # Start it at this time, also after a restart; at most one of at, in_usec and wait.
          at: ?string,
          # Start it when so much time is over on the wall clock.
          in_usec: ?int,
          # As for Emit.
          traceparent: ?string
        ) -> (
          # Ids of the operations; of those that the events of changed start, none. With a time: of one of the handler @command
          # that waits for it, and ends when what it starts is accepted.
          operations: []int,
          # With wait: done, or how the first that was not done ended.
          result: ?OperationResult,
          # With wait: of that operation.
          exit_status: ?int,
          # With wait: why it was not done.
          reason: ?string,
          # With wait: the store does not know that end yet, and why. After a crash of watchd the operation runs again.
          unsaved: ?string,
          # With changed: how many were found. Of one that somebody still writes the event comes later.
          changes: ?int
        )

        # Start a command of the caller's on a queue. It runs as the process that calls, as far as the kernel tells who that is
        # (user, group and supplementary groups), and is an operation like others: of the handler @command, and its caller's
        # own. On a durable queue, and with a time, it is stored before the reply, and survives restart and reboot.
        method Submit(
          # The queue.
          queue: string,
          # The program and its arguments. A name without a slash is looked for in PATH, as the user that it runs as.
          command: []string,
          # NAME=VALUE each, above the environment of the queue. No names that begin with WATCHD_.
          environment: ?[]string,
          # An absolute path, entered as the user that it runs as; / if it is missing.
          directory: ?string,
          # The bits that files are made without, 0 to 511; 18 (022) if it is missing.
          umask: ?int,
          # Each string of command and environment, and directory, is Base64 of bytes that need not be UTF-8.
          base64: ?bool,
          # For people, in place of the command line.
          name: ?string,
          # Operations of one key never run at the same time, and keep their order.
          key: ?string,
          # Operations that have to end first, however they end.
          after: ?[]int,
          # They have to succeed, too: else it is cancelled, or skipped if one has failed already.
          requires: ?bool,
          # Not before this time; at most one of at and in_usec.
          at: ?string,
          # Not before so much time is over on the wall clock.
          in_usec: ?int,
          # Attempts after the first failure; 0 if it is missing.
          retry: ?int,
          # Each attempt is ended after so long.
          timeout_usec: ?int,
          # Wait for all that was submitted before it on its concurrent queue, run alone, then let the rest go on.
          barrier: ?bool,
          # Among the ready operations of a concurrent queue: very-low, low, normal, high, very-high.
          priority: ?string,
          # Run as this user instead; for root and the group watchd.
          user: ?string,
          # Reply only when it has ended.
          wait: ?bool,
          # The caller waits for it with Wait: it takes the caller's QoS from the start.
          awaited: ?bool,
          # As for Emit.
          traceparent: ?string
        ) -> (
          # Its id; missing if the queue has dropped it.
          operation: ?int,
          # With wait, or if it was dropped: how it ended.
          result: ?OperationResult,
          # With wait.
          exit_status: ?int,
          # Why it was not done.
          reason: ?string
        )

        # Suspend a source or queue once more. What runs goes on.
        method Suspend(
          # The source or queue.
          name: string,
          # For people who wonder.
          reason: ?string,
          # Resume by itself at this time.
          until: ?string,
          # Reply only when nothing runs there any more, whatever waits.
          wait: ?bool,
          # With wait: how long at most; then the error is TimedOut, and it stays suspended. For ever if it is missing.
          timeout_usec: ?int
        ) -> (
          # The source or queue, with its kind.
          name: string,
          # How often it is suspended now.
          suspended: int,
          # The store cannot be written now, and why: a crash of watchd takes it back.
          unsaved: ?string
        )

        # Suspend a queue behind all that has its place there, as a barrier that suspends its own queue: what waits already runs,
        # what comes later waits. The same for the queues that run through it by Target=. The reply comes when nothing runs
        # any more. When the time is over, or the caller goes before, everything goes on.
        method Drain(
          # The queue; all of them if it is missing.
          queue: ?string,
          # For people who wonder.
          reason: ?string,
          # How long at most; then the error is TimedOut. For ever if it is missing.
          timeout_usec: ?int
        ) -> (
          # The queues to resume.
          queues: []string,
          # Operations that wait in queues that were suspended before: these are not empty. Missing: none.
          waiting: ?int
        )

        # Hold units of a semaphore as long as a process lives. The caller stands in line among the operations that need it; the
        # reply comes when it has them. A caller that goes before that gets none.
        method Acquire(
          # The semaphore.
          name: string,
          # How many; 1 if it is missing.
          count: ?int,
          # They are given back when this process has ended.
          pid: int,
          # For people who wonder who holds them.
          command: ?[]string,
          # How long at most to wait for them; then the error is TimedOut. For ever if it is missing.
          timeout_usec: ?int
        ) -> (
          # The operation that holds them. Cancel takes them back.
          operation: int,
          # The semaphore.
          name: string,
          # The names of the units, if they have some.
          members: ?[]string
        )

        # Take back one Suspend.
        method Resume(
          # The source or queue.
          name: string
        ) -> (
          # The source or queue, with its kind.
          name: string,
          # How often it is suspended still.
          suspended: int,
          # The store cannot be written now, and why: a crash of watchd takes it back.
          unsaved: ?string
        )

        # Give to a semaphore.
        method Signal(
          # The semaphore.
          name: string,
          # How much; 1 if it is missing.
          count: ?int
        ) -> (
          # What is free now.
          available: int
        )

        # Enter a group, which is not empty until all have left. Without a pid watchd leaves when this connection closes.
        method EnterGroup(
          # The group.
          name: string,
          # watchd leaves when this process ends.
          pid: ?int
        ) -> (
          # For LeaveGroup.
          ticket: int
        )

        # Leave a group.
        method LeaveGroup(
          # The group.
          name: string,
          # What EnterGroup answered.
          ticket: int
        ) -> ()

        # Cancel an operation, or all operations of a queue: what runs is terminated, what waits never starts. Exactly one of
        # the two parameters.
        method Cancel(
          # The operation.
          id: ?int,
          # The queue.
          queue: ?string
        ) -> (
          # How many operations were cancelled.
          cancelled: int,
          # The store cannot be written now, and why: an operation of a durable queue comes back after a crash of watchd.
          unsaved: ?string
        )

        # Give an operation that waits on a concurrent queue another place among the ready ones. It holds until the operation has
        # ended, or watchd stops.
        method SetPriority(
          # The operation.
          id: int,
          # very-low, low, normal, high, very-high.
          priority: string
        ) -> (
          # The store cannot be written now, and why: a crash of watchd takes it back.
          unsaved: ?string
        )

        # Run a failed operation again, as a new one with the same events; or all failed operations of a handler that were
        # neither tried again nor forgotten. Exactly one of the two parameters.
        method Retry(
          # The operation.
          id: ?int,
          # The handler.
          name: ?string
        ) -> (
          # What was started, the oldest failure first; at most 50.
          operations: []Retried,
          # The handler has more of them: call again.
          more: bool
        )

        # Take a failed operation, or all those of a handler, off the list of what needs attention. It stays in the history.
        # Exactly one of the two parameters.
        method Forget(
          # The operation.
          id: ?int,
          # The handler.
          name: ?string
        ) -> (
          # Ids; at most 1000.
          operations: []int,
          # The handler has more of them: call again.
          more: bool
        )

        # [Requires 'more' flag]
        # Wait until an operation has ended, or until nothing waits or runs on a queue or in a group. There is one reply, when it
        # has come. Exactly one of id and name.
        method Wait(
          # The operation.
          id: ?int,
          # The queue or group.
          name: ?string,
          # How long at most; then the error is TimedOut. For ever if it is missing.
          timeout_usec: ?int
        ) -> (
          # With an id: how it ended.
          operation: ?OperationSummary
        )

        # A watch file that is not, or not yet, where watchd reads its own.
        type WatchFile (
          name: string,
          text: string,
          # Of a drop-in: the name of the file that it extends.
          drop_in_of: ?string
        )

        # Read the watch files again. The reply comes when the new ones are in force; if they have errors nothing changes.
        method Reload(
          # Only say what would change; nothing does.
          plan: ?bool,
          # With plan: as if these were all that watchd reads.
          files: ?[]WatchFile
        ) -> (
          # New sources, queues and handlers.
          added: []string,
          # Those that are defined differently now.
          changed: []string,
          # Those that are gone; what they still have to do is done.
          removed: []string,
          # Those that stay as they are.
          kept: []string,
          # What somebody should know before it is done, and what only takes effect at the next start; one sentence each.
          warnings: []string,
          # Warnings about the watch files.
          diagnostics: []string
        )

        # Drain and exit. The reply comes at once.
        method Stop() -> ()

        # [Requires 'more' flag]
        # Events and changes of operations as they happen. Each reply holds one of event, operation, output and gap. Without
        # since it begins with all operations that have not ended, as they stand, in the order of their ids. Deliveries that
        # were skipped or dropped without an operation are told as ListHistory has them, a record for many when its span is
        # over.
        method Follow(
          # First what happened after this sequence number.
          since: ?int,
          # First what happened from this time on, as far as it is kept; not together with since.
          since_time: ?string,
          # Only what concerns this handler, source or queue; a bare name means all that have it.
          name: ?string,
          # What runs and processes write, too: for who may change things.
          output: ?bool
        ) -> (
          # Counts the records since the daemon started; of what is initial, the number of the record before.
          sequence: int,
          # When it happened.
          time: string,
          # An event as handlers are told it.
          event: ?object,
          # The handlers the event goes to.
          handlers: ?[]string,
          # An operation that changed, as it is now.
          operation: ?OperationSummary,
          # True: the operation has not changed, it stood so when Follow began.
          initial: ?bool,
          # What a run or a process has written.
          output: ?OutputLines,
          # Only in the first reply: what since asks for is not kept any more.
          gap: ?Gap
        )


        """
}
