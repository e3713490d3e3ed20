import Schedule

/// An instant as people name it on a command line, mostly one that has passed: the forms of `systemd.time(7)` that
/// need no calendar, in the local time zone.
enum PastTime {
    static let forms = "such as today, yesterday, 14:30, 2026-11-20, “2026-11-20 14:30:05”, @1763654645, or 2h (ago)"

    /// `nil`: it is none. A span means that long ago.
    static func parse(_ text: String, now: Timestamp, local: LocalTime) -> Timestamp? {
        let text = text.trimmingBlanks
        switch text {
        case "now": return now
        case "today": return midnight(now, local)
        case "yesterday": return midnight(now, local, daysAgo: 1)
        default: break
        }
        if text.hasPrefix("@") { return seconds(text.dropFirst()) }
        if let instant = try? Timestamp(parsing: text) { return instant }
        if let instant = civil(text, now: now, local: local) { return instant }
        return ago(text, now: now)
    }

    /// `1763654645.25`, since the epoch.
    private static func seconds(_ text: Substring) -> Timestamp? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard parts[0].isDigits, fraction.isDigits, let seconds = Int64(parts[0]),
            seconds <= Timestamp.latest.microseconds / 1_000_000,
            let microseconds = Int64((fraction + "000000").prefix(6))
        else { return nil }
        return Timestamp(microseconds: seconds * 1_000_000 + microseconds)
    }

    /// `14:30`, `2026-11-20`, `2026-11-20 14:30:05`.
    private static func civil(_ text: String, now: Timestamp, local: LocalTime) -> Timestamp? {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "T" }).map(String.init)
        let isDate = words.first?.contains("-") ?? false
        guard words.count == (isDate && words.count == 2 ? 2 : 1) else { return nil }
        let date = isDate ? words[0] : local.date(now)
        let clock = isDate ? (words.count == 2 ? words[1] : "00:00") : words[0]
        guard clock.split(separator: ":", omittingEmptySubsequences: false).count == (clock.utf8.count > 5 ? 3 : 2),
            let wanted = try? Timestamp(parsing: "\(date)T\(clock.utf8.count > 5 ? clock : clock + ":00")Z")
        else { return nil }
        return local.instant(ofLocal: wanted)
    }

    private static func midnight(_ now: Timestamp, _ local: LocalTime, daysAgo: Int64 = 0) -> Timestamp? {
        guard let today = try? Timestamp(parsing: local.date(now) + "T00:00:00Z") else { return nil }
        return local.instant(ofLocal: Timestamp(microseconds: today.microseconds - daysAgo * 86_400_000_000))
    }

    /// `2h`, `2h ago`, `-2h`. A bare number could be anything.
    private static func ago(_ text: String, now: Timestamp) -> Timestamp? {
        var text = text[...]
        if text.hasPrefix("-") { text = text.dropFirst() } else if text.hasSuffix(" ago") { text = text.dropLast(4) }
        guard !text.isDigits, let span = try? TimeSpan(parsing: String(text)), span != .infinity else { return nil }
        let microseconds = now.microseconds - Int64(clamping: min(span.microseconds, UInt64(Int64.max / 2)))
        return max(Timestamp(microseconds: microseconds), .earliest)
    }
}

extension LocalTime {
    /// `2026-11-20`.
    func date(_ instant: Timestamp) -> String { String(shifted(instant).description.prefix(10)) }

    /// When the local clocks show this (given as if it were UTC): the first time where they show it twice; where they
    /// leap over it, the instant that is as much later as they leap.
    func instant(ofLocal wanted: Timestamp) -> Timestamp {
        let day: Int64 = 86_400
        let seconds = wanted.microseconds / 1_000_000
        let candidates = [seconds - day, seconds + day].map { around in
            Timestamp(microseconds: wanted.microseconds - Int64(offset(around)) * 1_000_000)
        }
        let found = candidates.filter { shifted($0) == wanted }.min() ?? candidates[0]
        return min(max(found, .earliest), .latest)
    }
}

extension StringProtocol {
    fileprivate var isDigits: Bool {
        !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    fileprivate var trimmingBlanks: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
