import Dispatch
import Engine
import EventSources
import ProgramKit
import Testing

@testable import Handlers

/// Places for descriptors in the service manager's store.
@Suite("Long runs", .ownThread) struct LongRunsTests {
    private func run(_ number: Int) -> RunID { RunID(operation: UInt64(number), attempt: 1) }

    @Test func aPlaceIsGivenToOneThatStillRuns() {
        let core = Context("test.core")
        core.queue.sync {
            let runs = LongRuns(core: core)
            var came: [UInt64] = []
            runs.roomCame = { came.append($0.operation) }
            for number in 1...LongRuns.limit { #expect(runs.hasRoom(for: run(number))) }
            // It asks with each of its commands.
            for _ in 0..<2 { #expect(!runs.hasRoom(for: run(1000))) }
            #expect(!runs.hasRoom(for: run(1001)))
            runs.ended(run(1))
            #expect(came == [1000])
            runs.ended(run(1000))
            #expect(came == [1000, 1001])
            runs.ended(run(1001))
            #expect(came == [1000, 1001], "nobody is left")
            #expect(runs.hasRoom(for: run(1002)) && !runs.hasRoom(for: run(1003)))
        }
    }
}
