import Dispatch
import ProgramKit
import Synchronization
import Testing

@Suite("Standstill", .ownThreadChain, .serialized)
struct StandstillTests {
    private final class Box: Sendable {
        let steps = Mutex(0)
    }

    /// Each step is another block, on a thread that may have to be made first.
    private static func count(to last: Int, _ box: Box, _ queues: [DispatchQueue]) {
        let step = box.steps.withLock { steps in
            steps += 1
            return steps
        }
        if step < last { queues[step % queues.count].async { @Sendable in count(to: last, box, queues) } }
    }

    @Test func itDoesNotComeBeforeTheLastBlockOfAChain() async {
        await #expect(processExitsWith: .success) {
            let queues = (0..<5).map { DispatchQueue(label: "q\($0)") }
            for _ in 0..<50 {
                let box = Box()
                StandstillTests.count(to: 200, box, queues)
                try Standstill.wait()
                #expect(box.steps.withLock { $0 } == 200)
            }
        }
    }

    @Test func aThreadThatComputesIsNotAtRest() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<20 {
                let box = Box()
                DispatchQueue(label: "busy").async { @Sendable in
                    for number in 1...2_000_000 { box.steps.withLock { $0 = number } }
                }
                try Standstill.wait()
                #expect(box.steps.withLock { $0 } == 2_000_000)
            }
        }
    }
}
