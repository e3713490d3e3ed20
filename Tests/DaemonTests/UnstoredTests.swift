import Store
import Testing

@testable import Daemon

@Suite("What could not be stored") struct UnstoredTests {
    private func put(_ id: UInt64, source: String = "custom/a") -> StoreChange {
        .put(OperationRow(id: id, handler: "a", queue: "q", source: source, state: [], events: []))
    }

    private func record(_ id: UInt64) -> StoreChange {
        .record(
            HistoryRow(id: id, handler: "a", queue: "q", source: "custom/a", result: "done", submitted: 1, ended: 2))
    }

    private func sentences(_ changes: [StoreChange], endedOnce: Set<UInt64> = []) -> [String] {
        Unstored(changes, endedOnce: endedOnce).sentences { $0.hasPrefix("path/") }
    }

    @Test func nothingIsSaidOfWhatNobodyMisses() {
        #expect(sentences([]).isEmpty)
        #expect(
            sentences([.mark(name: "ids", value: []), .mark(name: "timer/t", value: []), put(1), .remove(id: 1)])
                .isEmpty)
        #expect(
            sentences([
                .hold(source: "custom/a", events: [1], replacing: false),
                .hold(source: "custom/a", events: [], replacing: true),
            ]).isEmpty)
    }

    @Test func operationsAreNamed() {
        #expect(
            sentences([
                put(7), put(5), put(6, source: "path/p"), .append(id: 5, events: []), .append(id: 3, events: []),
            ]) == [
                "2 operations could not be stored and are lost: 5 (a), 7 (a)",
                "1 operation could not be stored with all its events: 3",
                "1 operation could not be stored; what made it comes again at the next start: 6 (a)",
            ])
        #expect(
            sentences([.append(id: 1, events: []), .remove(id: 1), record(1)]) == [
                "1 operation ended, which could not be stored: it runs again at the next start: 1",
                "1 record of the history could not be stored",
            ])
        #expect(
            sentences([.remove(id: 1), .remove(id: 2)], endedOnce: [2, 3]) == [
                "1 operation ended, which could not be stored: it runs again at the next start: 1",
                "1 operation ended, which could not be stored: the next start calls it failed, with an unknown end: 2",
            ])
    }

    @Test func aLineOfTheLogIsBounded() {
        let sentence = sentences((1...150).map { put($0) })
        #expect(sentence.count == 1 && sentence[0].hasSuffix("100 (a) and 50 more"))
    }

    @Test func whatIsHeldBackAndWhatWasDecidedIsNamed() {
        #expect(
            sentences([
                .hold(source: "custom/a", events: [1], replacing: false),
                .hold(source: "path/p", events: [1], replacing: true),
                .mark(name: "suspended/queue/q", value: []), .mark(name: "once/a", value: []),
                .mark(name: "suspended/queue/r", value: []), .mark(name: "suspended/queue/r", value: nil),
            ]) == [
                "what is held back of custom/a could not be stored and is lost",
                "what is held back of path/p could not be stored; it comes again at the next start",
                "“suspend” could not be stored and is forgotten at the next start: queue/q",
                "“resume” could not be stored and is undone at the next start: queue/r",
                "Once= may run again, as that could not be stored: a",
            ])
    }
}
