import Engine

/// The operations that ended last: what has ended is found here at once, and in the store a little later. Without a
/// store it is all there is. Confined to the core.
final class RecentOperations {
    /// Operations remembered.
    static let limit = 500
    /// More than that are remembered for a moment, so that not each that ends moves all others.
    private static let slack = 64
    /// Bytes of their events and output, all together; the older ones lose theirs first.
    static let byteLimit = 1 << 20
    /// Events remembered with one operation.
    static let eventLimit = 100
    /// Failed operations that are remembered as dealt with, until the store says it too.
    static let settledLimit = 4096

    private var views: [OperationView] = []
    /// The last ones of earlier watchds, from the store: newest first.
    var earlier: [EndedOperation] = []
    private var bytes = 0
    /// Those before it have lost their events and output.
    private var firstWhole = 0
    private var settlements: [UInt64: Settlement] = [:]
    /// In the order they came; some are gone.
    private var settledOrder: [UInt64] = []

    /// The later fate of a failed operation.
    struct Settlement: Equatable, Sendable {
        /// The operation that it runs again as; `nil`: it is forgotten, or only just being tried again.
        var successor: UInt64?
    }

    func add(_ view: OperationView) {
        var view = view
        if view.events.count > Self.eventLimit { view.events = Array(view.events.suffix(Self.eventLimit)) }
        views.append(view)
        bytes += view.size
        while bytes > Self.byteLimit, firstWhole < views.count { strip() }
        if views.count >= Self.limit + Self.slack { forget(views.count - Self.limit) }
    }

    /// Newest first.
    var newestFirst: some Sequence<OperationView> { views.suffix(Self.limit).reversed() }

    /// The newest ones, also of earlier watchds, at most `limit`.
    func newest(_ limit: Int) -> [EndedOperation] {
        let own = newestFirst.prefix(limit).map { EndedOperation($0) }
        let ids = Set(own.map(\.id))
        return own + earlier.filter { !ids.contains($0.id) }.prefix(limit - own.count)
    }

    /// Everything that is still here, in no promised number: for who asks the store too.
    var all: [OperationView] { views }

    func view(_ id: UInt64) -> OperationView? { views.last { $0.id == id } }

    /// Those that were started by the end of that one.
    func startedBy(_ id: UInt64) -> [Int] {
        newestFirst.filter { view in
            view.events.contains { event in
                if case .completion(let fact) = event.fact { fact.operation == id } else { false }
            }
        }.map { Int($0.id) }.sorted()
    }

    // MARK: Failed ones that are dealt with

    func settlement(of id: UInt64) -> Settlement? { settlements[id] }

    /// - Parameter successor: the operation that it runs again as; `nil`: forgotten, or about to run again.
    func settle(_ id: UInt64, by successor: UInt64? = nil) {
        if settlements.updateValue(Settlement(successor: successor), forKey: id) == nil { settledOrder.append(id) }
        guard settledOrder.count >= 2 * Self.settledLimit else { return }
        let gone = settledOrder.prefix(settledOrder.count - Self.settledLimit)
        for id in gone { settlements[id] = nil }
        settledOrder.removeFirst(gone.count)
    }

    /// It could not be dealt with.
    func unsettle(_ id: UInt64) {
        settlements[id] = nil
        settledOrder.removeAll { $0 == id }
    }

    private func strip() {
        bytes -= views[firstWhole].size
        views[firstWhole].events = []
        views[firstWhole].output = []
        firstWhole += 1
    }

    private func forget(_ count: Int) {
        bytes -= views.prefix(count).reduce(0) { $0 + $1.size }
        views.removeFirst(count)
        firstWhole = max(0, firstWhole - count)
    }
}

extension OperationView {
    fileprivate var size: Int { events.reduce(output.count) { $0 + $1.size } }
}
