extension Manager {
    /// The records that tell of operations.
    static let operationDescriptions = """
        # Where an operation is. finished and cancelled are the ends.
        type OperationState (pending, ready, executing, finished, cancelled)

        # How an operation, or one run of it, ended. stopped: it ended because watchd stopped, which is a failure of it;
        # it is listed where failed ones are asked for.
        type OperationResult (done, failed, cancelled, skipped, dropped, annulled, superseded, stopped)

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
          # Of one that was superseded, joined another operation, or failed and was tried again by hand: that one.
          successor: ?int,
          # Paths, lines and events that it carries.
          entries: int,
          # Deliveries that it stands for.
          deliveries: int,
          # Why it exists, in a few words.
          cause: string,
          # True: Run made its events, the source has told of nothing. Else missing.
          by_hand: ?bool,
          # When it took its place in line.
          submitted: string,
          started: ?string,
          ended: ?string,
          # How long it ran.
          took_usec: ?int,
          # In GetStatus, of those that run: the median of the last runs of its handler that succeeded.
          usual_usec: ?int,
          # Counts from 1; 0 before the first.
          attempt: int,
          # When it is tried again.
          next_attempt: ?string,
          # Of a command that has a time: not before it.
          not_before: ?string,
          # How many parts Stride= makes of it.
          parts: ?int,
          # And how many of them have ended.
          parts_ended: ?int,
          pid: ?int,
          exit_status: ?int,
          # Name of the signal that ended it.
          signal: ?string,
          # Why it ended as it did, where its exit status does not say it.
          reason: ?string,
          # Kept until it has run, whatever becomes of watchd. Missing: not known any more.
          durable: ?bool,
          # A run of it may have happened before.
          redelivered: bool,
          # Of a failed one: it was tried again (successor) or forgotten.
          settled: ?bool,
          # Of a failed one that nobody has dealt with: why Retry would refuse it. In GetOperation and ListHistory.
          retry_obstacle: ?string,
          # The store does not know its end, and why: after a crash of watchd it runs again. In GetOperation and Wait.
          unsaved: ?string,
          # The last words of its run on how far it is, with Progress=: 43%.
          progress: ?string,
          # The members of semaphores that its runs hold, by the name of the semaphore.
          acquired: ?[string][]string,
          # Of its last run that has ended.
          used: ?ResourcesUsed,
          # True: a later watchd has found the run, and what it had written before is in the log only.
          found_again: ?bool,
          # How many processes went on after its end, as KillMode= says.
          left_processes: ?int,
          # With RunIn=unit: the service that it is, and its invocation, as the journal has it.
          unit: ?string,
          invocation_id: ?string,
          # Of W3C Trace Context: the trace of its first event, in 32 hexadecimal digits.
          trace_id: ?string,
          # The span of its last run, in 16: TRACEPARENT of its processes.
          span_id: ?string,
          # The span that its first event came from: of the run whose Emit= or On…= it was, or of a client.
          parent_span_id: ?string
        )

        # Events that wait for RateLimit= of their source, and are no operation yet.
        type HeldEvents (
          # path/uploads.
          source: string,
          # Those that are to be told.
          handlers: []string,
          events: int,
          # When the oldest came.
          since: string,
          waiting_for: string
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
          by_hand: ?bool,
          submitted: string,
          started: ?string,
          ended: ?string,
          took_usec: ?int,
          usual_usec: ?int,
          attempt: int,
          next_attempt: ?string,
          not_before: ?string,
          parts: ?int,
          parts_ended: ?int,
          pid: ?int,
          exit_status: ?int,
          signal: ?string,
          reason: ?string,
          durable: ?bool,
          redelivered: bool,
          settled: ?bool,
          retry_obstacle: ?string,
          unsaved: ?string,
          progress: ?string,
          acquired: ?[string][]string,
          used: ?ResourcesUsed,
          found_again: ?bool,
          left_processes: ?int,
          unit: ?string,
          invocation_id: ?string,
          trace_id: ?string,
          span_id: ?string,
          parent_span_id: ?string,
          # As handlers are told them; at most 1000, the newest.
          events: []object,
          # How many more there are.
          events_omitted: int,
          # Its attempts, the first one first.
          runs: []OperationRun,
          # The end of what the last run wrote, or has written so far.
          output: ?string,
          # The same, where it is not UTF-8.
          output_base64: ?string,
          # True: that is as much as watchd keeps of a run, its last 64 KiB.
          output_cut: ?bool,
          # Bytes that the last run has written in all, while they are known.
          output_bytes: ?int,
          # True: events and output are not for the caller.
          withheld: ?bool,
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
          reason: ?string,
          # Once it has ended, where it had processes.
          used: ?ResourcesUsed,
          # True: a later watchd has found the run, and what it had written before is in the log only.
          found_again: ?bool,
          # How many processes went on after its end, as KillMode= says.
          left_processes: ?int,
          # With RunIn=unit: the service that it is, and its invocation, as the journal has it.
          unit: ?string,
          invocation_id: ?string,
          # Of W3C Trace Context, in 16 hexadecimal digits.
          span_id: ?string
        )

        # What the processes of a run have used together: bytes of memory at the most, bytes from and to disks.
        type ResourcesUsed (
          # cgroup: all of them; process: the first one and those that were waited for.
          counted: (cgroup, process),
          cpu_usec: ?int,
          peak_memory_bytes: ?int,
          read_bytes: ?int,
          written_bytes: ?int
        )


        """
}
