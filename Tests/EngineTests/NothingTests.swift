import Testing
import WatchFile

@testable import Engine

/// Data that comes to 0 is no event, as in Dispatch (`DispatchSourceOracleTests`).
@Suite("Data that comes to 0") struct NothingTests {
    private func fixture(_ merge: CustomTrigger.Merge, isDurable: Bool = false) -> EngineFixture {
        let queue = QueueDefinition.serial("q").with { $0.isDurable = isDurable }
        return EngineFixture(
            .of(
                queues: [queue], handlers: [.exec("h", queue: "q")],
                sources: [.custom("c", to: "h", on: "q", merge: merge)]))
    }

    private func ids(_ fixture: EngineFixture, _ token: Token) -> [UInt64]? {
        if case .events(let ids) = fixture.reply(token) { ids } else { nil }
    }

    @Test(arguments: [CustomTrigger.Merge.add, .replace], [true, false])
    func whatWaitsIsAnnulledByIt(merge: CustomTrigger.Merge, isDurable: Bool) {
        let fixture = fixture(merge, isDurable: isDurable)
        fixture.suspend("queue/q")
        fixture.emit("c", 5)
        let token = fixture.emit("c", merge == .add ? -5 : 0)
        #expect(ids(fixture, token) == [2], "it was accepted")
        fixture.resume("queue/q")
        #expect(fixture.story.isEmpty && fixture.results == ["h annulled"])
        #expect(fixture.ended.first?.reason == "its data came to 0, which is no event")
        #expect(fixture.counters(handler: "h")?[.annulled] == 2 && fixture.engine.entriesPending == 0)
        fixture.emit("c", 3)
        #expect(fixture.story == ["h: data:3"])
    }

    @Test(arguments: [CustomTrigger.Merge.add, .or, .replace]) func whereNothingWaitsItIsNone(
        merge: CustomTrigger.Merge
    ) {
        let fixture = fixture(merge)
        #expect(ids(fixture, fixture.emit("c", 0)) == [0])
        fixture.emit("c", 5)
        #expect(ids(fixture, fixture.emit("c", 0)) == [0], "what runs is closed")
        fixture.endAll()
        #expect(fixture.story == ["h: data:5"] && fixture.counters(handler: "h")?.accepted == 1)
    }

    /// One handler has it still to be told, the other one runs.
    @Test func ofTwoHandlersOnlyWhatWaitsIsReplaced() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 9)], semaphores: [.of("s", 0)],
                handlers: [.exec("h", queue: "q") { $0.constraints.acquire("s") }, .exec("i", queue: "q")],
                sources: [.custom("d", to: "h", "i", on: "q", merge: .replace)]))
        fixture.emit("d", 5)
        #expect(fixture.running == ["i: data:5"])
        #expect(ids(fixture, fixture.emit("d", 0)) == [2])
        #expect(fixture.results == ["h annulled"] && fixture.refusals == ["i annulled"])
        #expect(fixture.refused.first?.reason == "data 0 is no event, and nothing waits")
        fixture.endAll()
        #expect(fixture.story == ["i: data:5"] && fixture.results == ["h annulled", "i done"])
    }

    @Test(arguments: [CustomTrigger.Merge.add, .replace]) func whatASuspendedSourceHoldsIsAnnulledToo(
        merge: CustomTrigger.Merge
    ) {
        let fixture = fixture(merge)
        fixture.suspend("custom/c")
        #expect(ids(fixture, fixture.emit("c", 0)) == [0])
        fixture.emit("c", 5)
        fixture.emit("c", merge == .add ? -5 : 0)
        fixture.resume("custom/c")
        #expect(fixture.story.isEmpty && fixture.counters(source: "custom/c")?[.annulled] == 2)
        fixture.suspend("custom/c")
        for data in [Int64(5), merge == .add ? -5 : 0, 4] { fixture.emit("c", data) }
        fixture.resume("custom/c")
        #expect(fixture.story == ["h: data:4"])
    }

    @Test func aFullQueueTakesItInAndNothingIsDroppedForIt() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1, overflow: .dropOldest)], handlers: [.exec("h", queue: "q")],
                sources: [.custom("c", to: "h", on: "q", merge: .replace), .fifo("f", to: "h", on: "q", key: .handler)])
        )
        fixture.suspend("queue/q")
        fixture.line("f", "x")
        #expect(ids(fixture, fixture.emit("c", 0)) == [0])
        fixture.resume("queue/q")
        #expect(fixture.story == ["h: line:x"])
    }

    @Test func aPayloadIsReplacedByNothingWithReplaceOnly() {
        for (merge, story) in [(CustomTrigger.Merge.replace, []), (.add, ["h: data:-/{}"])] {
            let fixture = fixture(merge)
            fixture.suspend("queue/q")
            fixture.emit("c", nil, payload: "{}")
            fixture.emit("c", 0)
            fixture.resume("queue/q")
            #expect(fixture.story == story)
        }
    }

    @Test func aRunByHandWithData0Runs() {
        let fixture = fixture(.replace)
        fixture.command(.run(.init(name: "custom/c", data: 0)))
        #expect(fixture.story == ["h: data:0"])
    }

    /// Whoever was ended for it may have been told the first part already.
    @Test func ofARestartNothingIsAnnulled() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q", overlap: .restart)],
                sources: [.custom("c", to: "h", on: "q")]))
        fixture.emit("c", 5)
        fixture.emit("c", -5)
        fixture.endFirst(.signaled(15))
        #expect(fixture.story == ["h: data:5", "h: data:0x2"])
    }

    /// An older watchd kept it, and may have begun to tell it.
    @Test(arguments: [true, false]) func whatAnOlderWatchdStoredIsToldAsItCame(isExecuting: Bool) {
        var stored = StoredOperation(
            id: 9, handler: "h", queue: "q", origin: .source(SourceID(.custom, "c")), submitted: 1)
        (stored.merge, stored.place, stored.keys, stored.isExecuting) = (.add, 1, [[]], isExecuting)
        stored.events = [Event(id: 1, time: 1, fact: .custom(CustomFact(data: 5)))]
        stored.appended = [Event(id: 2, time: 2, fact: .custom(CustomFact(data: -5)))]
        var state = StoredState()
        state.operations = [stored]
        let configuration = Configuration.of(
            queues: [QueueDefinition.serial("q").with { $0.isDurable = true }], handlers: [.exec("h", queue: "q")],
            sources: [.custom("c", to: "h", on: "q")])
        let fixture = EngineFixture(configuration, restoring: state)
        #expect(fixture.story == ["h: data:5 data:-5"])
    }
}
