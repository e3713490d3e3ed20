import Dispatch
import EventSources
import ProgramKit
import Synchronization
import Testing

@Suite("Lanes") struct LaneTests {
    @Test func aHungLaneIsNamedAndReplacedAndTheOthersGoOn() throws {
        let core = Context("test.core")
        let lanes = core.queue.sync { QueueBound(Lanes(core: core, count: 2), to: core) }
        let gate = DispatchSemaphore(value: 0)
        let done = Mutex(0)
        core.queue.sync {
            for name in ["one", "two"] { lanes.value.submit(name) { gate.wait() } }
            for _ in 0..<20 { lanes.value.submit("quick") { done.withLock { $0 += 1 } } }
        }
        #expect(done.withLock { $0 } == 0, "both lanes hang")
        try wait(for: "the work that came after them") { done.withLock { $0 } == 20 }
        try wait(for: "their names") { core.queue.sync { lanes.value.hung } == ["one", "two"] }
        for _ in 0..<2 { gate.signal() }
        try wait(for: "them to come back") { core.queue.sync { lanes.value.hung }.isEmpty }
    }
}
