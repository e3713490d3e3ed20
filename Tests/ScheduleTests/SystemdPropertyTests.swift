import LinuxSystem
import ProgramKit
import Schedule
import SeedKit
import Testing

/// Random expressions, asked of `systemd-analyze` too where it is installed (WATCHD_SEEDS asks for more).
@Suite("Random calendar expressions and systemd")
struct SystemdPropertyTests {
    private static let program = "/usr/bin/systemd-analyze"
    private static let isThere: Bool = {
        guard (try? Linux.stat(program)) != nil else { return false }
        // Later ones refuse some lists that 252 accepts, and name the zones of their own tzdata.
        return (try? Program.run([program, "--version"]))?.text.hasPrefix("systemd 252 ") ?? false
    }()

    private struct Answer {
        /// `nil`: refused.
        var normalized: String?
        /// Seconds since the epoch; `nil`: it gave up.
        var elapses: [Int64]?
    }

    private func ask(_ text: String, zone: String, base: Int64, count: Int) throws -> Answer {
        let end = try Program.run(
            [Self.program, "calendar", "--iterations=\(count)", "--base-time=@\(base)", "--", text],
            environment: ["TZ=\(zone)", "SYSTEMD_COLORS=0", "LANG=C.UTF-8"])
        if end.errorText.contains("Failed to parse") { return Answer() }
        let title = zone == "UTC" ? ["Next elapse: ", "Iter. #"] : ["(in UTC): "]
        let lines = end.text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let elapses = lines.filter { line in title.contains { line.hasPrefix($0) } }.compactMap { line -> Int64? in
            // Mon 2026-03-30 02:30:00 UTC
            let words = line.split(separator: " ")
            guard words.count >= 4, words.last == "UTC" else { return nil }
            let instant = try? Timestamp(parsing: "\(words[words.count - 3])T\(words[words.count - 2])Z")
            return instant.map { $0.microseconds / 1_000_000 }
        }
        let normalized = lines.first { $0.hasPrefix("Normalized form: ") }?.dropFirst(17)
        return Answer(normalized: normalized.map(String.init) ?? "", elapses: end.code == 0 ? elapses : nil)
    }

    @Test(.enabled(if: isThere), arguments: Seeds.range(40, long: 400))
    func theAnswersAreTheSame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = RandomCalendar.expression(&generator)
        let zone = generator.pick(RandomCalendar.zones)
        let spread: Int64 = generator.chance(30) ? 5400 : 200_000
        let base = generator.pick(RandomCalendar.changes) / 1_000_000 + .random(in: -spread...spread, using: &generator)
        let answer = try ask(text, zone: zone, base: base, count: 4)
        let local = try Zones.rules(zone)
        let expression = try? CalendarExpression(text, in: local)
        #expect((expression == nil) == (answer.normalized == nil), "seed \(seed): \(zone) @\(base) \(text)")
        guard let expression, let answers = answer.elapses else { return }
        #expect(expression.description == answer.normalized, "seed \(seed): \(text)")
        // At the changes of an abbreviation's clock it goes back in time, which no timer can.
        let last = answers.indices.first { answers[$0] < ($0 == 0 ? base : answers[$0 - 1]) }
        let expected = answers.prefix(last ?? answers.count)
        let elapses = Zones.elapses(
            expression, last ?? 4, after: base * 1_000_000, in: try expression.rules(local: local), .skip)
        #expect(elapses.map { $0 / 1_000_000 } == Array(expected), "seed \(seed): \(zone) @\(base) \(text)")
    }
}
