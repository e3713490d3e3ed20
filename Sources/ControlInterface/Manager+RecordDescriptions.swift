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
          help: ?string
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
          # Why it is in this state.
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
          # inotify watches it uses.
          watches: int,
          # What it watches.
          detail: ?string,
          # Of a group: how it stands.
          group: ?Group
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
          waiting: int
        )

        # Why something waits, or did or did not run.
        type Step (
          # Missing: it holds now.
          time: ?string,
          # One word for programs. What is waited for: delay, dependency, key, order, barrier, width, target-width, suspended,
          # semaphore, process-slot, rate-limit, backing-off, reload, turn. What happened: submitted, joined, started, ended,
          # retried, superseded, cancelled, skipped, dropped, annulled, held. How a queue or handler stands: idle, running,
          # full.
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
          # What happens when the backlog is full: block, drop-oldest or drop-newest.
          overflow: string,
          # How often it is suspended.
          suspended: int,
          suspended_by: []Suspension,
          # Entries pending now.
          entries: int,
          # Operations pending now.
          operations: int,
          # Operations running now.
          running: int,
          # Entries above the backlog now, which watchd made itself.
          over: int,
          counters: Counters,
          # When the oldest pending operation was submitted.
          oldest: ?string
        )

        # What is done about events.
        type Handler (
          name: string,
          # As in the watch file.
          action: string,
          queue: string,
          # Overlap= of the watch file.
          overlap: string,
          counters: Counters,
          running_pids: []int,
          # How its last operation ended.
          last_result: ?OperationResult,
          # And when.
          last_ended: ?string
        )

        # Where an operation is. finished and cancelled are the ends.
        type OperationState (pending, ready, executing, finished, cancelled)

        # How an operation, or one run of it, ended.
        type OperationResult (done, failed, cancelled, skipped, dropped, annulled, superseded)

        # A handler and the events that caused it: one unit of work on a queue.
        type OperationSummary (
          id: int,
          handler: string,
          queue: string,
          # path/uploads; without it a person or another operation started it.
          source: ?string,
          # What the operation is about; those of one handler and key never run at the same time.
          key: ?string,
          state: OperationState,
          # Once it has ended.
          result: ?OperationResult,
          # Why it does not run yet.
          waiting_for: ?string,
          # The same as one word, as the code of a Step.
          wait_reason: ?string,
          # Operations that have to end first.
          dependencies: []int,
          # Of one that was superseded or joined another operation: that one.
          successor: ?int,
          # Paths, lines and events that it carries.
          entries: int,
          # Deliveries that it stands for.
          deliveries: int,
          # Why it exists, in a few words.
          cause: string,
          # When it took its place in line.
          submitted: string,
          started: ?string,
          ended: ?string,
          # How long it ran.
          took_usec: ?int,
          # Counts from 1; 0 before the first.
          attempt: int,
          # When it is tried again.
          next_attempt: ?string,
          # How many parts Stride= makes of it.
          parts: ?int,
          # And how many of them have ended.
          parts_ended: ?int,
          pid: ?int,
          exit_status: ?int,
          # Name of the signal that ended it.
          signal: ?string,
          # Why it ended as it did, where its exit status does not say it.
          reason: ?string
        )

        # Everything about one operation: the members of OperationSummary, then its own.
        type OperationDetail (
          id: int,
          handler: string,
          queue: string,
          source: ?string,
          key: ?string,
          state: OperationState,
          result: ?OperationResult,
          waiting_for: ?string,
          wait_reason: ?string,
          dependencies: []int,
          successor: ?int,
          entries: int,
          deliveries: int,
          cause: string,
          submitted: string,
          started: ?string,
          ended: ?string,
          took_usec: ?int,
          attempt: int,
          next_attempt: ?string,
          parts: ?int,
          parts_ended: ?int,
          pid: ?int,
          exit_status: ?int,
          signal: ?string,
          reason: ?string,
          # As handlers are told them; at most 1000, the newest.
          events: []object,
          # How many more there are.
          events_omitted: int,
          # Its attempts, the first one first.
          runs: []OperationRun,
          # The end of what the last run wrote.
          output: ?string,
          # The same, where it is not UTF-8.
          output_base64: ?string,
          # Operations that it started by Emit=, OnSuccess=, OnFailure= and OnFinished=.
          started_operations: []int
        )

        # One attempt of an operation.
        type OperationRun (
          attempt: int,
          pid: ?int,
          started: string,
          ended: ?string,
          # Missing while it runs.
          result: ?OperationResult,
          exit_status: ?int,
          signal: ?string,
          reason: ?string
        )

        # One event for EmitAll; as the parameters of Emit.
        type Emission (name: string, data: ?int, payload: ?object)

        # Sequence numbers of the records that are lost, the last one included. With last below first watchd was started anew,
        # and its numbers with it, after the record before first: what it keeps comes next, from number last + 1 on.
        type Gap (first: int, last: int)


        """
}
