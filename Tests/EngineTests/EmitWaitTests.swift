import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("emit --wait, priority") struct EmitWaitTests {
    private func fixture() -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.concurrent("narrow", width: 1), .serial("q")],
                handlers: [.exec("h"), .exec("skips") { $0.overlap = .skip }],
                sources: [
                    .custom("one", to: "h", on: "q"), .custom("two", to: "h", "skips", on: "q"),
                    .custom("skipped", to: "skips", on: "q"), .custom("nobody"),
                    .fifo("f", to: "h", on: "narrow"),
                ]))
    }

    private func emit(_ fixture: EngineFixture, _ name: String, _ data: Int64 = 1, caller: UInt64? = nil) -> Token {
        fixture.command(.emit([.init(name: name, fact: CustomFact(data: data))], caller: caller, waits: true))
    }

    /// `event result`.
    private func end(_ fixture: EngineFixture, _ token: Token) -> String? {
        guard case .emitted(let event, let end)? = fixture.reply(token) else { return nil }
        switch end {
        case .ended(let view): return "\(event) \(view.handler) \(view.result?.rawValue ?? "")"
        case .refused(let result, _): return "\(event) \(result.rawValue)"
        case .nothing: return "\(event) nothing"
        case .unfinished(let operations): return "\(event) unfinished \(operations)"
        }
    }

    @Test func itIsAnsweredWhenAllThatWasStartedHasEnded() throws {
        let fixture = fixture()
        let token = emit(fixture, "two")
        fixture.endFirst()
        #expect(end(fixture, token) == nil)
        fixture.end(try #require(fixture.starts.last?.run), .exited(3))
        #expect(end(fixture, token) == "1 skips failed")
    }

    @Test func anEventThatJoinsWaitsForThatOperation() {
        let fixture = fixture()
        fixture.emit("one", 1)
        let first = emit(fixture, "one", 2)
        let second = emit(fixture, "one", 3)
        fixture.endFirst()
        #expect(end(fixture, first) == nil && end(fixture, second) == nil)
        fixture.endFirst()
        #expect(end(fixture, first) == "2 h done" && end(fixture, second) == "3 h done")
        #expect(fixture.story == ["h: data:1", "h: data:5x2"])
    }

    @Test func whatIsAnnulledWhileItsSourceHoldsItIsAnswered() {
        let fixture = fixture()
        fixture.suspend("custom/one")
        let first = emit(fixture, "one", 5)
        let payload = fixture.command(
            .emit([.init(name: "one", fact: CustomFact(data: nil, payload: Array("{}".utf8)))], waits: true))
        #expect(end(fixture, first) == nil)
        let second = emit(fixture, "one", -5)
        #expect(end(fixture, first) == "1 annulled" && end(fixture, second) == "3 annulled")
        #expect(end(fixture, payload) == nil)
        fixture.resume("custom/one")
        fixture.endAll()
        #expect(end(fixture, payload) == "2 h done")
    }

    @Test func whatStartsNothingIsAnsweredAtOnce() {
        let fixture = fixture()
        #expect(end(fixture, emit(fixture, "nobody")) == "1 nothing")
        _ = emit(fixture, "skipped")
        #expect(end(fixture, emit(fixture, "skipped")) == "3 skipped")
        guard case .events([0])? = fixture.reply(emit(fixture, "one", 0)) else {
            return #expect(Bool(false), "data 0 is no event")
        }
    }

    @Test func anEventThatIsHeldIsWaitedForAllTheSame() {
        let fixture = fixture()
        fixture.suspend("one")
        let token = emit(fixture, "one", 1)
        fixture.emit("one", 2)
        #expect(end(fixture, token) == nil && fixture.running == [])
        fixture.resume("one")
        fixture.endAll()
        #expect(end(fixture, token) == "1 h done" && fixture.story == ["h: data:3x2"])
    }

    @Test func whoGoesIsToldNothingAndAStopAnswers() {
        let fixture = fixture()
        let gone = emit(fixture, "one")
        fixture.send(.abandon(gone))
        fixture.suspend("two")
        let held = emit(fixture, "two")
        fixture.send(.drain)
        #expect(end(fixture, held) == "2 unfinished []")
        fixture.endAll()
        #expect(fixture.reply(gone) == nil)
    }

    @Test func whatAStopKeepsIsNamedWithTheWorstOfTheOthers() {
        let fixture = EngineFixture(
            .of(
                queues: [QueueDefinition.serial("kept").with { $0.isDurable = true }],
                handlers: [.exec("first"), .exec("second"), .exec("third")],
                sources: [.custom("all", to: "first", "second", "third", on: "kept")]))
        let token = emit(fixture, "all")
        fixture.endFirst(.exited(1))
        fixture.send(.drain)
        #expect(end(fixture, token) == nil)
        fixture.endAll()
        #expect(end(fixture, token) == "1 unfinished [1, 3]" && fixture.drained != nil)
    }

    @Test func aRunCannotWaitForWhatComesAfterIt() {
        let fixture = fixture()
        fixture.emit("one")
        guard case .wouldDeadlock? = fixture.error(emit(fixture, "two", caller: 1)) else {
            return #expect(Bool(false), "it is refused")
        }
        #expect(fixture.starts.count == 1)
        fixture.endAll()
        #expect(fixture.starts.count == 1)
    }

    // MARK: Priority

    @Test func anOperationThatWaitsIsPutBeforeAndBehindOthers() {
        let fixture = fixture()
        for number in 1...4 { fixture.line("f", "\(number)") }
        fixture.command(.priority(.veryHigh, operation: 4))
        fixture.command(.priority(.low, operation: 2))
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:4", "h: line:3", "h: line:2"])
        #expect(fixture.engine.priorities.isEmpty)
    }

    @Test func whatHasNoPlaceAmongOthersIsRefused() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.emit("one", 1)
        fixture.emit("one", 2)
        for (id, part) in [(UInt64(1), "runs already"), (3, "serial")] {
            guard case .refused(let reason)? = fixture.error(fixture.command(.priority(.high, operation: id))) else {
                return #expect(Bool(false), "\(id)")
            }
            #expect(reason.contains(part))
        }
        #expect(fixture.error(fixture.command(.priority(.high, operation: 99))) == .noSuchOperation(99))
    }

    @Test func aReloadKeepsIt() {
        let fixture = fixture()
        for number in 1...3 { fixture.line("f", "\(number)") }
        fixture.command(.priority(.high, operation: 3))
        fixture.reload(
            .of(
                queues: [.concurrent("narrow", width: 1)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "narrow")]))
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:3", "h: line:2"])
    }
}
