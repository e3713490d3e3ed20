import Schedule

/// Elapses of a span of time: how many, and the newest of them.
struct MissedElapses: Equatable, Sendable {
    /// Microseconds, ascending.
    var instants: [Int64] = []
    var count = 0

    init(instants: [Int64] = [], count: Int = 0) {
        self.instants = instants
        self.count = count
    }

    init(_ elapses: NewestElapses) { self.init(instants: elapses.instants, count: elapses.count) }

    /// The same on another clock.
    func moved(by distance: Int64) -> MissedElapses {
        MissedElapses(instants: instants.map { $0 + distance }, count: count)
    }
}
