import Engine
import WatchFile

/// Deliveries that ended without an operation, as records of the history: skipped, dropped, or cancelled at a stop.
/// Confined to the core.
///
/// The first of a source, handler and result stand there one by one. Of a flood of them the rest is counted by records
/// that each stand for a span: it doubles as long as the flood goes on.
final class RefusedDeliveries {
    /// Records of their own, until none has come for `calm`.
    static let single = 10
    /// Microseconds.
    static let calm: Int64 = 60_000_000
    static let shortestSpan: Int64 = 1_000_000
    static let longestSpan: Int64 = 64_000_000
    /// Records remembered.
    static let limit = 200

    private struct Kind: Hashable {
        var origin: Origin
        var handler: String
        var result: EngineResult
    }

    private struct Series {
        var singles = 0
        var last: Int64
        var span = shortestSpan
        /// Stands for what came since it was opened, and is written when its span is over.
        var open: OperationView?
    }

    private var series: [Kind: Series] = [:]
    private var recent: [OperationView] = []
    private let record: (RefusedDelivery) -> OperationView
    private let write: (OperationView) -> Void
    private let after: (Int64, @escaping () -> Void) -> Void

    /// - Parameters:
    ///   - record: makes one, with an id of its own.
    ///   - write: keeps a record that is complete.
    ///   - after: does it on the core so many microseconds later.
    init(
        record: @escaping (RefusedDelivery) -> OperationView, write: @escaping (OperationView) -> Void,
        after: @escaping (Int64, @escaping () -> Void) -> Void
    ) {
        self.record = record
        self.write = write
        self.after = after
    }

    /// - Parameter now: the wall clock, microseconds.
    func add(_ delivery: RefusedDelivery, now: Int64) {
        // The operation that it was the last of is in the history itself.
        if delivery.endsOperation { return }
        let kind = Kind(origin: delivery.origin, handler: delivery.handler, result: delivery.result)
        forgetCalm(kind, now)
        series[kind, default: Series(last: now)].last = now
        if var open = series[kind]?.open {
            open.entries += 1
            open.deliveries += delivery.event.count
            (open.events, open.reason, open.ended) = ([delivery.event], delivery.reason, now)
            series[kind]?.open = open
            return
        }
        var view = record(delivery)
        view.ended = now
        guard series[kind]?.singles ?? 0 >= Self.single else {
            series[kind]?.singles += 1
            return keep(view)
        }
        series[kind]?.open = view
        after(series[kind]?.span ?? Self.longestSpan) { [weak self] in self?.close(kind) }
    }

    /// Those that are remembered, and those that are not complete yet.
    var all: [OperationView] { recent + series.values.compactMap(\.open) }

    func view(_ id: UInt64) -> OperationView? { all.last { $0.id == id } }

    /// Writes what is not complete: nothing more comes.
    func closeAll() {
        let open = series.compactMap { kind, series in series.open.map { (kind: kind, id: $0.id) } }
        for (kind, _) in open.sorted(by: { $0.id < $1.id }) { close(kind) }
    }

    private func close(_ kind: Kind) {
        guard let view = series[kind]?.open else { return }
        series[kind]?.open = nil
        if let span = series[kind]?.span { series[kind]?.span = min(2 * span, Self.longestSpan) }
        keep(view)
    }

    private func keep(_ view: OperationView) {
        recent.append(view)
        if recent.count >= 2 * Self.limit { recent.removeFirst(recent.count - Self.limit) }
        write(view)
    }

    /// Kinds that have not been seen for long begin anew; after a clock was set back it is not known how long that was.
    private func forgetCalm(_ kind: Kind, _ now: Int64) {
        func isCalm(_ series: Series) -> Bool { series.open == nil && abs(now - series.last) > Self.calm }
        if let known = series[kind], isCalm(known) { series[kind] = nil }
        if series.count >= Self.limit { series = series.filter { !isCalm($0.value) } }
    }
}
