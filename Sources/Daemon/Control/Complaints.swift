/// Clients that are cut off for what they send: one in a minute is told of, the others are counted, so that nobody fills
/// the log.
struct Complaints {
    /// Microseconds.
    static let pause: Int64 = 60_000_000

    private var untold = 0
    /// Monotonic microsecond.
    private var last: Int64?

    /// There is a further one. Returns how many were not told since the last that was; `nil`: nor is this one.
    mutating func next(at now: Int64) -> Int? {
        if let last, now - last < Self.pause {
            untold += 1
            return nil
        }
        defer { (last, untold) = (now, 0) }
        return untold
    }
}
