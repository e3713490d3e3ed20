import ControlInterface
import Schedule

/// Numbers and spans in the form in which people read them at a glance.
enum Phrases {
    /// `14min`, `2d 1h`, `340ms`: one unit, two where the first counts less than three.
    static func span(microseconds: Int64) -> String {
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

    /// The same of what is still to come: `1.6s` below three seconds, for a wait of one is another thing than of two.
    static func delay(microseconds: Int64) -> String {
        let tenths = microseconds / 100_000
        guard (10..<30).contains(tenths), tenths % 10 > 0 else { return span(microseconds: microseconds) }
        return "\(tenths / 10).\(tenths % 10)s"
    }

    /// `1 615`.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result += " " }
            result.append(digit)
        }
        return number < 0 ? "-" + result : result
    }

    /// `1 event`, `2 events`.
    static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// `7.9 MB`.
    static func bytes(_ number: Int) -> String {
        var value = Double(max(number, 0))
        var unit = "B"
        for larger in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = larger
        }
        guard unit != "B", value < 99.95 else { return "\(Int(value.rounded())) \(unit)" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// `by root 40min ago until 11:00, “pg upgrade”`.
    static func suspension(_ suspension: Suspension, _ screen: Screen) -> String {
        let until = suspension.until.map { " until \(screen.until($0))" } ?? ""
        let reason = suspension.reason.map { ", “\($0)”" } ?? ""
        return "by \(suspension.by) \(screen.ago(suspension.since))\(until)\(reason)"
    }
}
