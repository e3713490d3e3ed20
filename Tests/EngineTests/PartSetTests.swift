import SeedKit
import Testing

@testable import Engine

/// The library's own set of ranges says what it has to hold.
@Suite("Sets of parts") struct PartSetTests {
    @Test func itHoldsWhatWasPutIntoIt() {
        for seed in Seeds.range(200, long: 5_000) {
            var random = SeededGenerator(seed: seed)
            var (parts, oracle) = (PartSet(), RangeSet<Int>())
            for _ in 0..<random.upTo(30) {
                let first = random.upTo(40)
                let range = first..<first + random.upTo(4)
                parts.insert(range)
                oracle.insert(contentsOf: range)
                #expect(parts.ranges == Array(oracle.ranges), "seed \(seed)")
            }
            #expect(parts.isEmpty == oracle.isEmpty && parts.count == oracle.ranges.reduce(0) { $0 + $1.count })
            for part in 0..<45 { #expect(parts.contains(part) == oracle.contains(part), "seed \(seed)") }
        }
    }
}
