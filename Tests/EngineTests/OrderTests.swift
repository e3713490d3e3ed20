import Testing
import WatchFile

@testable import Engine

@Suite("Order and exclusion")
struct OrderTests {
    @Test func aSerialQueueRunsOneAfterTheOtherInOrder() {
        let fixture = EngineFixture(
            .of(queues: [.serial("q")], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q")]))
        for text in ["1", "2", "3"] { fixture.line("f", text) }
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"])
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:2", "h: line:3"])
        #expect(fixture.results == ["h done", "h done", "h done"])
    }

    @Test func aConcurrentQueueStartsInOrderUpToItsWidth() {
        let fixture = EngineFixture(
            .of(queues: [.concurrent("q", width: 2)], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q")]))
        for text in ["1", "2", "3", "4"] { fixture.line("f", text) }
        #expect(fixture.running == ["h: line:1", "h: line:2"])
        fixture.end(fixture.runs[1])
        #expect(fixture.running == ["h: line:1", "h: line:3"])
        fixture.endAll()
        #expect(fixture.story.last == "h: line:4")
    }

    @Test func operationsWithOneKeyRunOneAtATimeAndOthersPass() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 4)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "q", key: .perLine)]))
        for text in ["a", "a", "b", "a", "c"] { fixture.line("f", text) }
        #expect(fixture.running == ["h: line:a", "h: line:b", "h: line:c"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:b", "h: line:c", "h: line:a"])
        #expect(fixture.engine.operation(4)?.waitingFor == "operation 2 (same key)")
    }

    @Test func onASerialQueueNobodyPassesWhoWaitsForItsKey() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("one"), .serial("two")], handlers: [.exec("h"), .exec("other")],
                sources: [
                    .fifo("f", to: "h", on: "one", key: .handler), .fifo("g", to: "h", on: "two", key: .handler),
                    .fifo("o", to: "other", on: "two", key: .handler),
                ]))
        fixture.line("f", "1")
        fixture.line("g", "2")
        fixture.line("o", "3")
        #expect(fixture.running == ["h: line:1"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:2"])
        fixture.endFirst()
        #expect(fixture.running == ["other: line:3"])
    }

    @Test func oneKeyExcludesAcrossQueuesInOrderOfSubmission() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("one", width: 9), .concurrent("two", width: 9)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "one", key: .perLine), .fifo("g", to: "h", on: "two", key: .perLine)])
        )
        fixture.line("f", "a")
        fixture.line("g", "a")
        fixture.line("f", "a")
        fixture.line("g", "b")
        #expect(fixture.running == ["h: line:a", "h: line:b"])
        fixture.endFirst()
        #expect(fixture.engine.operationViews.filter { $0.state == .executing }.map(\.queue) == ["two", "two"])
        fixture.endAll()
        #expect(fixture.ended.filter { $0.key == [97] }.map(\.queue) == ["one", "two", "one"])
    }

    @Test func differentHandlersDoNotExcludeEachOther() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("g"), .exec("h")], sources: [.custom("x", to: "h", "g")]))
        fixture.emit("x")
        #expect(fixture.running == ["h: data:1", "g: data:1"])
    }

    @Test func withoutAKeyNothingExcludesAnything() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h", overlap: .wait)], sources: [.custom("x", to: "h", key: .none)]))
        for _ in 0..<3 { fixture.emit("x") }
        #expect(fixture.running.count == 3)
    }

    @Test func aRenameWaitsForBothOfItsPaths() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h")], sources: [.path("p", to: "h", key: .perPath, coalesces: false)]))
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .written, "/w/b")
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        fixture.path("p", .written, "/w/a")
        #expect(fixture.running == ["h: written:a", "h: written:b"])
        fixture.end(fixture.runs[1])
        #expect(fixture.running == ["h: written:a"])
        fixture.endFirst()
        #expect(fixture.running == ["h: renamed:a>b"])
        fixture.endFirst()
        #expect(fixture.running == ["h: written:a"])
    }

    @Test func aRenameMakesTwoWaitingOperationsOneAtThePlaceOfTheOlder() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h"), .exec("busy")],
                sources: [.path("p", to: "h", on: "q", key: .perPath), .custom("x", to: "busy", on: "q")]))
        fixture.emit("x")
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .written, "/w/c")
        fixture.path("p", .written, "/w/b")
        fixture.path("p", .renamed, "/w/b", from: "/w/a", replaced: true)
        #expect(fixture.ended.map(\.reason) == ["joined operation 2"])
        fixture.path("p", .written, "/w/b")
        fixture.endAll()
        #expect(fixture.story == ["busy: data:1", "h: renamed:a>b!x4", "h: written:c"])
        #expect(fixture.counters(source: "path/p")?.coalesced == 3)
    }

    @Test func anOlderOperationThatTakesOverAKeyStepsInBeforeAYoungerOne() {
        // Two queues, so that the younger one is ready and not taken in by the rename.
        let fixture = EngineFixture(
            .of(
                queues: [.serial("one"), .serial("two")], handlers: [.exec("h"), .exec("busy")],
                sources: [
                    .path("p", to: "h", on: "one", key: .perPath), .path("o", to: "h", on: "two", key: .perPath),
                    .custom("x", to: "busy", on: "one", key: .none), .custom("y", to: "busy", on: "two", key: .none),
                ]))
        fixture.emit("x")
        fixture.emit("y")
        fixture.path("p", .written, "/w/a")
        fixture.path("o", .written, "/w/b")
        #expect(fixture.engine.operation(4)?.state == .ready)
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        #expect(fixture.engine.operation(4)?.state == .pending)
        fixture.end(fixture.runs[1])
        #expect(fixture.running == ["busy: data:1"])
        fixture.endAll()
        #expect(fixture.story.suffix(2) == ["h: renamed:a>bx2", "h: written:b"])
    }

    @Test func whoRunsIsNeverOvertakenByAnOlderOneThatTakesOverItsKey() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("one"), .serial("two")], handlers: [.exec("h"), .exec("busy")],
                sources: [
                    .path("p", to: "h", on: "one", key: .perPath), .path("o", to: "h", on: "two", key: .perPath),
                    .custom("x", to: "busy", on: "one"),
                ]))
        fixture.emit("x")
        fixture.path("p", .written, "/w/a")
        fixture.path("o", .written, "/w/b")
        fixture.path("o", .written, "/w/b")
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        fixture.endFirst()
        #expect(fixture.running == ["h: written:b"])
        fixture.endFirst()
        #expect(fixture.running == ["h: renamed:a>bx2"])
        fixture.endFirst()
        #expect(fixture.running == ["h: written:b"])
    }

    @Test func oneEventStartsItsHandlersInTheOrderWritten() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("b"), .exec("a"), .exec("c")],
                sources: [.custom("x", to: "c", "a", "b", on: "q")]))
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.story == ["c: data:1", "a: data:1", "b: data:1"])
    }
}
