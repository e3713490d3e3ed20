/// Spans of microseconds as people read them, shorter than `TimeSpan.description`; a negative span counts as none.
package enum SpanText {
    /// A span that has passed, rounded down: `400ms`, `1.6s`, `14min 3s`. Below a minute with tenths of a second.
    package static func elapsed(_ microseconds: Int64) -> String {
        let unit: UInt64 = microseconds >= 60_000_000 ? second : microseconds >= 1_000_000 ? second / 10 : second / 1000
        return microseconds < 1000 ? "0ms" : text(UInt64(microseconds) / unit * unit)
    }

    /// A span still to come, rounded up: `41ms`, `2.5s`, `10s`. Below ten seconds with tenths of a second.
    package static func remaining(_ microseconds: Int64) -> String {
        let unit: UInt64 =
            microseconds >= 10_000_000 ? second : microseconds >= 1_000_000 ? second / 10 : second / 1000
        return text((UInt64(max(0, microseconds)) + unit - 1) / unit * unit)
    }

    /// A span that has passed, for a table: `14min`, `2d 1h`, `340ms`. One unit, two where the first counts less than
    /// three.
    package static func glance(_ microseconds: Int64) -> String {
        let span = max(microseconds, 0)
        guard span >= 1_000_000 else { return span >= 1000 || span == 0 ? "\(span / 1000)ms" : "1ms" }
        var rest = span / 1_000_000
        var words: [String] = []
        for (name, seconds) in [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)] as [(String, Int64)] {
            let count = rest / seconds
            rest %= seconds
            if count > 0 { words.append("\(count)\(name)") }
            if count >= 3 || words.count == 2 || (count == 0 && !words.isEmpty) { break }
        }
        return words.joined(separator: " ")
    }

    /// A span still to come, for a table: `1.6s` below three seconds, for a wait of one is another thing than of two;
    /// from there on as `glance`.
    package static func glance(remaining microseconds: Int64) -> String {
        let tenths = microseconds / 100_000
        guard (10..<30).contains(tenths), tenths % 10 > 0 else { return glance(microseconds) }
        return "\(tenths / 10).\(tenths % 10)s"
    }

    private static let second: UInt64 = 1_000_000

    private static func text(_ microseconds: UInt64) -> String { TimeSpan(microseconds: microseconds).brief }
}
