import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Wait")
struct WaitTests {
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.serial("q"), .serial("both")], handlers: [.exec("h", change), .exec("told"), .exec("other")],
                sources: [
                    .fifo("f", to: "h", on: "q"), .group("g", of: "h", to: "told"),
                    .group("both", of: "told", to: "other"),
                ]))
    }

    private func isWaited(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .waited = fixture.reply(token) { true } else { false }
    }

    private func isTimedOut(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .timedOut = fixture.reply(token) { true } else { false }
    }

    @Test func forAnOperationUntilItHasEnded() {
        let fixture = fixture()
        for text in ["1", "2"] { fixture.line("f", text) }
        let first = fixture.wait(.operation(1))
        let second = fixture.wait(.operation(2))
        fixture.endFirst(.exited(3))
        guard case .waited(let view) = fixture.reply(first) else {
            Issue.record("not answered")
            return
        }
        #expect(view?.id == 1 && view?.result == .failed && view?.exit == .exited(3))
        #expect(fixture.reply(second) == nil)
        fixture.cancel(2)
        fixture.endFirst(.signaled(15))
        guard case .waited(let view) = fixture.reply(second) else {
            Issue.record("not answered")
            return
        }
        #expect(view?.result == .cancelled)
    }

    @Test func forTheLastAttempt() {
        let fixture = fixture { $0.retry = .times(1, after: 1) }
        fixture.line("f", "1")
        let token = fixture.wait(.operation(1))
        fixture.endFirst(.exited(1))
        #expect(fixture.reply(token) == nil)
        fixture.advance(seconds: 2)
        fixture.endFirst()
        #expect(isWaited(fixture, token))
    }

    @Test func forAQueueUntilNothingWaitsOrRunsThere() {
        let fixture = fixture()
        for text in ["1", "2"] { fixture.line("f", text) }
        let token = fixture.wait(.named("q"))
        fixture.endFirst()
        #expect(fixture.reply(token) == nil)
        fixture.endFirst()
        #expect(isWaited(fixture, token))
    }

    @Test func whatIsEmptyIsAnsweredAtOnce() {
        let fixture = fixture()
        for name in ["q", "queue/q", "g", "group/g", "default"] {
            #expect(isWaited(fixture, fixture.wait(.named(name))), "\(name)")
        }
    }

    @Test func whatIsDelayedOrBacksOffIsWaitedFor() {
        let fixture = fixture {
            $0.constraints.delay = .seconds(10)
            $0.retry = .times(1, after: 10)
        }
        fixture.line("f", "1")
        let token = fixture.wait(.named("q"))
        fixture.advance(seconds: 10)
        fixture.endFirst(.exited(1))
        #expect(fixture.reply(token) == nil)
        fixture.advance(seconds: 12)
        fixture.endFirst()
        #expect(isWaited(fixture, token))
    }

    @Test func forAGroupUntilItIsEmptyAndWhoEnteredHasLeft() throws {
        let fixture = fixture()
        guard case .ticket(let ticket) = fixture.reply(fixture.command(.enterGroup(name: "g"))) else {
            Issue.record("not entered")
            return
        }
        fixture.line("f", "1")
        let token = fixture.wait(.named("g"))
        fixture.endFirst()
        #expect(fixture.reply(token) == nil)
        fixture.command(.leaveGroup(name: "g", ticket: ticket))
        #expect(isWaited(fixture, token))
    }

    @Test func noLongerThanItIsAskedTo() {
        let fixture = fixture()
        fixture.line("f", "1")
        let tokens = [fixture.wait(.operation(1), seconds: 10), fixture.wait(.named("g"), seconds: 10)]
        fixture.advance(seconds: 9.999_999)
        #expect(tokens.allSatisfy { fixture.reply($0) == nil })
        fixture.advance(seconds: 0.000_001)
        #expect(tokens.allSatisfy { isTimedOut(fixture, $0) })
        fixture.endFirst()
        #expect(tokens.allSatisfy { fixture.replies[$0]?.count == 1 })
    }

    @Test func withNoTimeAtAllItOnlyAsks() {
        let fixture = fixture()
        #expect(isWaited(fixture, fixture.wait(.named("q"), seconds: 0)))
        fixture.line("f", "1")
        #expect(isTimedOut(fixture, fixture.wait(.named("q"), seconds: 0)))
    }

    @Test func aTimeBeyondAllTimeIsNoTrap() {
        let fixture = fixture()
        fixture.line("f", "1")
        let long = fixture.command(.wait(.operation(1), after: .max, caller: nil))
        let short = fixture.command(.wait(.operation(1), after: .min, caller: nil))
        #expect(fixture.reply(long) == nil && fixture.reply(short) != nil)
        fixture.endFirst()
        #expect(isWaited(fixture, long))
    }

    @Test func whoHasGoneIsNotAnswered() {
        let fixture = fixture()
        fixture.line("f", "1")
        let tokens = [fixture.wait(.operation(1)), fixture.wait(.named("q"), seconds: 5)]
        for token in tokens { fixture.send(.abandon(token)) }
        fixture.endFirst()
        fixture.advance(seconds: 10)
        #expect(tokens.allSatisfy { fixture.reply($0) == nil })
    }

    @Test func whatIsNotThereIsNotWaitedFor() {
        let fixture = fixture()
        #expect(fixture.error(fixture.wait(.operation(99))) == .noSuchOperation(99))
        #expect(fixture.error(fixture.wait(.named("nothing"))) == .noSuchName("nothing", nearest: nil))
        guard case .ambiguousName("both", let candidates) = fixture.error(fixture.wait(.named("both"))) else {
            Issue.record("a queue and a group of one name")
            return
        }
        #expect(candidates.sorted() == ["group/both", "queue/both"])
    }

    @Test func whoWaitsAtAStopIsAnswered() {
        let fixture = fixture()
        for text in ["1", "2"] { fixture.line("f", text) }
        let tokens = [fixture.wait(.operation(1)), fixture.wait(.operation(2)), fixture.wait(.named("q"))]
        fixture.send(.drain)
        #expect(isWaited(fixture, tokens[1]))
        fixture.endFirst()
        #expect(fixture.drained == [])
        #expect(tokens.allSatisfy { fixture.replies[$0]?.count == 1 })
    }

    @Test func aRemovedQueueIsWaitedForUntilItIsGone() {
        let fixture = fixture()
        fixture.line("f", "1")
        let token = fixture.wait(.named("q"))
        fixture.reload(.of())
        #expect(fixture.reply(token) == nil)
        fixture.endFirst()
        #expect(isWaited(fixture, token))
    }
}
