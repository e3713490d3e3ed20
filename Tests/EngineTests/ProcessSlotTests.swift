import Testing
import WatchFile

@testable import Engine

@Suite("Process slots")
struct ProcessSlotTests {
    private func fixture(_ limit: Int) -> EngineFixture {
        EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: limit),
                queues: [.serial("one"), .concurrent("two", width: 9), .serial("three")],
                handlers: [.exec("a"), .exec("b"), .exec("c"), .log("note", [.literal(Array("noted".utf8))])],
                sources: [
                    .fifo("a", to: "a", on: "one"), .fifo("b", to: "b", on: "two"), .fifo("c", to: "c", on: "three"),
                    .fifo("n", to: "note", on: "two"),
                ]))
    }

    @Test func slotsGoByAgeOverAllQueues() {
        let fixture = fixture(1)
        for (source, text) in [("b", "1"), ("c", "2"), ("a", "3"), ("b", "4"), ("c", "5"), ("a", "6")] {
            fixture.line(source, text)
        }
        #expect(fixture.running == ["b: line:1"])
        #expect(fixture.engine.operation(2)?.waitingFor == "MaxProcesses=1 in use")
        fixture.endAll()
        #expect(fixture.story == ["b: line:1", "c: line:2", "a: line:3", "b: line:4", "c: line:5", "a: line:6"])
    }

    @Test func aQueueThatFreesASlotDoesNotKeepIt() {
        let fixture = fixture(2)
        for text in ["1", "2", "4"] { fixture.line("b", text) }
        fixture.line("a", "3")
        fixture.line("b", "5")
        fixture.endAll()
        #expect(fixture.story == ["b: line:1", "b: line:2", "b: line:4", "a: line:3", "b: line:5"])
    }

    @Test func whoIsCancelledOrSuspendedGivesItsPlaceInLineUp() {
        let fixture = fixture(1)
        fixture.line("a", "1")
        fixture.line("b", "2")
        fixture.line("c", "3")
        fixture.line("b", "4")
        fixture.command(.cancel(operation: 2))
        fixture.command(.suspend(name: "three", by: "me", reason: nil, until: nil))
        fixture.endFirst()
        #expect(fixture.running == ["b: line:4"])
        fixture.endFirst()
        #expect(fixture.running == [])
        fixture.command(.resume(name: "three"))
        #expect(fixture.running == ["c: line:3"])
    }

    @Test func whatNeedsNoProcessNeedsNoSlot() {
        let fixture = fixture(1)
        fixture.line("a", "1")
        fixture.line("n", "2")
        #expect(fixture.logs == ["noted"] && fixture.engine.processesRunning == 1)
    }

    @Test func whoStepsBackForItsKeyLetsGoWhoNeedsNoSlot() {
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1), queues: [.concurrent("q", width: 5)],
                handlers: [.exec("h"), .log("note", [.literal(Array("noted".utf8))])],
                sources: [.path("p", to: "h", on: "q", key: .perPath), .custom("n", to: "note", on: "q")]))
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .written, "/w/b")
        fixture.emit("n")
        #expect(fixture.logs.isEmpty)
        fixture.path("p", .renamed, "/w/a", from: "/w/b")
        #expect(fixture.logs == ["noted"])
    }

    @Test func aReloadMayGiveMoreSlotsOrFewer() {
        let fixture = fixture(2)
        for text in ["1", "2", "3", "4", "5"] { fixture.line("b", text) }
        var configuration = Configuration.of(
            settings: DaemonSettings(maxProcesses: 4), queues: [.concurrent("two", width: 9)], handlers: [.exec("b")],
            sources: [.fifo("b", to: "b", on: "two")])
        fixture.reload(configuration)
        // The fourth is kept for user-interactive.
        #expect(fixture.running.count == 3)
        configuration.settings.maxProcesses = 1
        fixture.reload(configuration)
        for _ in 0..<3 { fixture.endFirst() }
        #expect(fixture.running == ["b: line:4"])
        fixture.endFirst()
        #expect(fixture.running == ["b: line:5"])
    }
}
