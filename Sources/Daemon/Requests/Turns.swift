import Engine
import EventSources
import WatchFile

/// Lists of sources, made in turns: however many there are, the core goes on with everything else in between.
extension Runtime {
    /// Sources of one turn: about a millisecond of the core.
    private static let sourcesInATurn = 256

    /// Adds up the sources of `ids`. A source that goes away before its turn is left out.
    func inTurns<Sum: Sendable>(
        over ids: some Sequence<SourceID>, _ sum: Sum,
        _ add: @escaping @Sendable (Runtime, inout Sum, [SourceView]) -> Void,
        then finish: @escaping @Sendable (Runtime, Sum) -> Void
    ) {
        let ids = Array(ids)
        var sum = sum
        add(self, &sum, engine.sourceViews(of: ids.prefix(Self.sourcesInATurn)))
        guard ids.count > Self.sourcesInATurn else { return finish(self, sum) }
        core.async { [bound, sum] in
            bound.value.inTurns(over: ids.dropFirst(Self.sourcesInATurn), sum, add, then: finish)
        }
    }
}
