import SeedKit
import Testing

@Suite("Engine, random programs")
struct RandomProgramTests {
    @Test func everyInvariantHoldsAfterEveryInput() {
        for seed in Seeds.range(15, long: 500) {
            var program = RandomProgram(seed: seed)
            program.play(steps: 100)
            if let violation = program.violation {
                Issue.record("seed \(seed): \(violation); WATCHD_SEEDS=\(seed)...\(seed)")
                return
            }
        }
    }
}
