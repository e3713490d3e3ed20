import Schedule

/// An instant to come, as people name it on a command line, in the local time zone.
enum ComingTime {
    static let forms = "such as 14:30, “tomorrow 08:00”, “2026-11-20 14:30:05” or @1763654645"

    /// A time of day that has passed is that of tomorrow. `nil`: it is none.
    static func parse(_ text: String, now: Timestamp, local: LocalTime) -> Timestamp? {
        let words = text.split(separator: " ").map(String.init)
        guard let first = words.first, first != "yesterday", !text.hasPrefix("-"), words.last != "ago",
            (try? TimeSpan(parsing: text)) == nil || first.hasPrefix("@")
        else { return nil }
        if first == "tomorrow" {
            return words.count > 2 ? nil : tomorrow(at: words.count == 2 ? words[1] : "00:00", now, local)
        }
        let isToday = first == "today" && words.count == 2
        guard let time = PastTime.parse(isToday ? words[1] : text, now: now, local: local) else { return nil }
        let isTimeOfDay = words.count == 1 && first.contains(":") && !first.contains("-")
        return isTimeOfDay && time <= now ? tomorrow(at: first, now, local) : time
    }

    private static func tomorrow(at clock: String, _ now: Timestamp, _ local: LocalTime) -> Timestamp? {
        guard clock.contains(":"), let midnight = PastTime.parse("today", now: now, local: local) else { return nil }
        // Noon of tomorrow, whatever is done to the clocks.
        let noon = Timestamp(microseconds: midnight.microseconds + 36 * 3600 * 1_000_000)
        return PastTime.parse("\(local.date(noon)) \(clock)", now: now, local: local)
    }
}
