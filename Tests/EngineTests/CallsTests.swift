import Testing

@testable import Engine

@Suite("Callers that wait for an answer")
struct CallsTests {
    private func view(_ id: UInt64, _ result: Result) -> OperationView {
        var view = OperationView(
            id: id, handler: "h", queue: "q", origin: .run(handler: "h"), state: .finished, events: [], entries: 0,
            deliveries: 0, depth: 0, submitted: 0, attempt: 1)
        view.result = result
        return view
    }

    /// `TOKEN RESULT` of each answer.
    private func shown(_ answers: [Calls.Answer]) -> [String] {
        answers.map { token, reply in
            switch reply {
            case .ran(let view): "\(token.value) ran \(view.result?.rawValue ?? "")"
            case .waited(let view): "\(token.value) waited \(view?.result?.rawValue ?? "")"
            default: "\(token.value) ?"
            }
        }
    }

    @Test func aRunIsAnsweredByTheWorstOfItsOperations() {
        var calls = Calls()
        calls.run([1, 2], caller: nil, Token(7))
        calls.wait(Calls.Wait(subject: .operation(2), name: "2"), Token(8))
        let first = calls.came(.operation(1), view(1, .failed))
        #expect(first.isEmpty)
        #expect(shown(calls.came(.operation(2), view(2, .done))) == ["7 ran failed", "8 waited done"])
        #expect(calls.isEmpty)
    }

    @Test func aSuccessorIsWaitedForInThePlaceOfTheFirst() {
        var calls = Calls()
        calls.run([1], caller: 5, Token(7))
        calls.handOver(from: 1, to: 3)
        #expect(calls.callers(awaiting: 3) == [5] && calls.callers(awaiting: 1).isEmpty)
        let first = calls.came(.operation(1), view(1, .superseded))
        #expect(first.isEmpty)
        #expect(shown(calls.came(.operation(3), view(3, .done))) == ["7 ran done"])
    }

    @Test func whoHasGoneGetsNoAnswer() {
        var calls = Calls()
        calls.wait(Calls.Wait(subject: .queue(0), name: "q", deadline: 9), Token(1))
        calls.wait(Calls.Wait(subject: .queue(0), name: "q"), Token(2))
        #expect(calls.deadline(of: Token(1)) == 9 && calls.endlessWaits.count == 1)
        calls.abandon(Token(1))
        #expect(shown(calls.came(.queue(0))) == ["2 waited "] && !calls.isAwaited(.queue(0)))
    }

    @Test func atTheEndAllAreTakenInOrder() {
        var calls = Calls()
        calls.wait(Calls.Wait(subject: .group(0), name: "g"), Token(1))
        calls.run([1], caller: nil, Token(3))
        calls.run([1], caller: nil, Token(2))
        calls.run([2, 1, 3], caller: nil, event: 9, Token(4))
        _ = calls.came(.operation(2), view(2, .failed))
        let callers = calls.takeCallers()
        #expect(callers.map(\.token.value) == [2, 3, 4, 1] && calls.isEmpty)
        guard case .emitted(9, .unfinished([1, 2, 3])) = callers[2].reply else {
            return #expect(Bool(false), "\(callers[2].reply)")
        }
    }
}
