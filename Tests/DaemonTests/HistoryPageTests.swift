import Engine
import SeedKit
import Store
import Testing
import WatchFile

@testable import Daemon

@Suite("Page of the history") struct HistoryPageTests {
    private static func operation(
        _ id: UInt64, ended: Int64, handler: String = "a", result: String = "done", isSettled: Bool = false
    ) -> EndedOperation {
        EndedOperation(
            HistoryRow(
                id: id, handler: handler, queue: "q", source: "custom/poke", result: result, submitted: ended,
                ended: ended, isSettled: isSettled))
    }

    /// What a store answers that has these.
    private static func stored(_ all: [EndedOperation], _ query: HistoryQuery) -> [EndedOperation] {
        Array(
            all.filter(query.wants).sorted { ($0.ended, $0.id) > ($1.ended, $1.id) }.prefix(query.limit))
    }

    private static func ids(_ page: HistoryPage) -> [UInt64] { page.operations.map(\.id) }

    @Test func whatIsNotWrittenYetStandsAmongTheRest() {
        var query = HistoryQuery()
        query.limit = 11
        let stored = [Self.operation(2, ended: 20), Self.operation(1, ended: 10)]
        let remembered = [Self.operation(2, ended: 20), Self.operation(3, ended: 15), Self.operation(4, ended: 30)]
        let page = HistoryPage(query, stored: stored, remembered: remembered)
        #expect(Self.ids(page) == [4, 2, 3, 1])
        #expect(page.next == nil)
    }

    @Test func aFilterHoldsForWhatIsRememberedToo() {
        var query = HistoryQuery()
        (query.handler, query.isUnsettled, query.since, query.until) = ("a", true, 10, 20)
        let page = HistoryPage(
            query, stored: [],
            remembered: [
                Self.operation(1, ended: 10, result: "failed"), Self.operation(2, ended: 11),
                Self.operation(3, ended: 12, handler: "b", result: "failed"),
                Self.operation(4, ended: 13, result: "failed", isSettled: true),
                Self.operation(5, ended: 9, result: "failed"), Self.operation(6, ended: 20, result: "failed"),
            ])
        #expect(Self.ids(page) == [1])
    }

    @Test func aFailureThatWasJustDealtWithIsNotTold() {
        var query = HistoryQuery()
        query.isUnsettled = true
        let stored = [Self.operation(1, ended: 10, result: "failed")]
        let remembered = [Self.operation(1, ended: 10, result: "failed", isSettled: true)]
        #expect(HistoryPage(query, stored: stored, remembered: remembered).operations.isEmpty)
    }

    /// Some are in the store only, some in memory only, some in both: the pages together have each once, in order.
    @Test(arguments: Seeds.range(300)) func pagesTogetherAreEverything(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let all = (1...UInt64.random(in: 1...60, using: &random)).map { id in
            Self.operation(
                id, ended: .random(in: 1...20, using: &random),
                result: Bool.random(using: &random) ? "failed" : "done")
        }
        let places = all.map { _ in Int.random(in: 0..<3, using: &random) }
        let inStore = zip(all, places).filter { $0.1 != 0 }.map(\.0)
        let inMemory = zip(all, places).filter { $0.1 != 1 }.map(\.0)
        var query = HistoryQuery()
        query.isUnsettled = Bool.random(using: &random)
        let expected = Self.stored(all, query)
        query.limit = Int.random(in: 1...9, using: &random) + 1
        var told: [UInt64] = []
        repeat {
            let page = HistoryPage(query, stored: Self.stored(inStore, query), remembered: inMemory)
            #expect(page.operations.count < query.limit)
            told += Self.ids(page)
            query.after = page.next
        } while query.after != nil && told.count <= all.count
        #expect(told == expected.map(\.id), "seed \(seed)")
    }

    @Test func aCursorIsReadBack() {
        let position = HistoryQuery.Position(ended: 1_763_654_645_123_456, id: .max)
        #expect(HistoryQuery.Position(position.text) == position)
        for text in ["", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-a", "1-18446744073709551616"] {
            #expect(HistoryQuery.Position(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        Origin.source(SourceID(.path, "uploads")), .completion(handler: "a"), .run(handler: "a"),
        .finalizer(queue: "q"),
    ])
    func anOriginIsReadBack(origin: Origin) {
        #expect(Origin(description: origin.description) == origin)
        #expect(Origin(description: "nothing/\(origin.name)") == nil)
        #expect(Origin(description: origin.name) == nil)
    }
}

@Suite("Recent operations") struct RecentOperationsTests {
    @Test func whatIsDealtWithIsRememberedForAWhile() {
        let recent = RecentOperations()
        recent.settle(1)
        #expect(recent.settlement(of: 1) == .init(successor: nil))
        recent.settle(1, by: 7)
        #expect(recent.settlement(of: 1) == .init(successor: 7))
        recent.unsettle(1)
        #expect(recent.settlement(of: 1) == nil)
        for id in 1...UInt64(3 * RecentOperations.settledLimit) { recent.settle(id) }
        #expect(recent.settlement(of: 1) == nil)
        #expect(recent.settlement(of: UInt64(3 * RecentOperations.settledLimit)) != nil)
    }
}
