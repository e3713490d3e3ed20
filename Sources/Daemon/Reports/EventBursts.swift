import Engine

/// Above ten events of a source in a second the log tells how many more there are. Confined to the core.
///
/// A second begins with an event, and the next one with the first event after it.
final class EventBursts {
    /// Events of a source in a second that have a line each.
    static let lines = 10
    /// Microseconds.
    static let span: Int64 = 1_000_000

    private struct Second {
        var end: Int64
        var events = 0
    }

    private var seconds: [Origin: Second] = [:]
    /// Sources that are over are looked for above as many.
    private var limit = 64
    private let tell: (Origin, Int) -> Void
    private let after: (Int64, @escaping () -> Void) -> Void

    /// - Parameters:
    ///   - tell: says how many more events of a source there were in its second.
    ///   - after: does it on the core so many microseconds later.
    init(tell: @escaping (Origin, Int) -> Void, after: @escaping (Int64, @escaping () -> Void) -> Void) {
        self.tell = tell
        self.after = after
    }

    /// False: the event is one of many, and is counted.
    ///
    /// - Parameter now: microseconds of a clock that nobody sets.
    func passes(_ origin: Origin, now: Int64) -> Bool {
        var second = seconds[origin] ?? Second(end: now + Self.span)
        if second.end <= now { second = Second(end: now + Self.span) }
        second.events += 1
        seconds[origin] = second
        if second.events == Self.lines + 1 {
            after(second.end - now) { [weak self] in self?.end(origin, second.end) }
        }
        if seconds.count > limit {
            seconds = seconds.filter { $1.end > now }
            limit = max(64, 2 * seconds.count)
        }
        return second.events <= Self.lines
    }

    private func end(_ origin: Origin, _ end: Int64) {
        guard let second = seconds[origin], second.end == end else { return }
        seconds[origin] = nil
        if second.events > Self.lines { tell(origin, second.events - Self.lines) }
    }
}
