/// Windows that overlap or follow each other without a gap, for as long as can be looked ahead.
enum EndlessWindows {
    /// Windows that are looked at for all sections together. Beyond, nothing is said.
    static let patience = 4000
    /// Microseconds: what windows must reach in the mean.
    private static let shortest: Int64 = 3 * 3_600_000_000
    /// Microseconds: longer than a year and all its exceptions.
    private static let horizon: Int64 = 400 * 86_400_000_000

    static func areEndless(
        _ windows: [CalendarWindow], at now: Int64, _ context: LoadContext, _ patience: inout Int
    ) -> Bool {
        var end = now
        var count: Int64 = 0
        while end < now + horizon {
            patience -= windows.count
            count += 1
            // Short ones are too many to be looked at.
            if count > 50, end - now < count * shortest { return false }
            let next = windows.compactMap { $0.end(at: end, in: context.rules(for: $0.calendar)) }.max()
            guard patience > 0, let next, next > end else { return false }
            end = next
        }
        return true
    }
}
