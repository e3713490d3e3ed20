/// The instants (microseconds since the epoch) of a civil pattern in a time zone.
struct ZonedPattern {
    private let pattern: CivilPattern
    private let rules: TimeZoneRules
    /// Times that come twice are due twice.
    private let runsTwice: Bool
    /// Times that do not exist are due after the gap.
    private let runsAfterGap: Bool

    init(_ pattern: CivilPattern, _ rules: TimeZoneRules, isRepeating: Bool, daylightSaving: DaylightSaving) {
        self.pattern = pattern
        self.rules = rules
        runsTwice = isRepeating && daylightSaving == .run
        runsAfterGap = daylightSaving == .run
    }

    /// A period of the zone, in microseconds.
    private struct Period {
        var start: Int
        var end: Int
        var offset: Int

        init(_ period: TimeZoneRules.Period) {
            // Far outside of what a pattern reaches.
            let bound = 1 << 42
            start = min(max(period.start, -bound), bound) * 1_000_000
            end = min(max(period.end, -bound), bound) * 1_000_000
            offset = period.offset * 1_000_000
        }
    }

    private func period(at instant: Int) -> Period { Period(rules.period(at: Self.seconds(instant))) }

    private func period(before period: Period) -> Period { self.period(at: period.start - 1) }

    /// Rounded down.
    private static func seconds(_ microseconds: Int) -> Int {
        microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
    }

    /// The civil time from which on the times of a period are its own: of those that come twice only if they run twice.
    private func ownStart(_ period: Period) -> Int {
        let start = period.start + period.offset
        return runsTwice ? start : max(start, period.start + self.period(before: period).offset)
    }

    // MARK: - Forwards

    /// The first one that is not before this instant.
    func first(from instant: Int) -> Int? {
        let current = period(at: instant)
        let from = max(instant + current.offset, ownStart(current))
        let civil = pattern.next(from: from)
        if let civil, civil - current.offset < current.end { return civil - current.offset }
        let next = period(at: current.end)
        // In a second pass that begins there are times before those that the first one has had.
        if runsTwice, next.start + next.offset < from, current.end < 1 << 60 {
            let again = pattern.next(from: next.start + next.offset)
            if let again, again - next.offset < next.end { return again - next.offset }
        }
        return civil.flatMap { resolve($0, after: current) }
    }

    /// The first instant of a civil time, of later ones if it has none and is not due after its gap.
    private func resolve(_ civil: Int, after period: Period) -> Int? {
        var civil = civil
        while true {
            // No offset is a day and more; a gap may be one.
            var current = self.period(at: max(civil - Self.farthest, period.end))
            while civil - current.offset >= current.end { current = self.period(at: current.end) }
            if civil - current.offset >= current.start { return civil - current.offset }
            if runsAfterGap { return current.start }
            guard let next = pattern.next(from: current.start + current.offset) else { return nil }
            civil = next
        }
    }

    private static let farthest = 52 * 3_600_000_000

    // MARK: - Backwards

    /// The last one that is not after this instant, of those that come one after the other from `first` on.
    func last(through instant: Int, since first: Int) -> Int? {
        var current = period(at: instant)
        let start = first + period(at: first).offset
        var civil = pattern.previous(from: instant + current.offset, since: start)
        while true {
            if let civil, civil >= ownStart(current) { return civil - current.offset }
            guard current.start > 0 else { return nil }
            let before = period(before: current)
            let (gapStart, gapEnd) = (current.start + before.offset, current.start + current.offset)
            if gapStart < gapEnd {
                if let time = civil, time >= gapStart {
                    if runsAfterGap { return current.start }
                    civil = pattern.previous(from: gapStart - 1, since: start)
                }
            } else {
                civil = pattern.previous(from: gapStart - 1, since: start)
            }
            current = before
        }
    }

    // MARK: - Counting

    /// How many there are from one instant until just before another.
    func count(in instants: Range<Int>) -> Int {
        var count = 0
        var current = period(at: instants.lowerBound)
        var from = instants.lowerBound
        while true {
            let until = min(current.end, instants.upperBound)
            let first = max(from + current.offset, ownStart(current))
            let last = until + current.offset
            if first < last { count += pattern.count(in: first..<last) }
            guard current.end < instants.upperBound else { return count }
            let next = period(at: current.end)
            let gap = current.end + current.offset..<max(current.end + next.offset, current.end + current.offset)
            // An elapse after the gap may be due then anyway.
            if runsAfterGap, let civil = pattern.next(from: gap.lowerBound), civil < gap.upperBound,
                pattern.next(from: gap.upperBound) != gap.upperBound
            {
                count += 1
            }
            from = next.start
            current = next
        }
    }
}
