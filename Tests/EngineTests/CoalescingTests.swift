import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Coalescing and overlap")
struct CoalescingTests {
    private func fixture(_ source: SourceDefinition, overlap: Overlap? = nil) -> EngineFixture {
        EngineFixture(.of(queues: [.serial("q")], handlers: [.exec("h", overlap: overlap)], sources: [source]))
    }

    @Test func eventsOfOneKeyMergeWhileTheyWait() {
        let fixture = fixture(.path("p", to: "h"))
        fixture.path("p", .written, "/w/a")
        for name in ["b", "c", "b"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.endAll()
        #expect(fixture.story == ["h: written:a", "h: written:c written:bx2"])
        #expect(fixture.counters(handler: "h")?.coalesced == 2)
        #expect(fixture.counters(handler: "h")?[.done] == 4)
    }

    @Test func whatHasStartedTakesNothingInAnyMore() {
        let fixture = fixture(.custom("x", to: "h"))
        fixture.emit("x", 1)
        fixture.emit("x", 2)
        #expect(fixture.running == ["h: data:1"])
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:2"])
    }

    @Test func withoutCoalescingEveryEventIsAnOperation() {
        let fixture = fixture(.custom("x", to: "h", on: "q", coalesces: false))
        for data in 1...3 { fixture.emit("x", Int64(data)) }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:2", "h: data:3"])
        #expect(fixture.counters(queue: "q")?.coalesced == 0)
    }

    @Test func eventsOfTwoSourcesOrQueuesDoNotMerge() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("h")],
                sources: [.custom("x", to: "h"), .custom("y", to: "h"), .custom("z", to: "h", on: "main")]))
        for name in ["x", "y", "z", "x", "y", "z"] { fixture.emit(name) }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:2x2", "h: data:2x2", "h: data:1"])
    }

    @Test func aCreatedAndDeletedFileLeavesNoOperation() {
        let fixture = fixture(.path("p", to: "h"))
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .created, "/w/b")
        fixture.path("p", .deleted, "/w/b")
        #expect(fixture.results == ["h annulled"])
        #expect(fixture.counters(handler: "h")?[.annulled] == 2)
        fixture.endAll()
        #expect(fixture.story == ["h: written:a"])
    }

    // MARK: Custom data

    @Test func dataAreAdded() {
        let fixture = fixture(.custom("x", to: "h"))
        for data in [Int64(1), 2, 3, -7] { fixture.emit("x", data) }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:-2x3"])
    }

    @Test func dataWrapAroundInsteadOfFailing() {
        let fixture = fixture(.custom("x", to: "h"))
        for data in [1, Int64.max, 1] { fixture.emit("x", data) }
        fixture.endAll()
        #expect(fixture.story.last == "h: data:\(Int64.min)x2")
    }

    @Test func dataAreCombinedBitByBit() {
        let fixture = fixture(.custom("x", to: "h", merge: .or))
        for data in [1, 2, 4, 2] { fixture.emit("x", Int64(data)) }
        fixture.endAll()
        #expect(fixture.story.last == "h: data:6x3")
    }

    @Test func theNewestReplacesDataAndPayload() {
        let fixture = fixture(.custom("x", to: "h", merge: .replace))
        fixture.emit("x", 1)
        fixture.emit("x", 2, payload: "old")
        fixture.emit("x", 3)
        fixture.emit("x", nil, payload: "new")
        fixture.endAll()
        #expect(fixture.story.last == "h: data:-/newx3")
    }

    @Test func aPayloadIsNeverMergedAwayElse() {
        let fixture = fixture(.custom("x", to: "h"))
        fixture.emit("x", 1)
        fixture.emit("x", 2)
        fixture.emit("x", 5, payload: "{}")
        fixture.emit("x", 3)
        fixture.emit("x", 0, payload: "{}")
        fixture.endAll()
        #expect(fixture.story.last == "h: data:5/{} data:5x2 data:0/{}")
    }

    @Test(arguments: [CustomTrigger.Merge.add, .or])
    func dataZeroIsNoEvent(merge: CustomTrigger.Merge) {
        let fixture = fixture(.custom("x", to: "h", merge: merge, coalesces: false))
        guard case .events(let ids) = fixture.reply(fixture.emit([("x", 0, nil), ("x", 1, nil)])) else {
            Issue.record("no answer")
            return
        }
        #expect(ids == [0, 1])
        #expect(fixture.story == ["h: data:1"])
        #expect(fixture.counters(source: "custom/x")?.accepted == 1)
    }

    @Test func withoutDataItIsOne() {
        let fixture = fixture(.custom("x", to: "h"))
        fixture.emit("x", nil)
        #expect(fixture.story == ["h: data:1"])
    }

    // MARK: Overlap

    @Test func toWaitMeansOneMoreRunWithAllThatCame() {
        let fixture = fixture(.custom("x", to: "h"), overlap: .wait)
        for _ in 0..<4 { fixture.emit("x") }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:3x3"])
    }

    @Test func toSkipMeansThatWhatComesMeanwhileIsNotRun() {
        let fixture = fixture(.custom("x", to: "h"), overlap: .skip)
        for _ in 0..<4 { fixture.emit("x") }
        #expect(fixture.counters(source: "custom/x")?[.skipped] == 3)
        fixture.endAll()
        fixture.emit("x")
        #expect(fixture.story == ["h: data:1", "h: data:1"])
        #expect(fixture.results == ["h done"])
    }

    @Test func skippingIsByKey() {
        let fixture = fixture(.custom("x", to: "h", key: .perData, coalesces: false), overlap: .skip)
        for data in [1, 2, 1] { fixture.emit("x", Int64(data)) }
        #expect(fixture.story == ["h: data:1", "h: data:2"])
    }

    @Test func whatOnlyWaitsIsNoReasonToSkip() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("busy"), .exec("h", overlap: .skip)],
                sources: [.custom("b", to: "busy", on: "q"), .custom("x", to: "h", on: "q")]))
        for name in ["b", "x", "x"] { fixture.emit(name) }
        fixture.endAll()
        #expect(fixture.story == ["busy: data:1", "h: data:2x2"])
    }

    @Test func aTimerSkipsUnlessItIsToldElse() {
        let sources: [SourceDefinition] = [
            .timer("t", to: "h", every: .seconds(1)), .timer("u", to: "waits", every: .seconds(1)),
            .timer("v", to: "free", every: .seconds(1), key: .none),
        ]
        let fixture = EngineFixture(
            .of(handlers: [.exec("h"), .exec("waits", overlap: .wait), .exec("free")], sources: sources))
        fixture.advance(seconds: 3)
        #expect(fixture.running == ["h: timer", "waits: timer", "free: timer", "free: timer", "free: timer"])
        #expect(fixture.counters(handler: "h")?[.skipped] == 2)
        #expect(fixture.counters(handler: "waits")?[.pending] == 2)
        fixture.endAll()
        #expect(fixture.story.last == "waits: timerx2")
    }
}
