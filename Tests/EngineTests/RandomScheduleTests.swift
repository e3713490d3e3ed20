import SeedKit
import Testing

@Suite("Engine, random schedules")
struct RandomScheduleTests {
    /// One that fails prints itself, shortened, as a list of inputs.
    @Test func whatStartsMayStartAndNothingWaitsForNothing() {
        for seed in Seeds.range(8, long: 300) {
            let script = ScheduleScript(seed: seed)
            guard let violation = script.play() else { continue }
            let short = script.shrunk()
            Issue.record("seed \(seed): \(short.play() ?? violation)\n\(short)\nWATCHD_SEEDS=\(seed)...\(seed)")
            return
        }
    }

    /// The same where few process slots, short semaphores, rates and handlers without a process come together.
    @Test func whoNeedsNoProcessGoesWhereItMayAmongThoseThatLackSlotsAndSemaphores() {
        for seed in Seeds.range(8, long: 300) {
            let script = ScheduleScript(crowdedBy: seed)
            guard let violation = script.play() else { continue }
            let short = script.shrunk()
            Issue.record("seed \(seed): \(short.play() ?? violation)\n\(short)\nWATCHD_SEEDS=\(seed)...\(seed)")
            return
        }
    }
}
