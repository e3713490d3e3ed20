import Engine

/// The operations that ended last, until there is a store. Confined to the core.
final class RecentOperations {
    /// Operations remembered.
    static let limit = 500
    /// Bytes of their output, all together; the older ones lose theirs first.
    static let outputLimit = 512 << 10
    /// Events remembered with one operation.
    static let eventLimit = 100

    private(set) var views: [OperationView] = []
    private var outputs: [UInt64] = []
    private var outputBytes = 0

    func add(_ view: OperationView) {
        var view = view
        if view.events.count > Self.eventLimit { view.events = Array(view.events.suffix(Self.eventLimit)) }
        views.append(view)
        if views.count >= 2 * Self.limit { views.removeFirst(views.count - Self.limit) }
        guard !view.output.isEmpty else { return }
        outputs.append(view.id)
        outputBytes += view.output.count
        while outputBytes > Self.outputLimit { forgetOldestOutput() }
    }

    /// Newest first.
    var newestFirst: some Sequence<OperationView> { views.suffix(Self.limit).reversed() }

    func view(_ id: UInt64) -> OperationView? { views.suffix(Self.limit).last { $0.id == id } }

    private func forgetOldestOutput() {
        let id = outputs.removeFirst()
        guard let index = views.lastIndex(where: { $0.id == id }) else {
            // Forgotten with its operation; count what is left anew.
            outputBytes = views.reduce(0) { $0 + $1.output.count }
            return
        }
        outputBytes -= views[index].output.count
        views[index].output = []
    }
}
