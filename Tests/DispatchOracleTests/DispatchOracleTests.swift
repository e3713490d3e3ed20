import ProgramKit
import SeedKit
import Testing

/// libdispatch itself says what the engine has to do. Each test has a process of its own, in which nothing but the
/// program goes on, so that a standstill can be told (`Standstill`).
@Suite("Dispatch as the oracle", .ownThreadChain, .serialized)
struct DispatchOracleTests {
    /// The first seed with a difference, its program made as short as it goes.
    private static func failure(in seeds: ClosedRange<UInt64>) throws -> String? {
        for seed in seeds {
            var program = DispatchProgram(seed: seed)
            guard var difference = try DispatchComparison.difference(in: program) else { continue }
            program.steps = try shrunk(program.steps) { steps in
                var fewer = program
                fewer.steps = steps
                guard let found = try DispatchComparison.difference(in: fewer) else { return false }
                difference = found
                return true
            }
            return "seed \(seed) (WATCHD_SEEDS=\(seed)...\(seed)):\n\(difference)"
        }
        return nil
    }

    @Test func atEachStandstillTheSameBlocksHaveStarted() async {
        await #expect(processExitsWith: .success) {
            if let failure = try DispatchOracleTests.failure(in: Seeds.range(80, long: 400)) {
                Issue.record("\(failure)")
            }
        }
    }

    @Test func everyWayToBeWrongIsSeen() async {
        await #expect(processExitsWith: .success) {
            for fault in EngineSide.Fault.allCases {
                let isSeen = try (1...100).contains { seed in
                    try DispatchComparison.difference(in: DispatchProgram(seed: seed), fault: fault) != nil
                }
                #expect(isSeen, "\(fault)")
            }
        }
    }

    @Test func dispatchAndWatchdPartWhereARestrictionIsLifted() async {
        await #expect(processExitsWith: .success) {
            for restriction in Ledger.Restriction.allCases {
                let isSeen = try (1...1_000).contains { seed in
                    try DispatchComparison.difference(in: DispatchProgram(seed: seed), lifting: restriction) != nil
                }
                #expect(isSeen, "\(restriction)")
            }
        }
    }
}
