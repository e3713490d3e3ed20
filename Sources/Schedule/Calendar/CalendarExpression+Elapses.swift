// When an expression is due.
//
// Where the clocks are set forward, some civil times do not exist; where they are set back, some come twice. `run`
// loses nothing: a time that does not exist is due at the first instant after the gap (all of one gap together), a time
// that comes twice is due in the first pass, and in both if the expression repeats. `skip` is as systemd: see
// `SystemdElapse`.

/// `DaylightSaving=`: what becomes of times that do not exist, or come twice, where the clocks are changed.
package enum DaylightSaving: String, Hashable, Sendable, CaseIterable {
    case run, skip
}

extension CalendarExpression: CalendarSchedule {
    package var zoneName: String? { if case .named(let name) = zone { name } else { nil } }

    package func nextElapse(
        after base: Int64, in rules: TimeZoneRules, daylightSaving: DaylightSaving = .run
    ) -> Int64? {
        let from = max(Int(min(base, Self.latest)), -1) + 1
        switch zone {
        case .utc: return pattern.next(from: from).map { Int64($0) }
        case .abbreviation(_, let isDaylightSaving):
            return abbreviated(from, rules, isDaylightSaving)
        case .local, .named:
            if daylightSaving == .skip {
                let elapse = SystemdElapse.first(of: self, from: from, in: rules, pinned: nil)
                if !elapse.isStuck, elapse.instant ?? from >= from { return elapse.instant.map { Int64($0) } }
            }
            return zoned(rules, daylightSaving).first(from: from).map { Int64($0) }
        }
    }

    package func newestElapses(
        after base: Int64, through end: Int64, limit: Int = Self.mostCaughtUp, in rules: TimeZoneRules,
        daylightSaving: DaylightSaving = .run
    ) -> NewestElapses {
        let from = max(Int(min(base, Self.latest)), -1) + 1
        let until = Int(min(max(end, -1), Self.latest)) + 1
        guard from < until else { return NewestElapses(instants: [], count: 0) }
        if case .abbreviation = zone { return walked(from..<until, limit, rules) }
        let zoned = zoned(zone == .utc ? .utc : rules, daylightSaving)
        var instants: [Int64] = []
        var next = until - 1
        while instants.count < limit, let last = zoned.last(through: next, since: from), last >= from {
            instants.append(Int64(last))
            next = last - 1
        }
        let count = instants.count < limit ? instants.count : zoned.count(in: from..<until)
        return NewestElapses(instants: instants.reversed(), count: count)
    }

    /// Where the clocks have just been set back, the abbreviation that was in effect until then takes systemd back in
    /// time, to what has elapsed already. Then it is asked from a little later on.
    private func abbreviated(_ from: Int, _ rules: TimeZoneRules, _ isDaylightSaving: Bool) -> Int64? {
        for start in stride(from: from, to: from + Self.longestWayBack, by: Self.wayOn) {
            let elapse = SystemdElapse.first(of: self, from: start, in: rules, pinned: isDaylightSaving)
            guard let found = elapse.instant else { return nil }
            if found >= from { return Int64(found) }
        }
        return nil
    }

    private static let longestWayBack = 24 * 3_600_000_000
    private static let wayOn = 15 * 60_000_000

    private func zoned(_ rules: TimeZoneRules, _ daylightSaving: DaylightSaving) -> ZonedPattern {
        ZonedPattern(pattern, rules, isRepeating: isRepeating, daylightSaving: daylightSaving)
    }

    /// One after the other, because what systemd makes of an abbreviation depends on the base; of a long span only so
    /// many.
    private func walked(_ instants: Range<Int>, _ limit: Int, _ rules: TimeZoneRules) -> NewestElapses {
        var all: [Int64] = []
        var base = Int64(instants.lowerBound) - 1
        while all.count < Self.mostWalked, let next = nextElapse(after: base, in: rules), next < instants.upperBound {
            all.append(next)
            base = next
        }
        return NewestElapses(instants: all.suffix(limit), count: all.count)
    }

    private static let mostWalked = 100_000

    /// The end of 9999: nothing elapses then, and sums do not overflow.
    static let latest: Int64 = 253_402_300_799_999_999
}
