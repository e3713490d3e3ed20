import SeedKit
import Testing

@Suite("Streams, random programs") struct StreamPropertyTests {
    @Test func everyLineEndsOnceAndNoWorkerHoldsTooMany() {
        for seed in Seeds.range(30, long: 1000) {
            var program = StreamProgram(seed: seed)
            program.play(steps: 200)
            if let violation = program.violation {
                Issue.record("seed \(seed): \(violation); WATCHD_SEEDS=\(seed)...\(seed)")
                return
            }
        }
    }
}
