import LinuxSystem
import Schedule

/// Instants as a person reads them: in the local time zone, with as much of the date as is needed.
struct LocalTime: Sendable {
    /// Seconds east of UTC at an instant (seconds since the epoch).
    var offset: @Sendable (Int64) -> Int

    static let utc = LocalTime { _ in 0 }

    /// The zone of `TZ`, else of `/etc/localtime` (`localtime(3)`).
    static let system = LocalTime { Linux.utcOffset(at: $0) }

    /// `09:48:02`.
    func clock(_ instant: Timestamp) -> String { String(text(instant).dropFirst(11).prefix(8)) }

    /// `Fri 20 Nov`, and the year if it is not that of `now`.
    func day(_ instant: Timestamp, now: Timestamp) -> String {
        let text = text(instant)
        let month = Int(text.dropFirst(5).prefix(2)).map { Self.months[$0 - 1] } ?? ""
        let day = Int(text.dropFirst(8).prefix(2)) ?? 0
        let year = text.prefix(4)
        return "\(weekday(instant)) \(day) \(month)" + (year == self.text(now).prefix(4) ? "" : " \(year)")
    }

    /// `09:48` today, `Wed 08:12` within six days, else `Fri 20 Nov 08:12`.
    func short(_ instant: Timestamp, now: Timestamp) -> String {
        let minute = String(clock(instant).prefix(5))
        return switch abs(dayNumber(instant) - dayNumber(now)) {
        case 0: minute
        case 1...6: "\(weekday(instant)) \(minute)"
        default: "\(day(instant, now: now)) \(minute)"
        }
    }

    /// As `short`, but `09:48:02` where it is less than ten minutes away.
    func until(_ instant: Timestamp, now: Timestamp) -> String {
        instant.microseconds - now.microseconds < 600_000_000 ? clock(instant) : short(instant, now: now)
    }

    /// As a plan has it: `09:48`, and `Sat 21 Nov 02:30` on another day; `09:48:02` where it is not at a full minute.
    func planned(_ instant: Timestamp, now: Timestamp) -> String {
        let clock = clock(instant)
        let isToday = dayNumber(instant) == dayNumber(now)
        return (isToday ? "" : day(instant, now: now) + " ") + clock.prefix(clock.hasSuffix(":00") ? 5 : 8)
    }

    /// Days since the epoch; the same for two instants of one local day.
    func dayNumber(_ instant: Timestamp) -> Int { Int(shifted(instant).microseconds / 86_400_000_000) }

    /// `Fri`.
    func weekday(_ instant: Timestamp) -> String {
        // The epoch was a Thursday.
        Self.weekdays[(dayNumber(instant) + 4) % 7]
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// As RFC 3339, but in local time.
    private func text(_ instant: Timestamp) -> String { shifted(instant).description }

    /// The instant whose UTC reads as the local time of this one.
    func shifted(_ instant: Timestamp) -> Timestamp {
        let instant = min(max(instant, .earliest), .latest)
        let microseconds = instant.microseconds + Int64(offset(instant.microseconds / 1_000_000)) * 1_000_000
        return min(max(Timestamp(microseconds: microseconds), .earliest), .latest)
    }
}
