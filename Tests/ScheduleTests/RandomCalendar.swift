import SeedKit

/// Calendar expressions, most of them valid.
enum RandomCalendar {
    static let zones = [
        "UTC", "Europe/Berlin", "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "America/Sao_Paulo",
        "Asia/Tokyo", "Africa/Casablanca", "Asia/Beirut", "Antarctica/Troll", "Pacific/Apia",
    ]

    /// Instants at which clocks are changed somewhere, leap days, ends of years; µs since the epoch.
    static let changes: [Int64] = [
        1_774_746_000, 1_792_890_000, 1_772_953_200, 1_793_512_800, 1_775_314_800, 1_791_043_200, 1_709_164_799,
        1_798_761_599, 1_325_203_200, 1_541_300_400, 4_102_444_800, 7_200_000_000,
    ].map { $0 * 1_000_000 }

    /// - Parameter inMonths: without years, so that it goes on.
    static func expression(_ generator: inout SeededGenerator, inMonths: Bool = false) -> String {
        var parts: [String] = []
        if generator.chance(30) { parts.append(weekdays(&generator)) }
        if generator.chance(60) {
            let year = inMonths || generator.chance(75) ? "*" : generator.pick(["2026", "2027..2031", "2024/3", "28"])
            let isFromEnd = generator.chance(20)
            let days = isFromEnd ? chain(1...28, star: 10, &generator) : chain(1...31, star: 40, &generator)
            parts.append("\(year)-\(chain(1...12, star: 60, &generator))\(isFromEnd ? "~" : "-")\(days)")
        }
        if generator.chance(80) || parts.isEmpty {
            var time = "\(chain(0...23, star: 30, &generator)):\(chain(0...59, star: 30, &generator))"
            if generator.chance(40) { time += ":\(chain(0...59, star: 25, fractions: true, &generator))" }
            parts.append(time)
        }
        if !inMonths, generator.chance(12) {
            parts.append(generator.pick(["UTC", "utc", "Europe/Berlin", "CET", "CEST", "EST", "IST", "Foo/Bar"]))
        }
        let text = parts.joined(separator: " ")
        return !inMonths && generator.chance(8) ? damaged(text, &generator) : text
    }

    private static func weekdays(_ generator: inout SeededGenerator) -> String {
        let names = ["Mon", "tue", "Wednesday", "Thu", "FRI", "Sat", "Sun"]
        return (0...generator.upTo(2)).map { _ in
            let first = generator.upTo(6)
            guard generator.chance(40) else { return names[first] }
            let last = first + generator.upTo(6 - first)
            return names[first] + generator.pick(["..", "-"]) + names[last]
        }.joined(separator: ",")
    }

    private static func chain(
        _ values: ClosedRange<Int>, star: Int, fractions: Bool = false, _ generator: inout SeededGenerator
    ) -> String {
        if generator.chance(star) { return "*" }
        return (0...generator.pick([0, 0, 0, 1, 2])).map { _ in element(values, fractions, &generator) }
            .joined(separator: ",")
    }

    private static func element(
        _ values: ClosedRange<Int>, _ fractions: Bool, _ generator: inout SeededGenerator
    ) -> String {
        let fraction = fractions && generator.chance(15) ? ".\(generator.upTo(9_999_999))" : ""
        let first = Int.random(in: values, using: &generator)
        let last = Int.random(in: first...values.upperBound, using: &generator)
        let step = generator.chance(95) ? 1 + generator.upTo(values.count / 2) : generator.upTo(values.count + 5)
        return switch generator.upTo(9) {
        case 0...3: "\(first)\(fraction)"
        case 4...5: "\(first)\(fraction)..\(last)"
        case 6...8: "\(values.lowerBound + generator.upTo(values.count / 3))/\(step)\(fraction)"
        default: "\(first)..\(last)/\(step)"
        }
    }

    /// With a character changed, added or taken out.
    private static func damaged(_ text: String, _ generator: inout SeededGenerator) -> String {
        var characters = Array(text)
        let index = generator.upTo(characters.count - 1)
        let other = generator.pick(Array("0123456789*-~:,./ @aMTU"))
        switch generator.upTo(2) {
        case 0: characters[index] = other
        case 1: characters.insert(other, at: index)
        default: characters.remove(at: index)
        }
        return String(characters)
    }
}
