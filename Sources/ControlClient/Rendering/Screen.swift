import Schedule

/// The properties of the world that a rendering needs.
struct Screen: Sendable {
    /// Narrower terminals wrap the lines.
    static let narrowest = 40
    /// Of what no person looks at: nothing is cut or broken.
    static let unlimited = 1 << 20
    /// Lines that are put together of parts are no longer where nothing limits them.
    private static let usual = 100

    var width: Int
    var isColoured: Bool
    var now: Timestamp
    var local: LocalTime
    /// A person looks at it, not a program.
    var isTerminal = true

    /// A time of the wire; `nil` for text that is none.
    func instant(_ text: String?) -> Timestamp? { text.flatMap { try? Timestamp(parsing: $0) } }

    /// How long ago that is: `40min`; `-` for no time.
    func age(_ text: String?) -> String {
        instant(text).map { SpanText.glance(now.microseconds - $0.microseconds) } ?? "-"
    }

    /// `40min ago`, and `now` within a second; `-` for no time.
    func ago(_ text: String?) -> String {
        guard let instant = instant(text) else { return "-" }
        return now.microseconds - instant.microseconds < 1_000_000 ? "now" : age(text) + " ago"
    }

    /// `in 12min`, and `now` for what is past; `-` for no time.
    func ahead(_ text: String?) -> String {
        guard let instant = instant(text) else { return "-" }
        return instant <= now ? "now" : "in " + SpanText.glance(remaining: instant.microseconds - now.microseconds)
    }

    /// `09:48`, `Wed 08:12`; `-` for no time.
    func short(_ text: String?) -> String { instant(text).map { local.short($0, now: now) } ?? "-" }

    /// `10:00`, `Sat 21 Nov 02:30`, `09:48:02`; `-` for no time.
    func planned(_ text: String?) -> String { instant(text).map { local.planned($0, now: now) } ?? "-" }

    /// `09:48`, and `09:48:02` where that is near.
    func until(_ text: String) -> String { instant(text).map { local.until($0, now: now) } ?? "-" }

    /// `09:48:02`; `-` for no time.
    func clock(_ text: String?) -> String { instant(text).map { local.clock($0) } ?? "-" }

    /// `09:48:02.125`; `now` for no time.
    func precise(_ text: String?) -> String {
        guard let instant = instant(text) else { return "now" }
        let milliseconds = String(1000 + ((instant.microseconds / 1000) % 1000 + 1000) % 1000)
        return local.clock(instant) + "." + milliseconds.dropFirst()
    }

    /// `09:48:02, 40min ago`, with the day if it is not today.
    func full(_ text: String) -> String {
        guard let instant = instant(text) else { return "-" }
        let isToday = local.dayNumber(instant) == local.dayNumber(now)
        return (isToday ? "" : local.day(instant, now: now) + " ") + "\(local.clock(instant)), \(ago(text))"
    }

    /// Two texts at the two ends of a line; the right one goes below if they do not fit, and what is longer than a
    /// line goes on below.
    func spread(_ left: Styled, _ right: Styled) -> [Styled] {
        let width = lineWidth
        guard left.width + 2 + right.width <= width else {
            return left.wrapped(to: self.width) + right.wrapped(to: self.width)
        }
        return [left.padded(to: width - right.width) + right]
    }

    /// Parts side by side on as many lines as it takes, none of them broken where it fits on one.
    func flow(_ parts: [String], indent: Int = 0, _ colour: Styled.Colour = .plain) -> [Styled] {
        let (width, space) = (lineWidth, Styled(String(repeating: " ", count: indent)))
        var lines: [Styled] = []
        for part in parts {
            if let last = lines.last, last.width + 3 + Styled(part).width <= width - indent {
                lines[lines.endIndex - 1] = last + Styled(" · " + part, colour)
            } else {
                lines.append(Styled(part, colour))
            }
        }
        return lines.flatMap { $0.wrapped(to: self.width - indent) }.map { space + $0 }
    }

    private var lineWidth: Int { width == Self.unlimited ? Self.usual : width }

    func rendered(_ lines: [Styled]) -> String {
        lines.map { $0.rendered(coloured: isColoured) + "\n" }.joined()
    }
}
