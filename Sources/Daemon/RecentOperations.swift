import Engine

/// The operations that ended last, until there is a store. Confined to the core.
final class RecentOperations {
    /// Operations remembered.
    static let limit = 500
    /// Bytes of their events and output, all together; the older ones lose theirs first.
    static let byteLimit = 1 << 20
    /// Events remembered with one operation.
    static let eventLimit = 100

    private var views: [OperationView] = []
    private var bytes = 0
    /// Those before it have lost their events and output.
    private var firstWhole = 0

    func add(_ view: OperationView) {
        var view = view
        if view.events.count > Self.eventLimit { view.events = Array(view.events.suffix(Self.eventLimit)) }
        views.append(view)
        bytes += view.size
        while bytes > Self.byteLimit, firstWhole < views.count { strip() }
        if views.count >= 2 * Self.limit { forget(views.count - Self.limit) }
    }

    /// Newest first.
    var newestFirst: some Sequence<OperationView> { views.suffix(Self.limit).reversed() }

    func view(_ id: UInt64) -> OperationView? { views.suffix(Self.limit).last { $0.id == id } }

    /// Those that were started by the end of that one.
    func startedBy(_ id: UInt64) -> [Int] {
        newestFirst.filter { view in
            view.events.contains { event in
                if case .completion(let fact) = event.fact { fact.operation == id } else { false }
            }
        }.map { Int($0.id) }.sorted()
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
