import SeedKit
import Testing

@Suite("Engine, random schedules")
struct RandomScheduleTests {
    /// One that fails prints itself, shortened, as a list of inputs.
    @Test func whatStartsMayStartAndNothingWaitsForNothing() {
        for seed in Seeds.range(150) {
            let script = ScheduleScript(seed: seed)
            guard let violation = script.play() else { continue }
            let short = script.shrunk()
            Issue.record("seed \(seed): \(short.play() ?? violation)\n\(short)\nWATCHD_SEEDS=\(seed)...\(seed)")
            return
        }
    }
}
