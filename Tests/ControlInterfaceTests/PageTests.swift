import ControlInterface
import Testing

@Suite("Page of a list")
struct PageTests {
    private func page(after: Int? = nil, limit: Int? = nil, of count: Int = 10) -> Page<Int, Int> {
        Page(of: 1..<(count + 1), by: \.self, after: after, limit: limit)
    }

    @Test func pagesFollowEachOther() {
        #expect(page(limit: 4).items == [1, 2, 3, 4])
        #expect(page(limit: 4).next == 4)
        #expect(page(after: 4, limit: 4).items == [5, 6, 7, 8])
        #expect(page(after: 8, limit: 4).items == [9, 10])
        #expect(page(after: 8, limit: 4).next == nil)
        #expect(page(limit: 10).next == nil)
        #expect(page(after: 99).items.isEmpty)
    }

    @Test func theLimitHasALimit() {
        #expect(page(of: 5000).items.count == Manager.maximumPage)
        #expect(page(limit: .max, of: 5000).items.count == Manager.maximumPage)
        #expect(page(limit: 0).items == [1])
        #expect(page(limit: .min).items == [1])
    }
}
