import Testing
import WatchFile

@testable import Daemon
@testable import Engine

@Suite("How long runs usually take") struct UsualDurationsTests {
    private func ended(_ handler: String, _ took: Int64, _ result: EngineResult = .done) -> OperationView {
        var view = OperationView(
            id: 1, handler: handler, queue: "q", origin: .run(handler: handler), state: .finished, events: [],
            entries: 0, deliveries: 0, depth: 0, submitted: 0, attempt: 1)
        (view.result, view.started, view.ended) = (result, 1000, 1000 + took)
        return view
    }

    @Test func itIsTheMedianOfThoseThatSucceeded() {
        let usual = UsualDurations()
        for took in [5, 1] { usual.add(ended("h", Int64(took))) }
        #expect(usual.usual("h") == nil && usual.usual("other") == nil)
        usual.add(ended("h", 1_000_000, .failed))
        #expect(usual.usual("h") == nil)
        usual.add(ended("h", 900))
        #expect(usual.usual("h") == 5)
    }

    @Test func onlyTheLastOnesCountAndThoseOfTheHistoryAreOlder() {
        let usual = UsualDurations()
        usual.add(ended("h", 7))
        usual.addOlder((0..<100).map { _ in EndedOperation(ended("h", 1)) })
        #expect(usual.usual("h") == 1)
        for _ in 0..<UsualDurations.kept { usual.add(ended("h", 50)) }
        usual.addOlder([EndedOperation(ended("h", 1))])
        #expect(usual.usual("h") == 50)
    }

    @Test func handlersAreBounded() {
        let usual = UsualDurations()
        for number in 0..<UsualDurations.handlerLimit { usual.add(ended("h\(number)", 1)) }
        for _ in 0..<3 { usual.add(ended("new", 3)) }
        #expect(usual.usual("new") == 3)
        usual.addOlder((0..<5).map { _ in EndedOperation(ended("older", 1)) })
        #expect(usual.usual("older") == nil)
    }
}
