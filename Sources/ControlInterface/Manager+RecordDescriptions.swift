extension Manager {
    static let recordDescriptions = """
        # The accounting, in deliveries (one event for one handler):
        # accepted = held + pending + running + done + failed + cancelled + skipped + dropped + annulled.
        type Counters (
          accepted: int,
          # In a source that is held back.
          held: int,
          # In an operation that has not started.
          pending: int,
          # In an operation that runs.
          running: int,
          done: int,
          failed: int,
          cancelled: int,
          # Not run because the watch file says so, as with Overlap=skip.
          skipped: int,
          # Lost to a full backlog, as Overflow= says.
          dropped: int,
          # Net effect nothing: created and deleted.
          annulled: int,
          # How many of the above joined an operation that was there already.
          coalesced: int,
          # Refused by a filter, before acceptance.
          filtered: int,
          # Lost by the kernel, before acceptance.
          gap: int,
          # Admitted above a backlog because watchd made them itself.
          over: int
        )

        # Something that does not work, and what is done about it.
        type Problem (
          # path/media, queue/images, handler/backup, or watchd.
          object: string,
          since: string,
          # What is wrong.
          problem: string,
          # What watchd does about it.
          action: string,
          # What would help.
          help: ?string,
          # When watchd tries again.
          next_try: ?string
        )

        # A source or queue that is suspended.
        type Pause (
          # path/media, or queue/images.
          object: string,
          # The newest of its suspensions.
          suspension: Suspension,
          # Events and operations that wait for its end.
          kept: int
        )

        # A supervised process that a client has stopped; it starts again with watchd.
        type StoppedProcess (
          # process/web.
          object: string,
          # The user who asked.
          by: string,
          since: string
        )

        # One suspension.
        type Suspension (
          # The user who asked, or: watch file.
          by: string,
          reason: ?string,
          since: string,
          # When it ends by itself.
          until: ?string
        )

        # When a timer fires next.
        type Elapse (source: string, time: string, handlers: []string)

        # What makes events.
        type Source (
          # With its kind: path/uploads.
          name: string,
          kind: string,
          # Description= of the watch file.
          description: ?string,
          # waiting: for what it watches to exist; held: a queue's backlog is full; closed: it will not fire any more.
          state: (armed, waiting, failed, suspended, held, closed),
          # Why it is in this state; of one that is armed, why it sees less than it is asked to.
          reason: ?string,
          # How often it is suspended.
          suspended: int,
          suspended_by: []Suspension,
          # Required= of the watch file.
          required: bool,
          # Where its events go.
          handlers: []string,
          counters: Counters,
          # Time of its last event.
          last_event: ?string,
          # When it fires next.
          next_elapse: ?string,
          # Of an armed timer: it never elapses again.
          never_elapses: ?bool,
          # When watchd tries to arm it again, where it failed.
          next_try: ?string,
          # inotify watches it uses, each once; one that sources share is counted for each of them.
          watches: int,
          # Descriptors that it keeps open; those that sources share are not counted.
          descriptors: ?int,
          # What it watches.
          detail: ?string,
          # Of a group: how it stands.
          group: ?Group,
          # Of a process that watchd supervises: its copies.
          processes: ?[]SupervisedProcess,
          # Of a process that its pid file names: those whose end it waits for.
          pids: ?[]int,
          # Where its section stands.
          file: ?string,
          line: ?int
        )

        # A [Group] of handlers.
        type Group (
          # With its kind: group/deploy.
          name: string,
          # Operations of its members that have not ended.
          outstanding: int,
          # Clients that have entered and not left.
          entered: int
        )

        # A counted resource.
        type Semaphore (
          name: string,
          # Value= of the watch file.
          value: int,
          # What is free now; negative after a reload that lowered Value=.
          available: int,
          # Operations that stand in its line.
          waiting: int,
          # Members= of the watch file.
          members: ?[]string,
          # Runs that hold units of it, the oldest operation first; at most 100.
          holders: []SemaphoreHolder,
          # Where its section stands.
          file: ?string,
          line: ?int
        )

        # A run that holds units of a semaphore, and their names, where they have some.
        type SemaphoreHolder (operation: int, handler: string, count: int, members: ?[]string)

        # Why something waits, or did or did not run.
        type Step (
          # Missing: it holds now.
          time: ?string,
          # One word for programs. What is waited for: delay, settle, join, loop, dependency, key, order, barrier,
          # width, target-width, suspended, semaphore, worker, process-slot, rate-limit, backing-off, window, condition,
          # reload, turn, store, orphaned, start (the next of watchd). What happened: submitted, joined, started, late, slow, ended, retried,
          # superseded, cancelled, skipped, dropped, annulled, held, missed. How a queue or handler stands: idle,
          # running, full, more (operations that are not named). How a source stands: armed, unarmed, held. Of a path: told (an event of it), seen, unseen, excluded, pruned, ignored,
          # not-recursive, open.
          code: string,
          # What a person needs to know.
          sentence: string,
          # The operation that it is about.
          operation: ?int,
          # The operation that decided.
          other: ?int,
          # The section of the watch file that decided: queue/images.
          section: ?string,
          # Where this section stands.
          file: ?string,
          line: ?int
        )

        # Where operations wait and run.
        type Queue (
          name: string,
          type: (serial, concurrent),
          # Operations that may run at once.
          width: int,
          # user-interactive, user-initiated, default, utility or background: QoS= as the targets leave it.
          qos: string,
          # The queue through which it runs.
          target: ?string,
          # Entries (paths, lines, events) that may be pending.
          backlog: int,
          # Bytes of them that may be pending.
          backlog_bytes: int,
          # What happens when the backlog is full: block, drop-oldest or drop-newest.
          overflow: string,
          # How often it is suspended.
          suspended: int,
          suspended_by: []Suspension,
          # Entries pending now.
          entries: int,
          # Bytes of them: what they carry, and a fixed cost of each.
          bytes: int,
          # The bound that is used up or that holds sources back, as in the watch file: BacklogBytes=64M.
          full: ?string,
          # Operations pending now.
          operations: int,
          # Operations running now.
          running: int,
          # Entries above the backlog now, which watchd made itself.
          over: int,
          counters: Counters,
          # When the oldest pending operation was submitted.
          oldest: ?string,
          # Where its section stands.
          file: ?string,
          line: ?int
        )

        # What is done about events.
        type Handler (
          name: string,
          # As in the watch file.
          action: string,
          queue: string,
          # Overlap= as it is in force; several words, as skip, wait, where it is not written and its sources differ.
          overlap: string,
          # True: no watch file has it. Else missing.
          overlap_is_default: ?bool,
          counters: Counters,
          running_pids: []int,
          # How its last operation ended.
          last_result: ?OperationResult,
          # And when.
          last_ended: ?string,
          # With Stream=: its workers.
          workers: ?[]SupervisedProcess,
          # Where its section stands, or the one that it is a part of.
          file: ?string,
          line: ?int
        )

        # What keeps operations beyond the end of the daemon.
        type Store (
          # failing: durable queues wait, the rest goes on.
          state: (working, failing),
          # Its folder.
          path: ?string,
          # Why it takes nothing.
          reason: ?string,
          # And since when.
          since: ?string,
          # Bytes of the history; missing until they are counted.
          history_bytes: ?int,
          # And how many there may be: KeepHistoryBytes=.
          max_history_bytes: int
        )

        # A failed operation, and the one that it runs again as.
        type Retried (failed: int, operation: int)

        # One event for EmitAll; as the parameters of Emit.
        type Emission (name: string, data: ?int, payload: ?object, traceparent: ?string)

        # Sequence numbers of the records that are lost, the last one included. With last below first watchd was started anew,
        # and its numbers with it, after the record before first: what it keeps comes next, from number last + 1 on.
        type Gap (first: int, last: int)

        # Lines that a run of a handler, or a process with Command=, has written.
        type OutputLines (
          # handler/backup, process/web.
          object: string,
          # Of a handler's run.
          operation: ?int,
          # Of a process, from 1.
          copy: ?int,
          # Without their ends; what is not UTF-8 is replaced.
          lines: []string
        )


        """
}
