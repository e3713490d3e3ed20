import Testing
import WatchFile

@testable import Engine

@Suite("Work that a kill loses") struct WaitingAtRiskTests {
    @Test func itIsWhatWaitsInMemoryOnly() {
        let fixture = EngineFixture(
            .of(
                queues: [QueueDefinition(name: "kept", isDurable: true), .serial("plain")],
                handlers: [.exec("n"), .exec("kept"), .exec("files"), .exec("held")],
                sources: [
                    .custom("n", to: "n", on: "plain", coalesces: false), .custom("kept", to: "kept", on: "kept"),
                    .path("files", to: "files", on: "plain"),
                    .custom("held", to: "held", on: "plain", coalesces: false, isSuspended: true),
                ]))
        #expect(fixture.engine.waitingAtRisk(10).counts.isEmpty)
        for _ in 1...4 { fixture.emit("n") }
        fixture.emit("kept")
        fixture.path("files", .written, "/w/a")
        for _ in 1...2 { fixture.emit("held") }
        let waiting = fixture.engine.waitingAtRisk(2)
        // One runs; what is durable is in the store; files are compared at the next start.
        #expect(waiting.counts == ["n": 3, "held": 2])
        #expect(waiting.oldest.map(\.handler) == ["n", "n"])
        #expect(waiting.oldest.map(\.id) == [2, 3])
    }

    @Test func aLineThatAWorkerHasIsInNoProcessOfItsOwn() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("plain")], handlers: [.stream("s")],
                sources: [.custom("s", to: "s", on: "plain", coalesces: false)]))
        for worker in fixture.workers { fixture.spawn(worker) }
        fixture.emit("s")
        #expect(fixture.lines.count == 1)
        #expect(fixture.engine.waitingAtRisk(2).counts == ["s": 1])
        fixture.answer([fixture.lines[0].line.run])
        #expect(fixture.engine.waitingAtRisk(2).counts.isEmpty)
    }
}
