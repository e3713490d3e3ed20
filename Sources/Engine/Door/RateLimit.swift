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
