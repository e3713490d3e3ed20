import LinuxSystem
import ProgramKit
import Testing

@testable import Handlers

@Suite("Starts that fail for now", .ownThread) struct ChildFailureTests {
    private func isTransient(_ step: SpawnError.Step, _ errno: Errno, hasOwnLimit: Bool = false) -> Bool {
        let error = SpawnError(step: step, detail: "", errno: errno)
        return Child.Failure(error, reason: "", hasOwnLimit: hasOwnLimit).isTransient
    }

    /// Of a user with too many processes it is `execve(2)` that fails.
    @Test func aLimitIsADelay() {
        #expect(isTransient(.clone, .wouldBlock) && isTransient(.execute, .wouldBlock))
        #expect(isTransient(.clone, .outOfMemory))
    }

    @Test func whatStaysAsItIsIsAFailure() {
        #expect(!isTransient(.execute, .wouldBlock, hasOwnLimit: true))
        #expect(!isTransient(.execute, .outOfMemory) && !isTransient(.execute, .noSuchFile))
        #expect(!isTransient(.folder, .noSuchFile))
    }
}
