import ProgramKit
import SeedKit
import Testing

/// The same inputs give the same actions in the same order, whatever the hash seed of the process.
@Suite("Engine, the same in every process", .ownThreadChain) struct RepeatabilityTests {
    /// Each process has a hash seed of its own.
    private static func digests() async -> [Substring] {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            for seed in Seeds.range(15, long: 50) {
                var script = RepeatableScript(seed: seed)
                script.play(steps: 40)
                for (step, digest) in script.digests.enumerated() { print("seed \(seed), input \(step): \(digest)") }
            }
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        return output.split(separator: "\n").filter { $0.hasPrefix("seed ") }
    }

    @Test func twoProcessesDecideTheSameInTheSameOrder() async {
        async let one = Self.digests()
        async let other = Self.digests()
        let (first, second) = (await one, await other)
        let difference = zip(first, second).first { $0 != $1 }
        #expect(difference == nil, "\(difference?.0 ?? ""): in another process the actions are others")
        #expect(first.count == second.count && first.count > LongPart.count(15, long: 50) * 40)
    }
}
