import Schedule
import WatchFile

/// `RateLimit=COUNT/SPAN`: no more than so many in any span of that length, however it is laid.
struct RateWindow: Sendable {
    /// Monotonic microseconds at which those of the last span were let through.
    private var times = Deque<Int64>()

    /// When the next one may pass: a monotonic microsecond, not after `now` if it may pass at once.
    mutating func next(_ limit: RateLimit, now: Int64) -> Int64 {
        let span = Int64(clamping: limit.span.microseconds)
        while let first = times.first, first + span <= now { _ = times.removeFirst() }
        guard times.count >= limit.count else { return now }
        // After a reload that lowered the limit there may be more than it allows.
        let deciding = times.elements[times.elements.startIndex + times.count - limit.count]
        return deciding + span
    }

    /// Monotonic microsecond from which the next one may pass; `nil`: it may at any time.
    func opening(_ limit: RateLimit) -> Int64? {
        guard times.count >= limit.count else { return nil }
        let deciding = times.elements[times.elements.startIndex + times.count - limit.count]
        return deciding + Int64(clamping: limit.span.microseconds)
    }

    /// Whether the next one may not pass yet.
    func isFull(_ limit: RateLimit, now: Int64) -> Bool { opening(limit).map { $0 > now } ?? false }

    /// One more has passed. No more are kept than decide about the next.
    mutating func pass(_ limit: RateLimit, now: Int64) {
        times.append(now)
        while times.count > limit.count { _ = times.removeFirst() }
    }
}

/// `RateLimit=` of a source; that of a queue is in `RateGate`.
extension Engine {
    /// The obstacle that comes before all others: the source has made too many operations lately. An event that joins a
    /// waiting operation makes none.
    func rateObstacle(_ event: Event, _ source: Int) -> SourceObstacle? {
        guard sources[source].traits.contains(.rateLimit), let limit = sources[source].rateLimit, !event.isNothing,
            sources[source].rate.isFull(limit, now: now.monotonic)
        else { return nil }
        let mayJoin = sources[source].merge != nil
        let joins = sources[source].targets.allSatisfy { target in
            mayJoin && !mergeCandidates(event, source: source, target).isEmpty
        }
        return joins ? nil : .rate
    }

    /// Counts what an event makes, which is one for all its handlers.
    mutating func passRate(_ source: Int, _ admit: (inout Engine) -> Void) {
        guard sources[source].traits.contains(.rateLimit) else { return admit(&self) }
        let newest = journal.ids.lastOperation
        admit(&self)
        guard journal.ids.lastOperation != newest, let limit = sources[source].rateLimit else { return }
        sources[source].rate.pass(limit, now: now.monotonic)
    }

    /// The events that wait for the rate of a source, and for how long.
    func rateWait(_ source: Int) -> RateWait? {
        guard let limit = sources[source].rateLimit, let time = sources[source].rateDeadline,
            let oldest = sources[source].held.oldest, !sources[source].isSuspended
        else { return nil }
        return RateWait(
            source: sources[source].origin.description, events: sources[source].held.deliveries, since: oldest.time,
            sentence: "RateLimit=\(limit.count)/\(limit.span.brief), \(SpanText.remaining(time - now.monotonic)) more")
    }

    mutating func sourceRateMayBeBack(_ source: Int) {
        guard sources.isInUse(source), let time = sources[source].rateDeadline, time <= now.monotonic else { return }
        sources[source].rateDeadline = nil
        door.resume(source)
    }
}
