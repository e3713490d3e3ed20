import Dispatch
import EventSources
import ProgramKit
import Synchronization
import Testing

@Suite("Lanes", .ownThread) struct LaneTests {
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

    @Test func whatIsInOrderIsDoneOneByOneAndNobodyElseWaitsForIt() throws {
        let core = Context("test.core")
        let lanes = core.queue.sync { QueueBound(Lanes(core: core, count: 2), to: core) }
        let gate = DispatchSemaphore(value: 0)
        let done = Mutex<[String]>([])
        core.queue.sync {
            for number in 0..<5 {
                lanes.value.submit("path/a", inOrder: true) {
                    gate.wait()
                    done.withLock { $0.append("\(number)") }
                }
            }
            lanes.value.submit("path/b", inOrder: true) { done.withLock { $0.append("other") } }
            lanes.value.submit(nil, inOrder: true) { done.withLock { $0.append("nobody's") } }
        }
        try wait(for: "the others") { done.withLock { Set($0) } == ["other", "nobody's"] }
        for _ in 0..<5 { gate.signal() }
        try wait(for: "all") { done.withLock { $0.count } == 7 }
        #expect(done.withLock { $0.suffix(5) } == ["0", "1", "2", "3", "4"])
        core.queue.sync { lanes.value.submit("path/a", inOrder: true) { done.withLock { $0.append("again") } } }
        try wait(for: "the next one") { done.withLock { $0.last } == "again" }
    }
}
