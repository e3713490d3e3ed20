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
          detail: ?string
        )

        # Where operations wait and run.
        type Queue (
          name: string,
          type: (serial, concurrent),
          # Operations that may run at once.
          width: int,
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
        type OperationResult (done, failed, cancelled, skipped, dropped, annulled)

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
          entries: int,
          deliveries: int,
          cause: string,
          submitted: string,
          started: ?string,
          ended: ?string,
          took_usec: ?int,
          attempt: int,
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

        # Sequence numbers of the records that are lost, the last one included.
        type Gap (first: int, last: int)


        """
}
