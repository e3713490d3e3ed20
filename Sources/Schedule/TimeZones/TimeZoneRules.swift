// A time zone: the offsets of its clocks, each with the instant from which on it holds.
//
// All changes are one ascending table. Where a rule says how it goes on after the last recorded change (the footer of
// TZif, or a POSIX TZ string), its changes are laid out for 400 years: then the Gregorian calendar repeats, weekdays
// included, and so do they. An instant beyond the table is looked up as many times 400 years earlier.

/// A time zone: for each instant the offset from UTC, whether it is daylight-saving time, and the abbreviation.
package struct TimeZoneRules: Hashable, Sendable {
    /// An offset that the clocks have for a while.
    package struct LocalTimeType: Hashable, Sendable {
        /// Seconds east of UTC.
        package var offset: Int
        package var isDaylightSaving: Bool
        /// `CET`, `+0530`.
        package var abbreviation: String
    }

    /// From one change to the next, seconds since the epoch.
    struct Period {
        /// `Int.min` for the first.
        var start: Int
        /// Where the next begins; `Int.max` for the last.
        var end: Int
        /// Seconds east of UTC.
        var offset: Int
        var isDaylightSaving: Bool
    }

    struct Change {
        /// Seconds since the epoch.
        var instant: Int
        /// The index of a type.
        var kind: Int
    }

    /// Beyond these nothing is recorded; sums with offsets do not overflow.
    static let instants = -(1 << 55)...(1 << 55)
    /// Seconds of 400 years.
    private static let cycle = 146_097 * 86_400

    private let changes: [Int]
    /// The index of a type, for each change.
    private let kinds: [UInt16]
    private let types: [LocalTimeType]
    /// In effect before the first change.
    private let initial: UInt16
    /// The changes of the last 400 years of the table go on for ever.
    private let repeats: Bool
    /// `tzname[0]` of `tzset(3)`.
    package let standardAbbreviation: String
    /// `tzname[1]` of `tzset(3)`: the standard one where there is no daylight-saving time.
    package let daylightAbbreviation: String

    /// - Parameters:
    ///   - types: at least `initial` and those of the changes.
    ///   - recorded: ascending.
    ///   - rule: what holds after the last of them.
    init(types: [LocalTimeType], initial: Int, recorded: [Change], rule: PosixTimeZone?) {
        var (types, all) = (types, recorded)
        if let rule { all += rule.changes(after: recorded.last?.instant, types: &types) }
        var kept: [Change] = []
        for change in all {
            if kept.last?.instant == change.instant { kept.removeLast() }
            if (kept.last?.kind ?? initial) != change.kind { kept.append(change) }
        }
        changes = kept.map(\.instant)
        kinds = kept.map { UInt16($0.kind) }
        self.types = types
        self.initial = UInt16(initial)
        let last = kept.last?.instant ?? 0
        repeats = rule?.daylight != nil && kept.contains { $0.instant < last - Self.cycle }
        let names = Self.abbreviations(recorded, types, rule)
        standardAbbreviation = names.standard
        daylightAbbreviation = names.daylight
    }

    /// Coordinated Universal Time.
    package static let utc = TimeZoneRules(
        types: [LocalTimeType(offset: 0, isDaylightSaving: false, abbreviation: "UTC")], initial: 0, recorded: [],
        rule: nil)

    /// The offset of the clocks at an instant (seconds since the epoch).
    package func localTime(at seconds: Int) -> LocalTimeType { types[kind(index(at: covered(seconds).instant))] }

    /// Seconds east of UTC at an instant (seconds since the epoch).
    package func offset(at seconds: Int) -> Int { types[kind(index(at: covered(seconds).instant))].offset }

    func period(at seconds: Int) -> Period {
        let (instant, shift) = covered(seconds)
        let index = index(at: instant)
        let kind = kind(index)
        return Period(
            start: index < 0 ? .min : changes[index] + shift,
            end: index + 1 < changes.count ? changes[index + 1] + shift : .max,
            offset: types[kind].offset, isDaylightSaving: types[kind].isDaylightSaving)
    }

    /// The index of the change that is in effect; -1 before the first.
    private func index(at seconds: Int) -> Int {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    private func kind(_ index: Int) -> Int { Int(index < 0 ? initial : kinds[index]) }

    /// An instant of the table at which the clocks show the same, and how much earlier it is.
    private func covered(_ seconds: Int) -> (instant: Int, shift: Int) {
        let seconds = min(max(seconds, Self.instants.lowerBound), Self.instants.upperBound)
        guard repeats, let last = changes.last, seconds >= last else { return (seconds, 0) }
        let shift = ((seconds - last) / Self.cycle + 1) * Self.cycle
        return (seconds - shift, shift)
    }

    /// As glibc finds them: of each flavour the one that was changed to last, else the first of the types.
    private static func abbreviations(
        _ recorded: [Change], _ types: [LocalTimeType], _ rule: PosixTimeZone?
    ) -> (standard: String, daylight: String) {
        if recorded.isEmpty, let rule {
            return (rule.standard.abbreviation, (rule.daylight ?? rule.standard).abbreviation)
        }
        func name(_ isDaylightSaving: Bool) -> String? {
            let last = recorded.last { types[$0.kind].isDaylightSaving == isDaylightSaving }.map { types[$0.kind] }
            return (last ?? types.first { $0.isDaylightSaving == isDaylightSaving })?.abbreviation
        }
        let standard = name(false) ?? name(true) ?? ""
        return (standard, name(true) ?? standard)
    }
}
