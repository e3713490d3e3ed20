extension Manager {
    /// The interface in Varlink's definition language: the reference for every client.
    static let description =
        header + questionDescriptions + changeDescriptions + processDescriptions + recordDescriptions
        + operationDescriptions + processErrorDescriptions + errorDescriptions

    private static let header = """
        # watchd: events on queues. Every name of a source, queue or handler is written bare (uploads) or, always allowed and
        # needed where it is ambiguous, with its kind (path/uploads, queue/images, handler/thumbnail). Times are UTC with
        # microseconds (2026-11-20T18:04:05.123456Z); members named _usec are spans in microseconds.
        interface io.watchd.Manager


        """

    private static let errorDescriptions = """
        # Nothing of what the call is for has this name.
        error NoSuchName (
          # What was asked for.
          name: string,
          # The most similar name there is.
          nearest: ?string,
          # What was looked for: queue, handler, source, process, group or semaphore; one of them.
          kinds: ?[]string,
          # What has this name but is something else, with its kind.
          others: ?[]string
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

        # The operation has not failed, or that has been dealt with.
        error NotFailed (
          # The operation.
          id: int,
          # pending, ready or executing: it has not ended. Its result: it ended otherwise. retried, or forgotten.
          state: string,
          # Of one that was tried again: that operation.
          successor: ?int
        )

        # Cancel of an operation that has ended.
        error HasEnded (
          # The operation.
          id: int,
          # Its result: done, failed, …
          result: string,
          # When.
          ended: string
        )

        # The store cannot be written or read now, so nothing could be kept safe. watchd tries again by itself.
        error StoreFailing (
          # Why.
          reason: string
        )

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
          backlog: int,
          # How many bytes of them it takes; missing where these are not what is used up.
          backlog_bytes: ?int
        )

        # The call could only end after the caller's own operation has ended.
        error WouldDeadlock (
          # One sentence for each link, from what is waited for to the caller.
          chain: []string
        )

        # Nobody has entered the group with this ticket, or has left already.
        error NoSuchTicket (
          group: string,
          ticket: int,
          # It is none of this daemon's, but may be one of an earlier one's: with that ended who was in a group.
          earlier: bool
        )

        # No process has this number, so a ticket cannot be bound to it.
        error NoSuchProcess (pid: int)

        # So many clients are in groups already.
        error TooManyTickets (limit: int)

        # What a Wait waited for has not come in time.
        error TimedOut (
          # What was waited for.
          what: string,
          # How it stands now.
          state: string
        )

        # Resume of what is not suspended.
        error NotSuspended (name: string)

        # Emit to a source that is not a [Custom] one.
        error NotCustom (name: string)

        # Run with paths of a source that is neither a [Path] nor a [Custom] one.
        error TakesNoPaths (name: string)

        # Run or Retry of a handler that reads a descriptor which its source hands over (Accept=yes, Framing=ready): there is none to give it.
        error NeedsDescriptor (handler: string)

        # The daemon stops; it accepts nothing new.
        error Draining ()

        # This version cannot do it.
        error NotSupported (what: string)

        # Others may ask for it, and this client may not.
        error NotPermitted (
          # A sentence.
          reason: string
        )

        # What is asked for cannot be taken in as it is.
        error Refused (
          # A sentence.
          reason: string
        )

        # The last reply of a Follow whose client did not read. Follow again, since the last sequence number that was read.
        error TooSlow ()

        """
}
