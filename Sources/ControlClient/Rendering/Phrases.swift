import ControlInterface
import Schedule

/// Numbers in the form in which people read them at a glance.
enum Phrases {
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

    /// The words behind a change that the store does not know yet: `; not stored yet: …`. None if it does.
    static func unsaved(_ reason: String?, crash: String) -> String {
        reason.map { "; not stored yet: \($0); after a crash \(crash)" } ?? ""
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
