import Engine
import EventSources
import WatchFile

/// Long lists, made in turns: however much is on them, the core goes on with everything else in between.
extension Runtime {
    /// About a millisecond of the core each.
    static let sourcesInATurn = 256
    static let operationsInATurn = 128

    /// Adds up items, so many in a turn. They may have gone before it is their turn.
    func inTurns<Item: Sendable, Sum: Sendable>(
        over items: some Sequence<Item>, of size: Int, _ sum: Sum,
        _ add: @escaping @Sendable (Runtime, inout Sum, ArraySlice<Item>) -> Void,
        then finish: @escaping @Sendable (Runtime, Sum) -> Void
    ) {
        let items = Array(items)
        var sum = sum
        add(self, &sum, items.prefix(size))
        guard items.count > size else { return finish(self, sum) }
        core.async { [bound, sum] in
            bound.value.inTurns(over: items.dropFirst(size), of: size, sum, add, then: finish)
        }
    }

    /// Adds up the sources of `ids` that there still are.
    func inTurns<Sum: Sendable>(
        over ids: some Sequence<SourceID>, _ sum: Sum,
        _ add: @escaping @Sendable (Runtime, inout Sum, [SourceView]) -> Void,
        then finish: @escaping @Sendable (Runtime, Sum) -> Void
    ) {
        inTurns(over: ids, of: Self.sourcesInATurn, sum) { runtime, sum, ids in
            add(runtime, &sum, runtime.engine.sourceViews(of: ids))
        } then: { runtime, sum in
            finish(runtime, sum)
        }
    }
}
