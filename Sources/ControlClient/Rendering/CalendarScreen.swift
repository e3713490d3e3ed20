import Schedule

/// How `calendar` shows an expression: rows with their titles to the right, as `systemd-analyze` has them.
struct CalendarScreen {
    var screen: Screen
    var local: TimeZoneRules

    private static let titleWidth = 15

    /// `nil` for an invalid one.
    func lines(_ answer: CalendarAnswer) -> [Styled]? {
        guard let normalized = answer.normalized else { return nil }
        var rows: [(String, Styled)] = []
        if normalized != answer.text { rows.append(("Original form", Styled(answer.text))) }
        rows.append(("Normalized form", Styled(normalized)))
        if answer.elapses.isEmpty { rows.append(("Next elapse", Styled("never", .yellow))) }
        for (index, elapse) in answer.elapses.enumerated() {
            let title = index == 0 ? "Next elapse" : "Iteration #\(index + 1)"
            rows.append((title, Styled(text(elapse, local), .bold)))
            if local.localTime(at: Int(elapse / 1_000_000)) != TimeZoneRules.utc.localTime(at: 0) {
                rows.append(("(in UTC)", Styled(text(elapse, .utc))))
            }
            rows.append(("From now", Styled(distance(elapse))))
        }
        return rows.flatMap { Self.row($0.0, $0.1, titleWidth: Self.titleWidth, width: screen.width) }
    }

    /// A title, a colon, and a value that goes on below itself where it does not fit.
    static func row(_ title: String, _ value: Styled, titleWidth: Int, width: Int) -> [Styled] {
        let title = Styled(title + ": ").padded(to: titleWidth + 2, right: true)
        return value.wrapped(to: width - titleWidth - 2).enumerated().map { index, line in
            (index == 0 ? title : Styled(String(repeating: " ", count: titleWidth + 2))) + line
        }
    }

    /// `Mon 2026-03-30 02:30:00 CEST`, with the fraction of a second if there is one.
    private func text(_ instant: Int64, _ rules: TimeZoneRules) -> String {
        let type = rules.localTime(at: Int(instant / 1_000_000))
        let clock = LocalTime { _ in type.offset }
        let timestamp = Timestamp(microseconds: instant)
        let fraction = instant % 1_000_000 == 0 ? "" : "." + String(instant % 1_000_000 + 1_000_000).dropFirst()
        return "\(clock.weekday(timestamp)) \(clock.date(timestamp)) \(clock.clock(timestamp))\(fraction) "
            + type.abbreviation
    }

    private func distance(_ instant: Int64) -> String {
        let left = instant - screen.now.microseconds
        return left == 0 ? "now" : left > 0 ? "\(Self.relative(left)) left" : "\(Self.relative(-left)) ago"
    }

    /// `17 years 3 months`, `1 day 5h`, `2min 3s`: as systemd's `format_timestamp_relative()`. Of more than 0 us.
    static func relative(_ span: Int64) -> String {
        func count(_ unit: Int64, of span: Int64, _ name: String) -> String {
            "\(span / unit) \(name)\(span / unit == 1 ? "" : "s")"
        }
        let (second, minute, hour, day): (Int64, Int64, Int64, Int64) = (1_000_000, 60_000_000, 3_600_000_000, Self.day)
        let (week, month, year) = (7 * day, 2_629_800 * second, 31_557_600 * second)
        switch span {
        case year...: return count(year, of: span, "year") + " " + count(month, of: span % year, "month")
        case month...: return count(month, of: span, "month") + " " + count(day, of: span % month, "day")
        case week...: return count(week, of: span, "week") + " " + count(day, of: span % week, "day")
        case (2 * day)...: return count(day, of: span, "day")
        case (25 * hour)...: return "1 day \((span - day) / hour)h"
        case (6 * hour)...: return "\(span / hour)h"
        case hour...: return "\(span / hour)h \(span % hour / minute)min"
        case (5 * minute)...: return "\(span / minute)min"
        case minute...: return "\(span / minute)min \(span % minute / second)s"
        case second...: return "\(span / second)s"
        case 1000...: return "\(span / 1000)ms"
        default: return "\(span)us"
        }
    }

    private static let day: Int64 = 86_400_000_000
}

extension Styled {
    /// With an empty line between two blocks.
    static func blocks(_ blocks: [[Styled]]) -> [Styled] { Array(blocks.joined(separator: [Styled("")])) }
}
