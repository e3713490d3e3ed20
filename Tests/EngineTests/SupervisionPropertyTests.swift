import SeedKit
import Testing

@Suite("Supervised processes, random programs") struct SupervisionPropertyTests {
    @Test func noCopyEverRunsTwiceAndNoEndIsLost() {
        for seed in Seeds.range(50, long: 600) {
            var program = SupervisionProgram(seed: seed)
            program.play(steps: 200)
            if let violation = program.violation {
                Issue.record("seed \(seed): \(violation); WATCHD_SEEDS=\(seed)...\(seed)")
                return
            }
        }
    }
}
