import WatchFile

/// `RateLimit=` of a queue: whether one more may start.
struct RateGate: Sendable {
    /// `nil`: any number may.
    var limit: RateLimit?
    /// Monotonic microsecond at which the next one may start, while something waits for it.
    private(set) var deadline: Int64?
    private var window = RateWindow()

    /// Something waits for it.
    var isWaiting: Bool { limit != nil && deadline != nil }

    /// Monotonic microsecond from which one more may start, if too many have lately.
    var opening: Int64? { limit.flatMap { window.opening($0) } }

    func isFull(at now: Int64) -> Bool { limit.map { window.isFull($0, now: now) } ?? false }

    /// Whether one more may start now. `wait`: when to look again, if that is new.
    mutating func look(at now: Int64) -> (isFree: Bool, wait: Int64?) {
        guard let limit else { return (true, nil) }
        let next = window.next(limit, now: now)
        guard next > now else { return (true, nil) }
        guard deadline != next else { return (false, nil) }
        deadline = next
        return (false, next)
    }

    /// One more has started.
    mutating func pass(at now: Int64) { if let limit { window.pass(limit, now: now) } }

    /// The time has come to look again. False: it has not, or there is nothing to look for.
    mutating func elapsed(at now: Int64) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = nil
        return true
    }
}
