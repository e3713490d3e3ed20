import Schedule

/// How long it is until something is tried again.
enum RetryText {
    /// `100ms`, `1.6s`, `30s`: rounded up, so that what passes until it is said makes no other number of it.
    ///
    /// - Parameters:
    ///   - time: microseconds of the wall clock.
    ///   - now: the same.
    static func delay(until time: Int64, now: Int64) -> String {
        let left = max(1, time - now)
        let unit: Int64 = left <= 800_000 ? 50_000 : left <= 10_000_000 ? 200_000 : 1_000_000
        return SpanText.remaining((left + unit - 1) / unit * unit)
    }
}
