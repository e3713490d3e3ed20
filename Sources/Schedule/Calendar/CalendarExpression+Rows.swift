// A calendar such as `*:0/10` elapses again and again, all day long: asked for one elapse after the other, a year of it
// would take for ever. That its pauses are short can be seen in its fields, since all its days are alike.

extension CalendarExpression {
    /// Whether on each of its days it elapses again at most `span` after the elapse before, from the first to the last
    /// of the day, where the clocks are not changed. Work is bounded by the minutes of a day and by a minute in steps
    /// of `span`.
    package func isRow(within span: TimeSpan) -> Bool {
        if case .abbreviation = zone { return false }
        return pattern.isRow(within: Int(clamping: span.microseconds))
    }

    /// Of a row, an elapse after which it has gone on until this one without a longer pause: mostly the last one of the
    /// day.
    package func endOfRow(after elapse: Int64, in rules: TimeZoneRules) -> Int64 {
        let rules = zone == .utc ? .utc : rules
        func offset(_ instant: Int64) -> Int64 { Int64(rules.offset(at: Int(instant / 1_000_000))) * 1_000_000 }
        let (day, offsetHere) = (Int64(CivilPattern.microsecondsOfDay), offset(elapse))
        let civil = elapse + offsetHere
        var end = civil >= 0 ? elapse - civil % day + day - 1 : elapse
        // Not across a change of the clocks: up to there, by halves.
        while end > elapse, offset(end) != offsetHere { end = elapse + (end - elapse) / 2 }
        return newestElapses(after: elapse - 1, through: end, limit: 1, in: rules).instants.last ?? elapse
    }
}

extension CivilPattern {
    private static let microsecondsOfMinute = 60_000_000

    /// On a day that is meant. Microseconds.
    fileprivate func isRow(within span: Int) -> Bool {
        guard span > 0, seconds.isRow(within: span) else { return false }
        // The times that a repetition without an end leaves out after the full hour.
        guard let first = seconds.next(from: carries.second ?? 0) else { return false }
        let slots = (0..<24 * 60).filter { hours.has($0 / 60) && minutes.has($0 % 60) }
        return zip(slots, slots.dropFirst()).allSatisfy { slot, next in
            (next - slot) * Self.microsecondsOfMinute - seconds.last + first <= span
        }
    }
}

extension SecondSet {
    /// From the first to the last of the minute.
    fileprivate func isRow(within span: Int) -> Bool {
        var here = first
        while here < last {
            guard let next = previous(from: min(last, here + min(span, last))), next > here else { return false }
            here = next
        }
        return true
    }
}
