/// One page of a list that is ordered by a cursor: a name or an id.
package struct Page<Item, Cursor: Comparable> {
    package var items: [Item]
    /// Pass it as `after` for the next page; `nil`: this was the last.
    package var next: Cursor?

    package init(items: [Item], next: Cursor?) {
        self.items = items
        self.next = next
    }

    /// - Parameters:
    ///   - items: the whole list, in ascending order of `cursor`.
    ///   - after: where the page before ended.
    ///   - limit: how many at most; out of 1…`Manager.maximumPage` the nearest.
    package init(of items: some Sequence<Item>, by cursor: (Item) -> Cursor, after: Cursor?, limit: Int?) {
        let limit = min(max(limit ?? Manager.maximumPage, 1), Manager.maximumPage)
        var page: [Item] = []
        var hasMore = false
        for item in items where after.map({ cursor(item) > $0 }) ?? true {
            if page.count == limit {
                hasMore = true
                break
            }
            page.append(item)
        }
        next = hasMore ? page.last.map(cursor) : nil
        self.items = page
    }
}
