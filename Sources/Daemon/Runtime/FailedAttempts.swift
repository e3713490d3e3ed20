import Engine

/// The attempts of operations that failed and were tried again: of those that have not ended, and of those that ended
/// last. Confined to the core.
final class FailedAttempts {
    /// Attempts remembered, of all operations together.
    static let limit = 2000
    /// Of one operation, which may be tried without end.
    static let limitPerOperation = 50

    /// Oldest first; without their events and output.
    private var views: [OperationView] = []

    func add(_ view: OperationView) {
        var view = view
        view.events = []
        view.output = []
        if views.count(where: { $0.id == view.id }) >= Self.limitPerOperation,
            let oldest = views.firstIndex(where: { $0.id == view.id })
        {
            views.remove(at: oldest)
        }
        views.append(view)
        if views.count > Self.limit { views.removeFirst() }
    }

    /// The first one first.
    func of(_ operation: UInt64) -> [OperationView] { views.filter { $0.id == operation } }
}
