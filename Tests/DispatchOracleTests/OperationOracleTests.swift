import ProgramKit
import SeedKit
import Testing

/// Foundation's `OperationQueue` says what the engine has to do with priorities, dependencies, widths and cancellation.
/// Each test has a process of its own (`Standstill`).
@Suite("OperationQueue as the oracle", .ownThreadChain, .serialized)
struct OperationOracleTests {
    /// The first seed with a difference, its program made as short as it goes.
    private static func failure(in seeds: ClosedRange<UInt64>) throws -> String? {
        for seed in seeds {
            var program = OperationProgram(seed: seed)
            guard var difference = try OperationComparison.difference(in: program) else { continue }
            program.steps = try shrunk(program.steps) { steps in
                var fewer = program
                fewer.steps = steps
                guard let found = try OperationComparison.difference(in: fewer) else { return false }
                difference = found
                return true
            }
            return "seed \(seed) (WATCHD_SEEDS=\(seed)...\(seed)):\n\(difference)"
        }
        return nil
    }

    @Test func atEachStandstillTheSameOperationsExecute() async {
        await #expect(processExitsWith: .success) {
            if let failure = try OperationOracleTests.failure(in: Seeds.range(200, long: 1000)) {
                Issue.record("\(failure)")
            }
        }
    }

    @Test func everyWayToBeWrongIsSeen() async {
        await #expect(processExitsWith: .success) {
            for fault in OperationEngineSide.Fault.allCases {
                let isSeen = try (1...100).contains { seed in
                    try OperationComparison.difference(in: OperationProgram(seed: seed), fault: fault) != nil
                }
                #expect(isSeen, "\(fault)")
            }
        }
    }
}
