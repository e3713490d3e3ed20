import Schedule
import Testing
import WatchFile

@testable import Engine

/// Submitting never deadlocks: a part of a run does not wait for room that only the end of the run could make.
@Suite("Callers of Emit inside a run")
struct EmitFromRunTests {
    private func fixture(
        _ queue: QueueDefinition = .serial("q", backlog: 2), settings: DaemonSettings = DaemonSettings(),
        isChecked: Bool = true
    ) -> EngineFixture {
        EngineFixture(
            .of(
                settings: settings, queues: [queue, .concurrent("r", width: 1, backlog: 1)],
                handlers: [.exec("h"), .exec("g")],
                sources: [
                    .custom("x", to: "h", on: "q", key: .none, coalesces: false),
                    .custom("z", to: "g", on: "r", key: .none, coalesces: false),
                ]), isChecked: isChecked)
    }

    @discardableResult
    private func emit(_ fixture: EngineFixture, _ name: String, by caller: UInt64?, payload: String = "1") -> Token {
        let fact = CustomFact(data: nil, payload: Array(payload.utf8))
        return fixture.command(.emit([.init(name: name, fact: fact)], caller: caller))
    }

    private func isTakenIn(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .events(let ids) = fixture.reply(token) { ids.count == 1 } else { false }
    }

    @Test func theOwnFullQueueTakesItInAboveItsBound() {
        let fixture = fixture()
        let first = emit(fixture, "x", by: nil)
        #expect(isTakenIn(fixture, first))
        let tokens = (1...3).map { emit(fixture, "x", by: 1, payload: "\($0)") }
        #expect(tokens.allSatisfy { isTakenIn(fixture, $0) })
        #expect(fixture.queue("q")?.over == 1)
        fixture.endAll()
        #expect(fixture.ended.count == 4)
    }

    @Test func aStrangerWaitsAsBefore() {
        let fixture = fixture()
        let tokens = (0...3).map { _ in emit(fixture, "x", by: nil) }
        #expect(fixture.reply(tokens[3]) == nil)
        // Nor does who has waited longer keep the run.
        #expect(isTakenIn(fixture, emit(fixture, "x", by: 1)))
    }

    @Test func maxOperationsIsNoDifferent() {
        let fixture = fixture(.serial("q"), settings: DaemonSettings(maxOperations: 2))
        emit(fixture, "x", by: nil)
        let tokens = (1...3).map { _ in emit(fixture, "x", by: 1) }
        #expect(tokens.allSatisfy { isTakenIn(fixture, $0) })
    }

    @Test func whereOthersMakeRoomARunWaitsForIt() {
        let fixture = fixture()
        emit(fixture, "x", by: nil)
        for _ in 0..<2 { emit(fixture, "z", by: 1) }
        let token = emit(fixture, "z", by: 1)
        #expect(fixture.reply(token) == nil)
        fixture.end("g")
        #expect(isTakenIn(fixture, token))
    }

    @Test func twoRunsThatFillEachOthersQueueDoNotBothWait() {
        let fixture = fixture(.concurrent("q", width: 1, backlog: 1))
        emit(fixture, "x", by: nil)
        emit(fixture, "z", by: nil)
        for name in ["x", "z"] { emit(fixture, name, by: nil) }
        let first = emit(fixture, "z", by: 1)
        #expect(fixture.reply(first) == nil)
        #expect(isTakenIn(fixture, emit(fixture, "x", by: 2)))
        fixture.end("g")
        #expect(isTakenIn(fixture, first))
    }

    @Test func aRunThatWaitsForRoomIsNotWaitedForByThatWhichMakesIt() {
        let fixture = fixture()
        emit(fixture, "x", by: nil)
        for _ in 0..<2 { emit(fixture, "z", by: nil) }
        #expect(fixture.reply(emit(fixture, "z", by: 1)) == nil)
        guard case .wouldDeadlock(let chain) = fixture.error(fixture.wait(.operation(1), caller: 2)) else {
            Issue.record("not refused")
            return
        }
        #expect(chain.first == "operation 1 waits for room, which is taken by operation 3", "\(chain)")
    }

    @Test func aLoopThatEmitsForEverEndsAtABound() {
        let fixture = fixture(settings: DaemonSettings(maxOperations: 10), isChecked: false)
        emit(fixture, "x", by: nil)
        var taken = 0
        while taken <= 20_000, isTakenIn(fixture, emit(fixture, "x", by: 1)) { taken += 1 }
        #expect(taken == 10 + Engine.overLimit.entries)
        #expect(fixture.error(emit(fixture, "x", by: 1)) == .queueFull(queue: "q", backlog: 2, bytes: nil))
    }

    @Test func aChainOfSuchRunsIsAsLongAsOneOfEmitKeys() {
        let fixture = fixture(.serial("q", backlog: 1))
        emit(fixture, "x", by: nil)
        for depth in 0..<Engine.chainLimit {
            let run = fixture.runs[0]
            emit(fixture, "x", by: run.operation)
            let over = emit(fixture, "x", by: run.operation)
            #expect(isTakenIn(fixture, over), "\(depth)")
            // The deepest goes on.
            for view in fixture.engine.operationViews.dropFirst().dropLast() { fixture.cancel(view.id) }
            fixture.end(run)
        }
        emit(fixture, "x", by: fixture.runs[0].operation)
        let last = emit(fixture, "x", by: fixture.runs[0].operation)
        #expect(fixture.error(last) == .queueFull(queue: "q", backlog: 1, bytes: nil))
    }
}
